import { hashIdentifier } from '../../src/x509/algorithm-facts.ts';
import {
  contextConstructed,
  octetString,
  oid,
  sequence,
  unsignedInteger,
} from '../../src/x509/der.ts';
import { certIdHashes, type OcspHash } from '../../src/x509/ocsp.ts';

/** A request as an OCSP client makes it (RFC 6960 §4.1.1); `nonce` goes into its own OCTET STRING. */
export function encodeOcspRequest(asked: {
  issuer: Uint8Array;
  subjectPublicKeyInfo: Uint8Array;
  serialNumber: Uint8Array;
  hash: OcspHash;
  nonce?: Uint8Array;
}): Uint8Array {
  const { issuer, subjectPublicKeyInfo, serialNumber, hash, nonce } = asked;
  const { issuerNameHash, issuerKeyHash } = certIdHashes(issuer, subjectPublicKeyInfo, hash);
  const certId = sequence(
    hashIdentifier(hash),
    octetString(issuerNameHash),
    octetString(issuerKeyHash),
    unsignedInteger(serialNumber),
  );
  const extensions = (value: Uint8Array): Uint8Array =>
    contextConstructed(
      2,
      sequence(sequence(oid('1.3.6.1.5.5.7.48.1.2'), octetString(octetString(value)))),
    );
  return sequence(
    sequence(sequence(sequence(certId)), ...(nonce === undefined ? [] : [extensions(nonce)])),
  );
}

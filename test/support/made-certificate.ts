import { type KeyObject, sign } from 'node:crypto';
import {
  assembleSigned,
  type Certificate,
  encodeTbsCertificate,
  parseCertificate,
} from '../../src/x509/certificate.ts';
import type { Extension } from '../../src/x509/extensions.ts';
import { publicKeyInfo } from '../../src/x509/keys.ts';
import { encodeSubject } from '../../src/x509/names.ts';

/** What of a certificate matters to a test of chains. */
interface Made {
  /** Common names. */
  subject: string;
  issuer: string;
  /** Ed25519: the subject's, and that which signs. */
  key: KeyObject;
  signer: KeyObject;
  extensions?: readonly Extension[];
  /** Big-endian; 1 unless told. */
  serial?: Uint8Array;
}

/** A certificate that no CA of the product made, with nothing in it but what is given. */
export function makeCertificate({
  subject,
  issuer,
  key,
  signer,
  extensions,
  serial = Uint8Array.of(1),
}: Made): Certificate {
  const tbs = encodeTbsCertificate({
    serialNumber: serial,
    signatureAlgorithm: 'PureEd25519',
    issuer: encodeSubject({ common_name: issuer }),
    notBefore: 0,
    notAfter: 4_000_000_000,
    subject: encodeSubject({ common_name: subject }),
    subjectPublicKeyInfo: publicKeyInfo(key),
    extensions: extensions ?? [],
  });
  return parseCertificate(assembleSigned(tbs, 'PureEd25519', sign(null, tbs, signer)));
}

/** Certificate revocation lists, version 2 (RFC 5280 §5). */

import { algorithmIdentifier, type SignatureAlgorithm } from './algorithms.ts';
import { contextConstructed, integer, time } from './der.ts';
import { authorityKeyIdentifier, type Extension, encodeExtensions } from './extensions.ts';
import { EXTENSION_OID } from './oids.ts';

/** TBSCertList but for its entries. */
export interface CrlHeader {
  /** DER of the Name. */
  issuer: Uint8Array;
  signatureAlgorithm: SignatureAlgorithm;
  /** Unix seconds, as all times here. */
  thisUpdate: number;
  nextUpdate: number;
  /** Not negative; only ever grows for an issuer. */
  crlNumber: bigint;
  /** The issuer's key identifier. */
  authorityKeyId: Uint8Array;
  /** Number of the complete CRL that this one adds to: makes it a delta CRL. */
  deltaBase?: bigint;
  /** Others, e.g. freshestCRL; none of those that say what the fields above do. */
  extensions?: readonly Extension[];
}

/** What stands around the entries of a CRL: a few hundred bytes, however long the CRL is. */
export interface CrlFrame {
  /** The fields of TBSCertList from version to nextUpdate. */
  before: Uint8Array;
  /** crlExtensions. */
  after: Uint8Array;
}

/** Everything of TBSCertList but its entries; see `crl-assembly.ts` for the rest. */
export function encodeCrlFrame(crl: CrlHeader): CrlFrame {
  const extensions: Extension[] = [
    authorityKeyIdentifier(crl.authorityKeyId),
    { oid: EXTENSION_OID.cRLNumber, critical: false, value: integer(crl.crlNumber) },
    ...(crl.deltaBase === undefined
      ? []
      : [{ oid: EXTENSION_OID.deltaCRLIndicator, critical: true, value: integer(crl.deltaBase) }]),
    ...(crl.extensions ?? []),
  ];
  return {
    before: concatenate([
      integer(1),
      algorithmIdentifier(crl.signatureAlgorithm),
      crl.issuer,
      time(crl.thisUpdate),
      time(crl.nextUpdate),
    ]),
    after: contextConstructed(0, encodeExtensions(extensions)),
  };
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

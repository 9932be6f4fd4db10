/** Reads certificate revocation lists (RFC 5280 §5). */

import { parseAlgorithmIdentifier, type SignatureAlgorithm, verify } from './algorithms.ts';
import { readSigned } from './certificate.ts';
import { TAG } from './der.ts';
import { readInteger, readSmallInteger, readTime, readUnsigned } from './der-primitives.ts';
import { DerError, DerFields, type DerValue, eachChild, onlyChild, readDer } from './der-reader.ts';
import {
  type Extension,
  findExtension,
  parseAuthorityKeyIdentifier,
  parseExtensions,
} from './extensions.ts';
import { parsePublicKey } from './keys.ts';
import { EXTENSION_OID } from './oids.ts';
import type { RevokedEntry } from './revoked-certificates.ts';
import { MAX_SERIAL_BYTES } from './serial.ts';

/** Largest CRL that is read, in bytes: some two million entries. */
const MAX_CRL_BYTES = 96 << 20;

/** A CRL as read. All bytes are views into `raw`. */
export interface Crl {
  raw: Uint8Array;
  /** The bytes under the signature. */
  tbs: Uint8Array;
  /** Undefined for an algorithm that we do not verify. */
  signatureAlgorithm: SignatureAlgorithm | undefined;
  signature: Uint8Array;
  /** DER of the Name. */
  issuer: Uint8Array;
  /** Unix seconds. */
  thisUpdate: number;
  nextUpdate: number | undefined;
  crlNumber: bigint | undefined;
  /** Number of the complete CRL that a delta CRL adds to; undefined: this is a complete one. */
  deltaBase: bigint | undefined;
  authorityKeyId: Uint8Array | undefined;
  extensions: Extension[];
  /** Reads the entries one by one, each time anew. @throws DerError at the first that is malformed */
  entries(): Generator<RevokedEntry, void, undefined>;
}

/**
 * Reads a CRL's frame; its entries are read when they are asked for, so that a CRL of millions costs
 * little until then.
 *
 * @throws DerError for what is no CertificateList of version 1 or 2
 * @see RFC 5280 §5.1
 */
export function parseCrl(der: Uint8Array): Crl {
  const { signed: tbs, algorithm, signature } = readSigned(readDer(der, MAX_CRL_BYTES));
  const fields = new DerFields(tbs);
  const version = fields.takeIf(TAG.integer);
  // Version 1 is told by leaving the number out (§5.1.2.1).
  if (version && readSmallInteger(version, 1) !== 1)
    throw new DerError('a CRL of version 1 says so');
  const innerAlgorithm = fields.take(TAG.sequence);
  if (Buffer.compare(innerAlgorithm.raw, algorithm.raw) !== 0) {
    throw new DerError('a CRL that names two signature algorithms');
  }
  const issuer = fields.take(TAG.sequence).raw;
  const thisUpdate = readTime(fields.take());
  const nextUpdate =
    fields.tag === TAG.utcTime || fields.tag === TAG.generalizedTime
      ? readTime(fields.take())
      : undefined;
  const revoked = fields.takeIf(TAG.sequence);
  const explicit = version && fields.takeIf(0xa0);
  fields.end();

  const extensions = explicit ? parseExtensions(onlyChild(explicit)) : [];
  const find = (type: string): Uint8Array | undefined => findExtension(extensions, type)?.value;
  const authorityKey = find(EXTENSION_OID.authorityKeyIdentifier);
  return {
    raw: der,
    tbs: tbs.raw,
    signatureAlgorithm: parseAlgorithmIdentifier(algorithm),
    signature,
    issuer,
    thisUpdate,
    nextUpdate,
    crlNumber: parseNumber(find(EXTENSION_OID.cRLNumber)),
    deltaBase: parseNumber(find(EXTENSION_OID.deltaCRLIndicator)),
    authorityKeyId: authorityKey && parseAuthorityKeyIdentifier(authorityKey),
    extensions,
    entries: () => readEntries(revoked),
  };
}

function parseNumber(value: Uint8Array | undefined): bigint | undefined {
  if (value === undefined) return undefined;
  const number = readInteger(readDer(value));
  if (number < 0n) throw new DerError('a CRL number below 0');
  return number;
}

function* readEntries(revoked: DerValue | undefined): Generator<RevokedEntry, void, undefined> {
  if (!revoked) return;
  for (const value of eachChild(revoked)) {
    const fields = new DerFields(value);
    const entry: RevokedEntry = {
      serialNumber: readUnsigned(fields.take()),
      revocationTime: readTime(fields.take()),
    };
    const list = fields.takeIf(TAG.sequence);
    fields.end();
    if (entry.serialNumber.length > MAX_SERIAL_BYTES) {
      throw new DerError(`a serial number of ${entry.serialNumber.length} bytes`);
    }
    if (list) {
      const extensions = parseExtensions(list);
      const reason = findExtension(extensions, EXTENSION_OID.reasonCode);
      if (reason) entry.reason = readSmallInteger(readDer(reason.value), 10, TAG.enumerated);
      const others = extensions.filter((extension) => extension !== reason);
      if (others.length > 0) entry.extensions = others;
    }
    yield entry;
  }
}

/**
 * Says whether the signature is by this key; the issuer's name is not compared.
 *
 * @param issuerPublicKeyInfo the issuer's SubjectPublicKeyInfo
 * @throws Failure `invalid` when the key is of a kind we do not know
 */
export function isCrlSignedBy(crl: Crl, issuerPublicKeyInfo: Uint8Array): boolean {
  const { signatureAlgorithm, tbs, signature } = crl;
  if (signatureAlgorithm === undefined) return false;
  return verify(parsePublicKey(issuerPublicKeyInfo), signatureAlgorithm, tbs, signature);
}

/** Certificate revocation lists, version 2 (RFC 5280 §5). */

import {
  algorithmIdentifier,
  parseAlgorithmIdentifier,
  type SignatureAlgorithm,
  verify,
} from './algorithms.ts';
import { contextConstructed, header, integer, sequence, TAG, time } from './der.ts';
import {
  readInteger,
  readSmallInteger,
  readTime,
  readUnsigned,
  readWholeBitString,
} from './der-primitives.ts';
import { DerError, DerFields, type DerValue, eachChild, onlyChild, readDer } from './der-reader.ts';
import {
  authorityKeyIdentifier,
  type Extension,
  encodeExtensions,
  findExtension,
  parseAuthorityKeyIdentifier,
  parseExtensions,
} from './extensions.ts';
import { parsePublicKey } from './keys.ts';
import { EXTENSION_OID } from './oids.ts';
import { type RevokedEntry, RevokedListWriter } from './revoked-list.ts';
import { MAX_SERIAL_BYTES } from './serial.ts';

/** Largest CRL that is read, in bytes: some two million entries. */
const MAX_CRL_BYTES = 96 << 20;

export interface TbsCertList {
  /** DER of the Name. */
  issuer: Uint8Array;
  signatureAlgorithm: SignatureAlgorithm;
  /** Unix seconds, as all times here. */
  thisUpdate: number;
  nextUpdate: number;
  /** Few entries as they are, many in a writer, which needs no object for each. */
  entries: Iterable<RevokedEntry> | RevokedListWriter;
  /** Not negative; only ever grows for an issuer. */
  crlNumber: bigint;
  /** The issuer's key identifier. */
  authorityKeyId: Uint8Array;
  /** Number of the complete CRL that this one adds to: makes it a delta CRL. */
  deltaBase?: bigint;
  /** Others, e.g. freshestCRL; none of those that say what the fields above do. */
  extensions?: readonly Extension[];
}

/**
 * TBSCertList, the bytes that are signed. The entries are copied once.
 *
 * @throws RangeError for an entry that {@link RevokedListWriter.append} refuses
 * @see RFC 5280 §5.1.2, §5.2
 */
export function encodeTbsCertList(crl: TbsCertList): Uint8Array {
  const revoked = writeEntries(crl.entries);
  const { before, after } = encodeCrlFrame(crl);
  return sequence(
    before,
    // An empty list of entries is left out, never written as empty (§5.1.2.6).
    ...(revoked.count === 0 ? [] : [header(TAG.sequence, revoked.length), ...revoked.chunks()]),
    after,
  );
}

/** What stands around the entries of a CRL: a few hundred bytes, however long the CRL is. */
export interface CrlFrame {
  /** The fields of TBSCertList from version to nextUpdate. */
  before: Uint8Array;
  /** crlExtensions. */
  after: Uint8Array;
}

/** Everything of TBSCertList but its entries; see `crl-assembly.ts` for the rest. */
export function encodeCrlFrame(crl: Omit<TbsCertList, 'entries'>): CrlFrame {
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

function writeEntries(entries: Iterable<RevokedEntry> | RevokedListWriter): RevokedListWriter {
  if (entries instanceof RevokedListWriter) return entries;
  const writer = new RevokedListWriter();
  for (const entry of entries) writer.append(entry);
  return writer;
}

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
  const outer = new DerFields(readDer(der, MAX_CRL_BYTES));
  const tbs = outer.take(TAG.sequence);
  const algorithm = outer.take(TAG.sequence);
  const signature = readWholeBitString(outer.take());
  outer.end();

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

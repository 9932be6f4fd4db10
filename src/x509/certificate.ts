/** Certificates, version 3 (RFC 5280 §4.1): writing what is to be signed, reading what was. */

import {
  algorithmIdentifier,
  parseAlgorithmIdentifier,
  type SignatureAlgorithm,
  verify,
} from './algorithms.ts';
import {
  bitString,
  contextConstructed,
  header,
  integer,
  sequence,
  TAG,
  time,
  unsignedInteger,
} from './der.ts';
import { readSmallInteger, readTime, readUnsigned, readWholeBitString } from './der-primitives.ts';
import {
  DerError,
  DerFields,
  type DerValue,
  onlyChild,
  readDer,
  requireWellFormed,
} from './der-reader.ts';
import {
  type Extension,
  extensionParts,
  findExtension,
  parseAuthorityKeyIdentifier,
  parseBasicConstraints,
  parseExtensions,
  parseSubjectKeyIdentifier,
} from './extensions.ts';
import { type ParsedAltNames, parseSubjectAltName } from './general-names.ts';
import { type KeyUsage, parseKeyUsage } from './key-usages.ts';
import { findPublicKey } from './keys.ts';
import { type Name, parseName } from './names.ts';
import { EXTENSION_OID } from './oids.ts';
import { formatSerial, MAX_SERIAL_BYTES } from './serial.ts';

/** A certificate before its signature. */
export interface TbsCertificate {
  /** Big-endian magnitude, positive, at most 20 bytes with the sign byte. */
  serialNumber: Uint8Array;
  /** With which it will be signed. */
  signatureAlgorithm: SignatureAlgorithm;
  /** DER of the issuer's Name, byte for byte as the issuer's certificate has it. */
  issuer: Uint8Array;
  /** Unix seconds. */
  notBefore: number;
  /** Unix seconds, up to 9999-12-31T23:59:59Z. */
  notAfter: number;
  /** DER of a Name. */
  subject: Uint8Array;
  /** DER. */
  subjectPublicKeyInfo: Uint8Array;
  /** In the order they are written. */
  extensions: readonly Extension[];
}

const VERSION_3 = contextConstructed(0, integer(2));

/** The bytes that are signed. @throws RangeError for a time beyond the year 9999 */
export function encodeTbsCertificate(tbs: TbsCertificate): Uint8Array {
  const fields = [
    VERSION_3,
    unsignedInteger(tbs.serialNumber),
    algorithmIdentifier(tbs.signatureAlgorithm),
    tbs.issuer,
    sequence(time(tbs.notBefore), time(tbs.notAfter)),
    tbs.subject,
    tbs.subjectPublicKeyInfo,
  ];
  if (tbs.extensions.length > 0) {
    // Not as values within each other, each of which would be copied into the next.
    const parts = extensionParts(tbs.extensions);
    const list = header(TAG.sequence, lengthOf(parts));
    fields.push(header(EXTENSIONS, list.length + lengthOf(parts)), list, ...parts);
  }
  return sequence(...fields);
}

/** `[3]`, constructed. */
const EXTENSIONS = 0xa3;

const lengthOf = (parts: readonly Uint8Array[]): number =>
  parts.reduce((length, part) => length + part.length, 0);

/** Puts signed bytes, algorithm and signature together: a certificate, a CRL or a request. */
export function assembleSigned(
  signed: Uint8Array,
  algorithm: SignatureAlgorithm,
  signature: Uint8Array,
): Uint8Array {
  return sequence(signed, algorithmIdentifier(algorithm), bitString(signature));
}

/** The reverse of {@link assembleSigned}; the algorithm as it stands. */
export function readSigned(value: DerValue) {
  const outer = new DerFields(value);
  const signed = outer.take(TAG.sequence);
  const algorithm = outer.take(TAG.sequence);
  const signature = readWholeBitString(outer.take());
  outer.end();
  return { signed, algorithm, signature };
}

/** A certificate as read. All bytes are views into `raw`; nothing in it is proven yet. */
export interface Certificate {
  raw: Uint8Array;
  /** tbsCertificate, the bytes under the signature. */
  tbs: Uint8Array;
  /** Undefined for an algorithm that we do not verify. */
  signatureAlgorithm: SignatureAlgorithm | undefined;
  signature: Uint8Array;
  /** Big-endian magnitude. */
  serialNumber: Uint8Array;
  /** The same as clients see it, e.g. `17:ab:09`. */
  serial: string;
  /** DER of the Name. */
  issuer: Uint8Array;
  issuerName: Name;
  subject: Uint8Array;
  subjectName: Name;
  /** Unix seconds. */
  notBefore: number;
  notAfter: number;
  /** DER; whether it is a kind of key we know is for `describePublicKey` to say. */
  subjectPublicKeyInfo: Uint8Array;
  extensions: Extension[];
  /** From basicConstraints; false without. */
  isCa: boolean;
  pathLength: number | undefined;
  /** Undefined without the extension, which allows every usage. */
  keyUsage: KeyUsage[] | undefined;
  subjectKeyId: Uint8Array | undefined;
  authorityKeyId: Uint8Array | undefined;
  subjectAltNames: ParsedAltNames | undefined;
}

/** Longest certificate that is read, in bytes. */
export const MAX_CERTIFICATE_BYTES = 256 << 10;

/**
 * Reads a certificate of any version, and those of its extensions that have a field here.
 *
 * @throws DerError for anything RFC 5280 §4.1 does not allow
 */
export function parseCertificate(der: Uint8Array): Certificate {
  const { signed: tbs, algorithm, signature } = readSigned(readDer(der, MAX_CERTIFICATE_BYTES));

  const fields = new DerFields(tbs);
  const version = readVersion(fields.takeIf(0xa0));
  const serialNumber = readUnsigned(fields.take());
  if (serialNumber.length > MAX_SERIAL_BYTES) {
    throw new DerError(`a serial number of ${serialNumber.length} bytes`);
  }
  if (Buffer.compare(fields.take(TAG.sequence).raw, algorithm.raw) !== 0) {
    throw new DerError('a certificate that names two signature algorithms');
  }
  const issuer = fields.take(TAG.sequence);
  const validity = new DerFields(fields.take());
  const notBefore = readTime(validity.take());
  const notAfter = readTime(validity.take());
  validity.end();
  const subject = fields.take(TAG.sequence);
  const subjectPublicKeyInfo = fields.take(TAG.sequence);
  requireWellFormed(subjectPublicKeyInfo);
  // issuerUniqueID and subjectUniqueID: from version 2, used by nobody.
  if (version > 0) {
    fields.takeIf(0x81);
    fields.takeIf(0x82);
  }
  const explicit = version === 2 ? fields.takeIf(EXTENSIONS) : undefined;
  fields.end();
  const extensions = explicit ? parseExtensions(onlyChild(explicit)) : [];

  return {
    raw: der,
    tbs: tbs.raw,
    signatureAlgorithm: parseAlgorithmIdentifier(algorithm),
    signature,
    serialNumber,
    serial: formatSerial(serialNumber),
    issuer: issuer.raw,
    issuerName: parseName(issuer.raw),
    subject: subject.raw,
    subjectName: parseName(subject.raw),
    notBefore,
    notAfter,
    subjectPublicKeyInfo: subjectPublicKeyInfo.raw,
    extensions,
    ...readKnownExtensions(extensions),
  };
}

function readVersion(explicit: DerValue | undefined): number {
  return explicit ? readSmallInteger(onlyChild(explicit), 2) : 0;
}

function readKnownExtensions(
  extensions: readonly Extension[],
): Pick<
  Certificate,
  'isCa' | 'pathLength' | 'keyUsage' | 'subjectKeyId' | 'authorityKeyId' | 'subjectAltNames'
> {
  const find = (type: string): Uint8Array | undefined => findExtension(extensions, type)?.value;
  const constraints = find(EXTENSION_OID.basicConstraints);
  const usage = find(EXTENSION_OID.keyUsage);
  const subjectKeyId = find(EXTENSION_OID.subjectKeyIdentifier);
  const authorityKeyId = find(EXTENSION_OID.authorityKeyIdentifier);
  const altNames = find(EXTENSION_OID.subjectAltName);
  const { ca, pathLength } = constraints ? parseBasicConstraints(constraints) : { ca: false };
  return {
    isCa: ca,
    pathLength,
    keyUsage: usage && parseKeyUsage(usage),
    subjectKeyId: subjectKeyId && parseSubjectKeyIdentifier(subjectKeyId),
    authorityKeyId: authorityKeyId && parseAuthorityKeyIdentifier(authorityKeyId),
    subjectAltNames: altNames && parseSubjectAltName(altNames),
  };
}

/**
 * Says whether the certificate's signature is by this key. False also when the algorithm is one we
 * do not verify, or the key of a kind we do not know: one such CA must not make others unreadable.
 */
export function isSignedBy(certificate: Certificate, issuerPublicKeyInfo: Uint8Array): boolean {
  const { signatureAlgorithm, tbs, signature } = certificate;
  if (signatureAlgorithm === undefined) return false;
  const key = findPublicKey(issuerPublicKeyInfo);
  return key !== undefined && verify(key, signatureAlgorithm, tbs, signature);
}

/** Says whether subject and issuer are the same name (RFC 5280 §3.2), byte for byte. */
export function isSelfIssued(certificate: Certificate): boolean {
  return Buffer.compare(certificate.subject, certificate.issuer) === 0;
}

/** Self-issued, and signed by its own key, as far as {@link isSignedBy} can tell: a root. */
export function isSelfSigned(certificate: Certificate): boolean {
  return isSelfIssued(certificate) && isSignedBy(certificate, certificate.subjectPublicKeyInfo);
}

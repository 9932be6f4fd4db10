import { Failure } from '../core/failure.ts';
import { TAG } from './der.ts';
import {
  DerError,
  DerFields,
  type DerValue,
  eachChild,
  expect,
  onlyChild,
  readDer,
} from './der-reader.ts';
import { type Extension, parseExtensions } from './extensions.ts';
import { readPublicKey } from './keys.ts';
import { EXTENSION_OID } from './oids.ts';
import { isPostQuantum } from './post-quantum.ts';

/** Certificates of one text; those that systems trust are some hundred and fifty. */
const MOST_CERTIFICATES = 256;
/** Bytes of one of them; those that systems trust have at most two thousand, one of a hundred long names eight. */
const MOST_CERTIFICATE = 16 << 10;
/** Bytes of all name constraints of a text or a chain: each is compared with each name of each certificate below it. */
const MOST_CONSTRAINTS = 4 << 10;

/** Fields of a certificate: version, issuerUniqueID, subjectUniqueID, extensions (RFC 5280 §4.1). */
const FIELD = { version: 0xa0, issuer_id: 0x81, subject_id: 0x82, extensions: 0xa3 } as const;
/** `distributionPoint` of a point, and within that a name `nameRelativeToCRLIssuer`. */
const POINT_NAME = 0xa0;
const RELATIVE_NAME = 0xa1;

/** What follows where a block begins. */
const BLOCK = /^ [^-]*-----([^-]*)-----END/;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Whether a text of PEM may take OpenSSL long to read or to build chains from: by what is in its certificates
 * ({@link mayBeSlow}), their length, or their number. What is none counts as such.
 */
export function mayBeSlowToRead(pem: string): boolean {
  const [, ...blocks] = pem.split('-----BEGIN');
  if (blocks.length > MOST_CERTIFICATES) return true;
  const found: Buffer[] = [];
  for (const block of blocks) {
    const text = BLOCK.exec(block)?.[1]?.replaceAll(/\s/g, '');
    if (text === undefined || !BASE64.test(text)) return true;
    found.push(Buffer.from(text, 'base64'));
  }
  return found.some(({ length }) => length > MOST_CERTIFICATE) || mayBeSlow(found);
}

/**
 * Whether anything in certificates may take OpenSSL long: keys of other kinds than are known here, as those on a curve
 * that they describe themselves, a third of a second each, or with a point of which one coordinate is left out, 0.4 ms;
 * CRL distribution points with a relative name, of which each is made a copy of the issuer's name, seconds and hundreds
 * of megabytes for 50 KB; or name constraints that are more than anybody needs. What is not DER, told in one way alone,
 * counts as such: OpenSSL would read something in it that is not seen here.
 *
 * @see RFC 5280 §4.2.1.13: relative names should not be used, §4.2.1.10; RFC 5480 §2.1.1: named curves alone
 */
export function mayBeSlow(certificates: readonly Uint8Array[]): boolean {
  let bytes = 0;
  for (const der of certificates) bytes += readConstraints(der) ?? Number.POSITIVE_INFINITY;
  return bytes > MOST_CONSTRAINTS;
}

/** How many bytes of name constraints a certificate has; undefined where anything else in it may take long. */
function readConstraints(der: Uint8Array): number | undefined {
  try {
    let bytes = 0;
    for (const { oid, value } of readExtensions(der)) {
      if (oid === EXTENSION_OID.nameConstraints) bytes += value.length;
      if (oid === EXTENSION_OID.cRLDistributionPoints && hasRelativeNames(value)) return undefined;
    }
    return bytes;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** Names, times and what else there is of a certificate are left to whoever needs them: old ones have odd ones. */
function readExtensions(der: Uint8Array): Extension[] {
  const outer = new DerFields(readDer(der));
  const tbs = new DerFields(outer.take());
  outer.take(TAG.sequence);
  outer.take(TAG.bitString);
  outer.end();
  tbs.takeIf(FIELD.version);
  tbs.take(TAG.integer);
  // Its signature's algorithm, the issuer, the validity, the subject.
  for (let field = 0; field < 4; field += 1) tbs.take(TAG.sequence);
  // A signature by SLH-DSA takes milliseconds to verify, and there may be 256 of them.
  if (isPostQuantum(readPublicKey(tbs.take(TAG.sequence).raw).key_type))
    throw new DerError('a key that verifies slowly');
  tbs.takeIf(FIELD.issuer_id);
  tbs.takeIf(FIELD.subject_id);
  const extensions = tbs.takeIf(FIELD.extensions);
  tbs.end();
  return extensions ? parseExtensions(onlyChild(extensions)) : [];
}

function hasRelativeNames(list: Uint8Array): boolean {
  for (const point of eachChild(expect(readDer(list), TAG.sequence))) {
    for (const field of eachChild(expect(point, TAG.sequence))) {
      if (isRelative(field)) return true;
    }
  }
  return false;
}

const isRelative = (field: DerValue): boolean =>
  field.tag === POINT_NAME && onlyChild(field).tag === RELATIVE_NAME;

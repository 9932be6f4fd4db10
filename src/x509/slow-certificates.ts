import { TAG } from './der.ts';
import { DerError, type DerValue, eachChild, expect, onlyChild, readDer } from './der-reader.ts';
import { mayHaveSlowKey } from './slow-keys.ts';

/** Certificates of one text; those that systems trust are some hundred and fifty. */
const MOST_CERTIFICATES = 256;
/** Bytes of one of them; those that systems trust have at most two thousand, one of a hundred long names eight. */
const MOST_CERTIFICATE = 16 << 10;
/** Bytes of all name constraints of a text or a chain: each is compared with each name of each certificate below it. */
const MOST_CONSTRAINTS = 4 << 10;

/** `cRLDistributionPoints` 2.5.29.31 and `nameConstraints` 2.5.29.30, each after the last byte of its length. */
const DISTRIBUTION_POINTS = Buffer.from('03551d1f', 'hex');
const NAME_CONSTRAINTS = Buffer.from('03551d1e', 'hex');

/** `distributionPoint` of a point, and within that a name `nameRelativeToCRLIssuer`. */
const POINT_NAME = 0xa0;
const RELATIVE_NAME = 0xa1;

/** What follows where a block begins. */
const BLOCK = /^ [^-]*-----([^-]*)-----END/;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Whether a text of PEM may take OpenSSL long to read or to build chains from: by what is in its certificates
 * ({@link mayBeSlow}), their length, or their number. What cannot be looked into counts as such.
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
 * Whether anything in bytes that have certificates in them may take OpenSSL long, wherever it stands: keys that are slow
 * to decode; CRL distribution points with a relative name, of which each is made a copy of the issuer's name, seconds and
 * hundreds of megabytes for 50 KB; or name constraints that are more than anybody needs.
 *
 * @see RFC 5280 §4.2.1.13: relative names should not be used, §4.2.1.10
 */
export function mayBeSlow(parts: readonly Buffer[]): boolean {
  if (parts.some((part) => mayHaveSlowKey(part) || mayHaveRelativeNames(part))) return true;
  let bytes = 0;
  for (const part of parts) {
    for (const value of extensionsOf(part, NAME_CONSTRAINTS)) bytes += value?.length ?? Infinity;
  }
  return bytes > MOST_CONSTRAINTS;
}

function mayHaveRelativeNames(der: Buffer): boolean {
  let looked = 0;
  for (const value of extensionsOf(der, DISTRIBUTION_POINTS)) {
    // None has another one in it, so that nothing is looked at twice.
    if (!value || value.byteOffset < looked || !hasWholeNames(value)) return true;
    looked = value.byteOffset + value.length;
  }
  return false;
}

/** What each extension of a kind says; undefined where it is not told in the one way of DER. */
function* extensionsOf(der: Buffer, kind: Buffer): Generator<Buffer | undefined, void, undefined> {
  for (let at = der.indexOf(kind); at >= 0; at = der.indexOf(kind, at + 1)) {
    yield der[at - 1] === TAG.oid ? valueAt(der, at + kind.length) : undefined;
  }
}

/** An OCTET STRING of less than 64 KiB, with `critical` before it or without. */
function valueAt(der: Buffer, behind: number): Buffer | undefined {
  const isCritical = der[behind] === TAG.boolean && der[behind + 1] === 1;
  const at = isCritical ? behind + 3 : behind;
  const [tag, length = 0, high = 0, low = 0] = der.subarray(at, at + 4);
  if (tag !== TAG.octetString) return undefined;
  if (length < 0x80) return der.subarray(at + 2, at + 2 + length);
  if (length === 0x81) return der.subarray(at + 3, at + 3 + high);
  return length === 0x82 ? der.subarray(at + 4, at + 4 + high * 256 + low) : undefined;
}

function hasWholeNames(list: Buffer): boolean {
  try {
    for (const point of eachChild(expect(readDer(list), TAG.sequence))) {
      for (const field of eachChild(expect(point, TAG.sequence))) {
        if (isRelative(field)) return false;
      }
    }
    return true;
  } catch (error) {
    if (error instanceof DerError) return false;
    throw error;
  }
}

const isRelative = (field: DerValue): boolean =>
  field.tag === POINT_NAME && onlyChild(field).tag === RELATIVE_NAME;

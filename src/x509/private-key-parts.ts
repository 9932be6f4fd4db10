/**
 * Of what private keys consist, and whether their parts go together. Of one that contradicts itself the library uses
 * some parts and falls back on others, so that it works here, and is refused or gives itself away where it is used
 * otherwise.
 */

import { createECDH, ECDH } from 'node:crypto';
import { type Failure, invalid } from '../core/failure.ts';
import { TAG } from './der.ts';
import {
  magnitudeOf,
  readBitString,
  readOid,
  readSmallInteger,
  readUnsigned,
} from './der-primitives.ts';
import { children, DerFields, type DerValue, onlyChild, readDer } from './der-reader.ts';
import { CURVE_NAME, type CurveBits, fieldBytes, findCurveByOid } from './keys.ts';
import { KEY_OID } from './oids.ts';
import { findParameterSetByOid, type ParameterSet } from './post-quantum.ts';

/** An RSA key of 8,192 bits with all its numbers fits twice. */
export const MAX_KEY_BYTES = 16 << 10;

export const unusableKey = (): Failure =>
  invalid(
    'the private key could not be read; RSA, EC, Ed25519, ML-DSA and SLH-DSA keys are accepted',
  );

export const mismatchedKey = (): Failure =>
  invalid('the private key does not go with the public key that it comes with');

/**
 * OneAsymmetricKey, RFC 5958 §2.
 *
 * @returns the public key that it comes with, unless it is a point, which is looked at here
 */
export function requirePkcs8(value: DerValue): Uint8Array | undefined {
  const fields = new DerFields(value);
  readSmallInteger(fields.take(), 1);
  const [algorithm, parameters] = children(fields.take(TAG.sequence));
  const { content } = fields.take(TAG.octetString);
  fields.takeIf(0xa0);
  const beside = fields.takeIf(0x81);
  fields.end();
  const stated = beside && readBitString(beside, 0x81).bytes;
  const type = algorithm && readOid(algorithm);
  const set = type === undefined ? undefined : findParameterSetByOid(type);
  if (set) {
    if (parameters) throw unusableKey();
    requirePostQuantum(set, content);
    return stated;
  }
  const inner = readDer(content, MAX_KEY_BYTES);
  switch (type) {
    case KEY_OID.rsaEncryption:
      requireRsa(inner);
      return stated;
    case KEY_OID.ecPublicKey:
      requireEc(inner, parameters, stated);
      return undefined;
    case KEY_OID.ed25519:
      if (inner.tag !== TAG.octetString || inner.content.length !== 32) throw unusableKey();
      return stated;
    default:
      throw unusableKey();
  }
}

const SEED_BYTES = 32;
/** FIPS 204 §4, table 2: bytes of private keys that are written out. */
const EXPANDED_BYTES = new Map([
  [44, 2_560],
  [65, 4_032],
  [87, 4_896],
]);

/**
 * ML-DSA: the seed, the key that is made of it, or both, which the library compares (RFC 9881 §6). SLH-DSA: four
 * numbers one after the other, nothing around them (RFC 9909).
 */
function requirePostQuantum(set: ParameterSet, content: Uint8Array): void {
  if (set.key_type !== 'mldsa') {
    if (content.length !== 2 * set.public_bytes) throw unusableKey();
    return;
  }
  const isExpanded = ({ tag, content: bytes }: DerValue): boolean =>
    tag === TAG.octetString && bytes.length === EXPANDED_BYTES.get(set.key_bits);
  const inner = readDer(content, MAX_KEY_BYTES);
  if (inner.tag === 0x80 && inner.content.length === SEED_BYTES) return;
  if (isExpanded(inner)) return;
  if (inner.tag !== TAG.sequence) throw unusableKey();
  const both = new DerFields(inner);
  const seed = both.take(TAG.octetString).content;
  const expanded = both.take();
  both.end();
  if (seed.length !== SEED_BYTES || !isExpanded(expanded)) throw unusableKey();
}

/** RSAPrivateKey, RFC 8017 §A.1.2, of two primes; no part longer than it can be in a real key. */
export function requireRsa(value: DerValue): void {
  const fields = new DerFields(value);
  readSmallInteger(fields.take(), 0);
  const take = (): Uint8Array => readUnsigned(fields.take());
  const [modulus, publicExponent, privateExponent] = [take(), take(), take()];
  // Crafted lengths would make a signature take as long as the sender likes.
  if (publicExponent.length > 4 || privateExponent.length > modulus.length) throw unusableKey();
  const halves = {
    prime1: take(),
    prime2: take(),
    exponent1: take(),
    exponent2: take(),
    coefficient: take(),
  };
  fields.end();
  const longest = Math.ceil(modulus.length / 2) + 1;
  if (Object.values(halves).some(({ length }) => length > longest)) throw unusableKey();
  const whole = { modulus, publicExponent, privateExponent };
  const contradiction = findContradiction({ ...whole, ...halves });
  if (contradiction !== undefined) {
    throw invalid(`the parts of the RSA private key do not go together: ${contradiction}`);
  }
}

/** ECPrivateKey, RFC 5915 §3, with a named curve here or around it. @param stated a point beside it */
export function requireEc(value: DerValue, around?: DerValue, stated?: Uint8Array): void {
  const fields = new DerFields(value);
  if (readSmallInteger(fields.take(), 1) !== 1) throw unusableKey();
  const secret = fields.take(TAG.octetString).content;
  const own = fields.takeIf(0xa0);
  const within = fields.takeIf(0xa1);
  fields.end();
  const curve = own ? onlyChild(own) : around;
  if (curve?.tag !== TAG.oid) throw unusableKey();
  const type = readOid(curve);
  if (around && readOid(around) !== type) throw unusableKey();
  const bits = findCurveByOid(type);
  if (!bits || secret.length > fieldBytes(bits)) throw unusableKey();
  const points = [within && readBitString(onlyChild(within)).bytes, stated];
  for (const point of points) {
    if (point && !isPublicPoint(bits, secret, point)) throw mismatchedKey();
  }
}

/** Big-endian, as RFC 8017 §A.1.2 calls them. */
type RsaPart =
  | 'modulus'
  | 'publicExponent'
  | 'privateExponent'
  | 'prime1'
  | 'prime2'
  | 'exponent1'
  | 'exponent2'
  | 'coefficient';

/**
 * Says in the words of RFC 8017 which parts of an RSA key do not go together; undefined where all do. That its primes
 * are prime shows in a signature.
 */
export function findContradiction(
  parts: Readonly<Record<RsaPart, Uint8Array>>,
): string | undefined {
  const [p, q] = [magnitudeOf(parts.prime1), magnitudeOf(parts.prime2)];
  if (p < 2n || q < 2n || p * q !== magnitudeOf(parts.modulus)) {
    return 'modulus is not the product of prime1 and prime2';
  }
  const e = magnitudeOf(parts.publicExponent);
  const d = magnitudeOf(parts.privateExponent);
  // Both together: modulo the least common multiple of the two, which RFC 8017 calls λ(n).
  if (!isInverse(e, d, p - 1n) || !isInverse(e, d, q - 1n)) {
    return 'privateExponent is not an inverse of publicExponent';
  }
  if (magnitudeOf(parts.exponent1) !== d % (p - 1n)) {
    return 'exponent1 is not privateExponent modulo prime1 - 1';
  }
  if (magnitudeOf(parts.exponent2) !== d % (q - 1n)) {
    return 'exponent2 is not privateExponent modulo prime2 - 1';
  }
  const coefficient = magnitudeOf(parts.coefficient);
  return coefficient < p && isInverse(q, coefficient, p)
    ? undefined
    : 'coefficient is not the inverse of prime2 modulo prime1';
}

const isInverse = (a: bigint, b: bigint, modulus: bigint): boolean =>
  (a * b) % modulus === 1n % modulus;

/** Whether a point, compressed or not, is the public part of a private key. */
export function isPublicPoint(bits: CurveBits, secret: Uint8Array, point: Uint8Array): boolean {
  const curve = CURVE_NAME[bits];
  const pair = createECDH(curve);
  try {
    pair.setPrivateKey(secret);
    const stated = ECDH.convertKey(point, curve, undefined, undefined, 'uncompressed');
    return pair.getPublicKey().equals(Buffer.from(stated));
  } catch {
    // No number of the curve's order, or no point on it.
    return false;
  }
}

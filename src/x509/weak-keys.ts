/**
 * Public keys whose private half anybody could find: what the CA/Browser Forum's Baseline
 * Requirements (§6.1.1.6), NIST SP 800-89 (§5.3.3) and SP 800-56B (§6.4) have a CA look for.
 */

import { checkPrimeSync, createECDH } from 'node:crypto';
import { magnitudeOf } from './der-primitives.ts';
import {
  CURVE_NAME,
  type CurveBits,
  findCurve,
  type PublicKeyParts,
  readPublicKey,
} from './keys.ts';
import {
  findFactor,
  findLargerFactor,
  hasSmoothFactor,
  isFingerprinted,
  isPerfectPower,
  splitByFermat,
} from './rsa-factors.ts';

type WeaknessVerdict = { sound: true } | { sound: false; because: string };

const SOUND: WeaknessVerdict = { sound: true };
const refuse = (because: string): WeaknessVerdict => ({ sound: false, because });

/**
 * Says whether a public key may be certified. Takes milliseconds for an RSA key, some tenths of a
 * second for the longest, and next to nothing for others.
 *
 * @param subjectPublicKeyInfo DER
 * @throws Failure `invalid` as `describePublicKey` does, for keys that are not looked at
 */
export function judgePublicKey(subjectPublicKeyInfo: Uint8Array): WeaknessVerdict {
  const parts = readPublicKey(subjectPublicKeyInfo);
  switch (parts.key_type) {
    case 'rsa':
      return judgeRsa(parts);
    case 'ec':
      return judgeEc(parts.key_bits, parts.point);
    case 'ed25519':
      return judgeEd25519(parts.point);
    case 'mldsa':
      return judgeMlDsa(parts.encoded);
    default:
      // Two hashes (FIPS 205 §9.1): nothing can be told by looking at them.
      return SOUND;
  }
}

/** Bytes of ρ, after which t1 begins (FIPS 204, algorithm 22). */
const RHO_BYTES = 32;

/** Whoever knows that t1 is zero signs anything with a z of zeros: Az − ct1·2^d is then zero as well. */
function judgeMlDsa(encoded: Uint8Array): WeaknessVerdict {
  return encoded.subarray(RHO_BYTES).every((byte) => byte === 0)
    ? refuse('it is zero, so that anybody can sign for it')
    : SOUND;
}

/** Smaller ones are no weakness by themselves, and turn mistakes of padding into broken keys. */
const LEAST_EXPONENT = 65_537n;

function judgeRsa(parts: Extract<PublicKeyParts, { key_type: 'rsa' }>): WeaknessVerdict {
  const modulus = magnitudeOf(parts.modulus);
  const exponent = magnitudeOf(parts.exponent);
  if (exponent < LEAST_EXPONENT) {
    return refuse(`its public exponent is ${exponent}, at least ${LEAST_EXPONENT} is accepted`);
  }
  const factor = findFactor(modulus) ?? findLargerFactor(modulus);
  if (factor !== undefined) return refuse(`its modulus is divisible by ${factor}`);
  if (isFingerprinted(modulus)) {
    return refuse('it was made by a library whose keys can be factored (ROCA, CVE-2017-15361)');
  }
  if (splitByFermat(modulus)) return refuse('the factors of its modulus are too close');
  if (isPerfectPower(modulus)) return refuse('its modulus is the power of a number');
  if (checkPrimeSync(modulus)) return refuse('its modulus is a prime');
  if (hasSmoothFactor(modulus)) {
    return refuse('a factor of its modulus, less one, is a product of small numbers');
  }
  return SOUND;
}

/** Private keys that are looked for: whoever tries keys begins with these. */
const SMALL_SECRETS = 16;

const smallPoints = new Map<CurveBits, ReadonlySet<string>>();

/** First coordinates of the public keys of 1, 2, …: that of −1, −2, … is the same. */
function findSmallPoints(bits: CurveBits): ReadonlySet<string> {
  const points = new Set<string>();
  for (let secret = 1; secret <= SMALL_SECRETS; secret += 1) {
    const pair = createECDH(CURVE_NAME[bits]);
    pair.setPrivateKey(Uint8Array.of(secret));
    points.add(firstCoordinate(pair.getPublicKey()));
  }
  return points;
}

/** @param point uncompressed, with its first byte */
function firstCoordinate(point: Uint8Array): string {
  return Buffer.from(point.subarray(1, 1 + (point.length - 1) / 2)).toString('hex');
}

function judgeEc(key_bits: number, point: Uint8Array): WeaknessVerdict {
  const bits = findCurve(key_bits);
  return bits && smallPoints.getOrInsertComputed(bits, findSmallPoints).has(firstCoordinate(point))
    ? refuse('its private key is a small number')
    : SOUND;
}

const P = 2n ** 255n - 19n;
/** y of the points of order eight, one of them; the other is P less this. */
const ORDER_EIGHT = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
const SMALL_ORDER = new Set([0n, 1n, P - 1n, ORDER_EIGHT, P - ORDER_EIGHT]);

/** @see RFC 8032 §5.1.3, RFC 8410 §4 */
function judgeEd25519(point: Uint8Array): WeaknessVerdict {
  const littleEndian = Uint8Array.from(point).reverse();
  littleEndian[0] = (littleEndian[0] ?? 0) & 0x7f;
  const y = magnitudeOf(littleEndian);
  // Anybody can sign for a point of small order.
  if (SMALL_ORDER.has(y % P)) return refuse('its point is of small order');
  return y < P ? SOUND : refuse('its point is not written in the one form that it has');
}

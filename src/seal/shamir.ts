/**
 * Shamir's secret sharing over GF(256), byte by byte (A. Shamir, "How to Share a Secret",
 * CACM 22(11), 1979). A share is the y value of every byte of the secret, then one byte x:
 * the layout that operators' tools for Vault-compatible servers expect.
 *
 * No look-up tables and no branches on secret bytes: which cache lines are read, and for
 * how long, says nothing about the secret.
 */

/** The field's reduction polynomial x^8 + x^4 + x^3 + x + 1, without its top bit. */
const REDUCTION = 0x1b;

/** Shares differ by their x, one of 1 to 255; x = 0 is the secret itself. */
export const MAX_SHARES = 255;

/**
 * The product of two field elements (0 to 255), in the same time for all of them.
 */
export function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = a;
  for (let bit = 0; bit < 8; bit += 1) {
    product ^= shifted & -((b >> bit) & 1);
    shifted = ((shifted << 1) ^ (REDUCTION & -(shifted >> 7))) & 0xff;
  }
  return product;
}

/** The element whose product with `a` is 1, as a^254; 0 for 0, which has none. */
export function invert(a: number): number {
  // 254 = 2 + 4 + 8 + 16 + 32 + 64 + 128.
  let power = a;
  let product = 1;
  for (let step = 0; step < 7; step += 1) {
    power = multiply(power, power);
    product = multiply(product, power);
  }
  return product;
}

/** Random bytes that {@link splitSecret} needs: one for each coefficient of each polynomial. */
export function splitRandomness(secretLength: number, threshold: number): number {
  return secretLength * (threshold - 1);
}

/**
 * Splits a secret into shares, any `threshold` of which give it back and fewer of which say
 * nothing about it.
 *
 * @param shares     2 to 255
 * @param threshold  2 to `shares`
 * @param randomness {@link splitRandomness} bytes, unpredictable and used only here; the
 *                   caller wipes them
 * @returns `shares` arrays, each one byte longer than the secret
 * @throws RangeError outside those bounds
 */
export function splitSecret(options: {
  secret: Uint8Array;
  shares: number;
  threshold: number;
  randomness: Uint8Array;
}): Uint8Array[] {
  const { secret, shares, threshold, randomness } = options;
  if (secret.length === 0) throw new RangeError('an empty secret cannot be split');
  if (!Number.isInteger(threshold) || threshold < 2 || threshold > shares) {
    throw new RangeError('the threshold lies between 2 and the number of shares');
  }
  if (!Number.isInteger(shares) || shares > MAX_SHARES) {
    throw new RangeError(`at most ${MAX_SHARES} shares can be told apart`);
  }
  if (randomness.length !== splitRandomness(secret.length, threshold)) {
    throw new RangeError('one random byte is needed for each coefficient');
  }
  return Array.from({ length: shares }, (_, index) => {
    const x = index + 1;
    const share = new Uint8Array(secret.length + 1);
    for (let at = 0; at < secret.length; at += 1) {
      share[at] = evaluate(secret[at] ?? 0, randomness, at * (threshold - 1), threshold - 1, x);
    }
    share[secret.length] = x;
    return share;
  });
}

/** Horner's rule; the coefficients of x^1, x^2, … are `count` bytes of `bytes` from `from`. */
function evaluate(constant: number, bytes: Uint8Array, from: number, count: number, x: number) {
  let y = 0;
  for (let degree = count - 1; degree >= 0; degree -= 1) {
    y = multiply(y ^ (bytes[from + degree] ?? 0), x);
  }
  return y ^ constant;
}

type Combined = { secret: Uint8Array } | { because: string };

/**
 * Gives the secret back from shares. That they belong together cannot be told from them:
 * wrong or too few shares give a wrong secret, so the caller checks it against something.
 *
 * @param x where the polynomials are evaluated; at 0 they are the secret
 * @returns the secret, or why these cannot be shares of one secret
 */
export function combineShares(shares: readonly Uint8Array[], x = 0): Combined {
  const first = shares[0];
  if (first === undefined || shares.length < 2) return { because: 'less than two shares' };
  if (first.length < 2) return { because: 'a share has at least two bytes' };
  if (shares.some((share) => share.length !== first.length)) {
    return { because: 'shares of different lengths' };
  }
  const xs = shares.map((share) => share[share.length - 1] ?? 0);
  if (xs.includes(0)) return { because: 'a share without a number' };
  if (new Set(xs).size !== xs.length) return { because: 'two shares with one number' };

  const secret = new Uint8Array(first.length - 1);
  shares.forEach((share, index) => {
    const weight = weightAt(x, xs, index);
    for (let at = 0; at < secret.length; at += 1) {
      secret[at] = (secret[at] ?? 0) ^ multiply(share[at] ?? 0, weight);
    }
  });
  return { secret };
}

/**
 * The share with another number, from as many as make the secret.
 *
 * @param x 1 to 255
 * @returns undefined when these cannot be shares of one secret
 */
export function deriveShare(shares: readonly Uint8Array[], x: number): Uint8Array | undefined {
  const combined = combineShares(shares, x);
  if ('because' in combined) return undefined;
  const share = Uint8Array.from([...combined.secret, x]);
  combined.secret.fill(0);
  return share;
}

/** Lagrange's basis polynomial of the point `index`, evaluated at `at`. */
function weightAt(at: number, xs: readonly number[], index: number): number {
  const own = xs[index] ?? 0;
  let weight = 1;
  xs.forEach((x, other) => {
    if (other !== index) weight = multiply(weight, multiply(x ^ at, invert(x ^ own)));
  });
  return weight;
}

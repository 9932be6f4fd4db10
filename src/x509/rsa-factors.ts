/** What can be said of an RSA modulus without its factors, and factors that show by themselves. */

/** Primes below this are tried one by one. */
const SIEVE = 1 << 16;

const SMALL_PRIMES = findPrimes(SIEVE);

function findPrimes(below: number): number[] {
  const composite = new Uint8Array(below);
  const primes: number[] = [];
  for (let candidate = 2; candidate < below; candidate += 1) {
    if (composite[candidate]) continue;
    primes.push(candidate);
    for (let at = candidate * candidate; at < below; at += candidate) composite[at] = 1;
  }
  return primes;
}

interface Batch {
  product: bigint;
  primes: readonly number[];
}

/** Primes whose product fits a machine word: a long number is divided once for all of them. */
const BATCHES = batchPrimes();

function batchPrimes(): Batch[] {
  const batches: Batch[] = [];
  let product = 1n;
  let primes: number[] = [];
  for (const prime of SMALL_PRIMES) {
    if (product * BigInt(prime) >= 1n << 63n) {
      batches.push({ product, primes });
      product = 1n;
      primes = [];
    }
    product *= BigInt(prime);
    primes.push(prime);
  }
  batches.push({ product, primes });
  return batches;
}

/** The least prime below 65,536 that divides the number, if there is one. */
export function findFactor(number: bigint): number | undefined {
  for (const { product, primes } of BATCHES) {
    const rest = number % product;
    const factor = primes.find((prime) => rest % BigInt(prime) === 0n);
    if (factor !== undefined) return factor;
  }
  return undefined;
}

/** Primes from {@link SIEVE} to this are tried all at once. */
const SIEVE_OF_PRODUCTS = 1 << 20;
/** A product of so many bits is divided quickly, and made quickly. */
const PRODUCT_BITS = 1n << 15n;

/** Made when the first key is looked at, in some 30 milliseconds; 180 KB. */
let products: readonly bigint[] | undefined;

function makeProducts(): bigint[] {
  const primes = findPrimes(SIEVE_OF_PRODUCTS).slice(SMALL_PRIMES.length);
  const words: bigint[] = [];
  // Three primes of twenty bits fit a machine word.
  for (let at = 0; at < primes.length; at += 3) {
    const [a = 1, b = 1, c = 1] = primes.slice(at, at + 3);
    words.push(BigInt(a) * BigInt(b) * BigInt(c));
  }
  const each = Number(PRODUCT_BITS) / 60;
  const made: bigint[] = [];
  for (let at = 0; at < words.length; at += each) {
    made.push(multiplyAll(words.slice(Math.floor(at), Math.floor(at + each))));
  }
  return made;
}

/** In pairs, so that the factors of each product are of one length. */
function multiplyAll(factors: readonly bigint[]): bigint {
  const [first = 1n, second = 1n] = factors;
  if (factors.length <= 2) return first * second;
  const middle = factors.length >> 1;
  return multiplyAll(factors.slice(0, middle)) * multiplyAll(factors.slice(middle));
}

/**
 * What the number has in common with the primes from 2^16 to 2^20: one of them, or a product of
 * some.
 */
export function findLargerFactor(number: bigint): bigint | undefined {
  products ??= makeProducts();
  let rest = 1n;
  for (const product of products) rest = (rest * (product % number)) % number;
  const common = greatestCommonDivisor(number, rest);
  return common === 1n ? undefined : common;
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [greater, less] = [a, b];
  while (less > 0n) [greater, less] = [less, greater % less];
  return greater;
}

/** A prime less one that has no power of a prime beyond this is smooth. */
const SMOOTH = 512;
/** The least common multiple of all numbers up to there, bit by bit, the highest first. */
const SMOOTH_BITS = SMALL_PRIMES.filter((prime) => prime <= SMOOTH)
  .reduce((product, prime) => {
    const degree = Math.floor(Math.log(SMOOTH) / Math.log(prime) + 1e-9);
    return product * BigInt(prime) ** BigInt(degree);
  }, 1n)
  .toString(2);

/**
 * Says whether Pollard's p − 1 method finds a factor in its first steps: one of the primes, less one,
 * is a product of small numbers only.
 */
export function hasSmoothFactor(number: bigint): boolean {
  let power = 1n;
  for (const bit of SMOOTH_BITS) {
    power = (power * power) % number;
    if (bit === '1') power *= 3n;
  }
  return greatestCommonDivisor(number, (power + number - 1n) % number) !== 1n;
}

/** The greatest number whose power is not more. @param degree 2 or more */
export function rootOf(number: bigint, degree: number): bigint {
  if (number < 2n) return number;
  const exponent = BigInt(degree);
  const bits = BigInt(number.toString(16).length * 4);
  // Newton's method from above; it falls until it is there.
  let root = 1n << (bits / exponent + 1n);
  for (;;) {
    const next = ((exponent - 1n) * root + number / root ** (exponent - 1n)) / exponent;
    if (next >= root) return root;
    root = next;
  }
}

/** Squares leave few of the possible remainders, so that most other numbers are told at once. */
const SQUARES = [64, 63, 65, 11, 17, 19, 23, 31].map((modulus) => ({
  modulus,
  residues: new Set(Array.from({ length: modulus }, (_, root) => (root * root) % modulus)),
}));
const SQUARES_PRODUCT = BigInt(64 * 63 * 65 * 11 * 17 * 19 * 23 * 31);

function isSquare(number: bigint): boolean {
  const rest = Number(number % SQUARES_PRODUCT);
  if (SQUARES.some(({ modulus, residues }) => !residues.has(rest % modulus))) return false;
  const root = rootOf(number, 2);
  return root * root === number;
}

/** Rounds of Fermat's method; the Baseline Requirements ask for a hundred. */
const FERMAT_ROUNDS = 256;
/** Rounds for factors of which one is nearly a multiple, or a simple fraction, of the other. */
const RATIO_ROUNDS = 16;
/** Products of two coprime numbers up to eight; the ratio is one to the other. */
const RATIOS = [2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 15, 20, 21, 24, 28, 30, 35, 40, 42, 56].map(
  BigInt,
);

/**
 * Says whether the number is a product of two that are so close, or so nearly in a simple ratio,
 * that Fermat's method finds them; a square is one of them.
 */
export function splitByFermat(number: bigint): boolean {
  if (hasNearSquare(number, FERMAT_ROUNDS)) return true;
  // Of p and q where u·p is close to v·q: 4·u·v·p·q = (u·p + v·q)² − (u·p − v·q)².
  return RATIOS.some((ratio) => hasNearSquare(4n * ratio * number, RATIO_ROUNDS));
}

/** Says whether one of the next squares is more by another square. */
function hasNearSquare(number: bigint, rounds: number): boolean {
  let mean = rootOf(number, 2);
  if (mean * mean < number) mean += 1n;
  let difference = mean * mean - number;
  for (let round = 0; round < rounds; round += 1) {
    if (isSquare(difference)) return true;
    difference += 2n * mean + 1n;
    mean += 1n;
  }
  return false;
}

/**
 * Says whether the number is a power of another, squares left to {@link splitByFermat}. It has no
 * factor below 2^16, so that its degree has bounds.
 */
export function isPerfectPower(number: bigint): boolean {
  const bits = number.toString(16).length * 4;
  for (const degree of SMALL_PRIMES) {
    if (degree * 16 > bits) return false;
    if (degree === 2 || !couldBePower(number, degree)) continue;
    const root = rootOf(number, degree);
    if (root ** BigInt(degree) === number) return true;
  }
  return false;
}

/** By what is left of powers modulo primes of the form k · degree + 1: one remainder in `degree`. */
function couldBePower(number: bigint, degree: number): boolean {
  let witnesses = 0;
  for (let modulus = 2 * degree + 1; witnesses < WITNESSES; modulus += 2 * degree) {
    if (!PRIMES.has(modulus)) continue;
    witnesses += 1;
    const rest = number % BigInt(modulus);
    if (powerMod(rest, (modulus - 1) / degree, BigInt(modulus)) !== 1n) return false;
  }
  return true;
}

const WITNESSES = 4;
const PRIMES = new Set(SMALL_PRIMES);

function powerMod(base: bigint, exponent: number, modulus: bigint): bigint {
  let result = 1n;
  let square = base % modulus;
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

/** The primes by which the fingerprint was published. @see https://crocs.fi.muni.cz/public/papers/rsa_ccs17 */
const FINGERPRINT = SMALL_PRIMES.filter((prime) => prime >= 3 && prime <= 167).map((prime) => ({
  prime,
  residues: powersOf(65_537, prime),
}));
const FINGERPRINT_PRODUCT = FINGERPRINT.reduce((product, { prime }) => product * BigInt(prime), 1n);

function powersOf(base: number, prime: number): Set<number> {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * base) % prime) powers.add(power);
  return powers;
}

/**
 * Says whether a modulus looks like those of the library of CVE-2017-15361, whose primes are
 * k · M + 65537^a mod M: modulo every small prime it is a power of 65537. One in a hundred
 * million others does.
 */
export function isFingerprinted(modulus: bigint): boolean {
  const rest = modulus % FINGERPRINT_PRODUCT;
  return FINGERPRINT.every(({ prime, residues }) => residues.has(Number(rest % BigInt(prime))));
}

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { combineShares, invert, multiply, splitRandomness, splitSecret } from './shamir.ts';

/** Bytes that look random and are the same at every run. */
function bytes(seed: string, length: number): Uint8Array {
  return new Uint8Array(createHash('shake256', { outputLength: length }).update(seed).digest());
}

function split(secret: Uint8Array, shares: number, threshold: number, seed = 'coefficients') {
  const randomness = bytes(seed, splitRandomness(secret.length, threshold));
  return splitSecret({ secret, shares, threshold, randomness });
}

function combine(shares: Uint8Array[]): string {
  const combined = combineShares(shares);
  return 'secret' in combined ? Buffer.from(combined.secret).toString('hex') : combined.because;
}

function subsets<T>(items: readonly T[]): T[][] {
  const all: T[][] = [[]];
  for (const item of items) all.push(...all.map((some) => [...some, item]));
  return all;
}

const hex = (secret: Uint8Array) => Buffer.from(secret).toString('hex');

const products: [a: number, b: number, product: number, origin: string][] = [
  [0x57, 0x83, 0xc1, 'FIPS 197 §4.2'],
  [0x57, 0x13, 0xfe, 'FIPS 197 §4.2.1'],
  [0x57, 0x02, 0xae, 'FIPS 197 §4.2.1'],
  [0x57, 0x10, 0x07, 'FIPS 197 §4.2.1'],
  [0x53, 0xca, 0x01, 'a known pair of inverses'],
  [0x00, 0xff, 0x00, 'zero'],
  [0x01, 0xff, 0xff, 'one'],
];
for (const [a, b, product, origin] of products) {
  test(`the product of ${a} and ${b} is ${product} (${origin})`, () => {
    assert.equal(multiply(a, b), product);
    assert.equal(multiply(b, a), product);
  });
}

test('every element but zero has an inverse', () => {
  for (let a = 1; a < 256; a += 1) assert.equal(multiply(a, invert(a)), 1);
  assert.equal(invert(0), 0);
});

test('shares follow from the polynomial, as worked out by hand', () => {
  // Threshold 3, one byte: f(x) = 0x2a + 0x01 x + 0x02 x^2.
  // f(1) = 2a ^ 01 ^ 02 = 29; f(2) = 2a ^ 02 ^ 02*04 = 2a ^ 02 ^ 08 = 20;
  // f(3) = 2a ^ 03 ^ 02*05 = 2a ^ 03 ^ 0a = 23.
  const shares = splitSecret({
    secret: Uint8Array.of(0x2a),
    shares: 3,
    threshold: 3,
    randomness: Uint8Array.of(0x01, 0x02),
  });
  assert.deepEqual(shares.map(hex), ['2901', '2002', '2303']);
});

test('shares of a line whose numbers are not in order combine, as worked out by hand', () => {
  // f(x) = 0x10 + 0x03 x: f(5) = 10 ^ 03*05 = 10 ^ 0f = 1f; f(2) = 10 ^ 06 = 16.
  assert.equal(combine([Uint8Array.of(0x1f, 5), Uint8Array.of(0x16, 2)]), '10');
});

test('of five shares with threshold three, each three or more give the secret, no fewer do', () => {
  const secret = bytes('a root key', 32);
  const shares = split(secret, 5, 3);
  for (const some of subsets(shares)) {
    assert.equal(combine(some) === hex(secret), some.length >= 3, `${some.length} shares`);
  }
});

test('any secret, number of shares and threshold: the last shares in reverse give it back', () => {
  for (const [length, count, threshold] of [
    [1, 2, 2],
    [16, 3, 2],
    [32, 10, 10],
    [33, 20, 7],
    [32, 255, 128],
    [64, 255, 255],
  ] as const) {
    const secret = bytes(`secret ${length}`, length);
    const shares = split(secret, count, threshold, `${count}/${threshold}`);
    assert.equal(shares.length, count);
    assert.ok(shares.every((share) => share.length === length + 1));
    assert.equal(combine(shares.slice(-threshold).reverse()), hex(secret));
  }
});

test('one share less than the threshold is compatible with every secret', () => {
  // Whatever two shares of a (3,3) split are, each value of the third gives another secret.
  const [first, second] = split(Uint8Array.of(0x5a), 3, 3);
  assert.ok(first && second);
  const secrets = new Set<string>();
  for (let y = 0; y < 256; y += 1) secrets.add(combine([first, second, Uint8Array.of(y, 3)]));
  assert.equal(secrets.size, 256);
});

test('the numbers of shares are 1 to n, each once, and never 0', () => {
  const numbers = split(bytes('s', 32), 255, 2).map((share) => share[32]);
  assert.deepEqual(
    numbers,
    Array.from({ length: 255 }, (_, index) => index + 1),
  );
});

const unfit: [shares: Uint8Array[], because: string][] = [
  [[], 'less than two shares'],
  [[Uint8Array.of(1, 1)], 'less than two shares'],
  [[Uint8Array.of(1), Uint8Array.of(2)], 'a share has at least two bytes'],
  [[Uint8Array.of(1, 1), Uint8Array.of(1, 1, 2)], 'shares of different lengths'],
  [[Uint8Array.of(1, 1), Uint8Array.of(2, 1)], 'two shares with one number'],
  [[Uint8Array.of(1, 1), Uint8Array.of(2, 0)], 'a share without a number'],
];
for (const [shares, because] of unfit) {
  test(`not combined: ${because} (${shares.length})`, () => assert.equal(combine(shares), because));
}

const bounds: [secret: number, shares: number, threshold: number, randomness: number][] = [
  [0, 3, 2, 0],
  [4, 3, 1, 0],
  [4, 3, 4, 12],
  [4, 256, 2, 4],
  [4, 3, 2.5, 6],
  [4, 3, 2, 3],
  [4, 3, 2, 5],
];
for (const [secret, shares, threshold, randomness] of bounds) {
  test(`not split: ${secret} bytes in ${shares}/${threshold} with ${randomness} random`, () => {
    assert.throws(
      () =>
        splitSecret({
          secret: new Uint8Array(secret),
          shares,
          threshold,
          randomness: new Uint8Array(randomness),
        }),
      RangeError,
    );
  });
}

import assert from 'node:assert/strict';
import { checkPrimeSync, createECDH, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import {
  encodeRsaKey,
  keyOf,
  newPrime,
  nextPrime,
  type RsaNumbers,
  structuredPrime,
} from '../../test/support/rsa-numbers.ts';
import { bitString, oid, sequence } from './der.ts';
import {
  CURVE_NAME,
  type CurveBits,
  describePublicKey,
  ecPublicKeyInfo,
  publicKeyInfo,
} from './keys.ts';
import { hasSmoothFactor, isPerfectPower, rootOf } from './rsa-factors.ts';
import { judgePublicKey } from './weak-keys.ts';

const said = (subjectPublicKeyInfo: Uint8Array): string => {
  const verdict = judgePublicKey(subjectPublicKeyInfo);
  return verdict.sound ? 'sound' : verdict.because;
};

const p = newPrime(1024);
const q = newPrime(1024);
const half = newPrime(512);
const CLOSE = /factors of its modulus are too close/;
const SMOOTH = /less one, is a product of small numbers/;
const long = Array.from({ length: 7 }, () => newPrime(1024));

/** The least common multiple of all numbers up to 512. */
const multiple = (): bigint => {
  let product = 1n;
  for (let number = 2n; number <= 512n; number += 1n) {
    let [a, b] = [product, number];
    while (b > 0n) [a, b] = [b, a % b];
    product *= number / a;
  }
  return product;
};

/** A prime that is one more than a divisor of that, times a factor. */
function smoothPrime(factor: bigint): bigint {
  const whole = multiple();
  for (let left = 3n; ; left += 2n) {
    if (whole % left !== 0n) continue;
    const prime = (whole / left) * factor + 1n;
    if (checkPrimeSync(prime)) return prime;
  }
}

const power = (base: bigint, exponent: bigint): RsaNumbers => ({
  ...keyOf([base]),
  modulus: base ** exponent,
});

const rsaKeys: [what: string, key: RsaNumbers, verdict: 'sound' | RegExp][] = [
  ['two primes', keyOf([p, q]), 'sound'],
  ['four primes', keyOf([half, newPrime(512), p]), 'sound'],
  ['an exponent of 3', keyOf([p, q], 3n), /exponent is 3, at least 65537/],
  ['an exponent of 17', keyOf([p, q], 17n), /exponent is 17/],
  ['an exponent of 65535', keyOf([p, q], 65_535n), /exponent is 65535/],
  ['an exponent of 65539', keyOf([p, q], 65_539n), 'sound'],
  ['a factor of 3', keyOf([3n, newPrime(2046)]), /divisible by 3$/],
  [
    'the last prime below 65,536 as a factor',
    keyOf([65_521n, newPrime(2032)]),
    /divisible by 65521$/,
  ],
  ['the first prime above 65,536 as a factor', keyOf([65_537n, p, q]), /divisible by 65537$/],
  ['the second prime above 65,536 as a factor', keyOf([65_539n, p, q]), /divisible by 65539$/],
  ['a factor of 104,729', keyOf([104_729n, p, q]), /divisible by 104729$/],
  ['a factor of 1,000,003', keyOf([1_000_003n, p, q]), /divisible by 1000003$/],
  ['the last prime below 2^20 as a factor', keyOf([1_048_573n, p, q]), /divisible by 1048573$/],
  ['two such factors', keyOf([65_537n, 1_048_573n, p]), /divisible by 68720328701$/],
  ['the last of them and 8192 bits', keyOf([1_048_573n, ...long]), /divisible by 1048573$/],
  // 1,048,588 is four times a prime.
  ['a prime just above 2^20 as a factor', keyOf([1_048_589n, p, q]), 'sound'],
  ['a factor of 2^31 − 1', keyOf([2_147_483_647n, p, q]), SMOOTH],
  ['a prime that is one more than a smooth number', keyOf([smoothPrime(1n), p]), SMOOTH],
  [
    'a prime that is one more than a smooth number but for one factor',
    keyOf([smoothPrime(521n), p]),
    'sound',
  ],
  ['the square of a prime', power(p, 2n), CLOSE],
  ['the third power of a prime', power(newPrime(683), 3n), /the power of a number/],
  ['the seventh power of a prime', power(newPrime(293), 7n), /the power of a number/],
  ['a prime', keyOf([newPrime(2048)]), /its modulus is a prime/],
  ['a prime and the next', keyOf([p, nextPrime(p + 2n)]), CLOSE],
  ['primes that share their upper half and more', keyOf([p, nextPrime(p + (1n << 510n))]), CLOSE],
  ['primes that share a third of their digits', keyOf([p, nextPrime(p + (1n << 680n))]), 'sound'],
  ['a prime and twice as much', keyOf([p, nextPrime(2n * p)]), CLOSE],
  ['a prime and five thirds of it', keyOf([p, nextPrime((5n * p) / 3n)]), CLOSE],
  [
    'primes of the form of CVE-2017-15361',
    keyOf([structuredPrime(65_537n, 7n), structuredPrime(65_537n, 99n)]),
    /ROCA/,
  ],
  [
    'primes of that form with another base',
    keyOf([structuredPrime(65_539n, 7n), structuredPrime(65_539n, 100n)]),
    'sound',
  ],
  ['one prime of that form', keyOf([structuredPrime(65_537n, 7n), q]), 'sound'],
];
for (const [what, key, verdict] of rsaKeys) {
  test(`an RSA key of ${what} is ${verdict === 'sound' ? 'sound' : 'refused'}`, () => {
    const because = said(encodeRsaKey(key));
    if (verdict === 'sound') assert.equal(because, 'sound');
    else assert.match(because, verdict);
  });
}

test('keys that are generated here are sound', () => {
  for (const key of [
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    generateKeyPairSync('ec', { namedCurve: 'P-521' }),
    generateKeyPairSync('ed25519'),
  ]) {
    assert.equal(said(publicKeyInfo(key.publicKey)), 'sound');
  }
});

test('a modulus of more than 8192 bits is refused before anything is calculated', async () => {
  for (const [bits, accepted] of [
    [8192, true],
    [8193, false],
    [16_384, false],
    [30_000, false],
  ] as const) {
    const key = encodeRsaKey({ ...keyOf([p]), modulus: (1n << BigInt(bits - 1)) + 1n });
    await spendsAtMost(20, () => {
      if (accepted) assert.equal(describePublicKey(key).key_bits, bits);
      else assert.throws(() => judgePublicKey(key), { kind: 'invalid', message: /512 to 8192/ });
    });
  }
});

const CURVES: readonly CurveBits[] = [224, 256, 384, 521];

function pointOf(bits: CurveBits, secret: Uint8Array): Uint8Array {
  const pair = createECDH(CURVE_NAME[bits]);
  pair.setPrivateKey(secret);
  return pair.getPublicKey();
}

test('an EC key of a small number is refused on every curve, its opposite too', () => {
  for (const bits of CURVES) {
    for (const secret of [1, 2, 16]) {
      const point = pointOf(bits, Uint8Array.of(secret));
      assert.equal(said(ecPublicKeyInfo(bits, point)), 'its private key is a small number');
      const opposite = Uint8Array.from(point);
      opposite.fill(7, 1 + (point.length - 1) / 2);
      assert.equal(said(ecPublicKeyInfo(bits, opposite)), 'its private key is a small number');
    }
    assert.equal(said(ecPublicKeyInfo(bits, pointOf(bits, Uint8Array.of(17)))), 'sound');
  }
});

const P = 2n ** 255n - 19n;

function ed25519Key(y: bigint, sign: 0 | 1): Uint8Array {
  const point = Buffer.from((y | (BigInt(sign) << 255n)).toString(16).padStart(64, '0'), 'hex');
  return sequence(sequence(oid('1.3.101.112')), bitString(Uint8Array.from(point).reverse()));
}

const ORDER_EIGHT = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
const SMALL = [0n, 1n, P - 1n, ORDER_EIGHT, P - ORDER_EIGHT];

test('a point of order eight solves the equation that makes it one', () => {
  // Doubled it is a point with y = 0, so that x² = −y² on −x² + y² = 1 + d·x²·y².
  const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
  const square = (ORDER_EIGHT * ORDER_EIGHT) % P;
  assert.equal((d * square * square + 2n * square - 1n) % P, 0n);
});

test('Ed25519 points of small order are refused in every form that is written of them', () => {
  for (const y of SMALL) {
    for (const sign of [0, 1] as const) {
      assert.equal(said(ed25519Key(y, sign)), 'its point is of small order');
      if (y + P < 2n ** 255n) {
        assert.equal(said(ed25519Key(y + P, sign)), 'its point is of small order');
      }
    }
  }
});

test('an Ed25519 point has one form', () => {
  assert.equal(said(ed25519Key(P + 3n, 0)), 'its point is not written in the one form that it has');
  assert.equal(said(ed25519Key(3n, 0)), 'sound');
});

test('roots are the greatest whose power is not more', () => {
  for (const [number, degree, root] of [
    [26n, 3, 2n],
    [27n, 3, 3n],
    [28n, 3, 3n],
    [2n ** 4096n - 1n, 2, 2n ** 2048n - 1n],
    [p ** 5n, 5, p],
    [p ** 5n - 1n, 5, p - 1n],
  ] as const) {
    assert.equal(rootOf(number, degree), root);
  }
});

test('smooth factors are found one by one and all at once', () => {
  const [one, other] = [smoothPrime(1n), smoothPrime(2n)];
  assert.equal(hasSmoothFactor(one * p), true);
  assert.equal(hasSmoothFactor(one * other), true);
  assert.equal(hasSmoothFactor(smoothPrime(521n) * p), false);
  assert.equal(hasSmoothFactor(p * q), false);
});

test('powers are told from what is beside them', () => {
  for (const degree of [3n, 5n, 15n, 31n]) {
    const base = newPrime(64);
    assert.equal(isPerfectPower(base ** degree), true);
    assert.equal(isPerfectPower(base ** degree + 2n), false);
  }
});

test('an ordinary key is judged in milliseconds', async () => {
  const keys: KeyObject[] = [2048, 3072].map(
    (modulusLength) => generateKeyPairSync('rsa', { modulusLength }).publicKey,
  );
  await spendsAtMost(500, () => {
    for (let round = 0; round < 5; round += 1) for (const key of keys) said(publicKeyInfo(key));
  });
});

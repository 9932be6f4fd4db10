import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { csrOf, keyOf, newPrime, nextPrime, type RsaNumbers } from '../support/rsa-numbers.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** Requests for certificates of keys that prove possession, and that anybody could find. */

const { call } = await startTestServer({ after });

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  await call('POST', 'pki/root/generate/internal', {
    common_name: 'R',
    key_type: 'ec',
    issuer_name: 'root',
  });
  const role = { allow_any_name: true, ttl: '1h' };
  await call('POST', 'pki/roles/rsa', role);
  await call('POST', 'pki/roles/any', { ...role, key_type: 'any' });
});

const p = newPrime(1024);
const q = newPrime(1024);

/** A prime that an exponent of 3 can be used with. */
function primeForThree(from: bigint): bigint {
  let prime = nextPrime(from);
  while (prime % 3n === 1n) prime = nextPrime(prime + 2n);
  return prime;
}

const PATHS = [
  'pki/sign/rsa',
  'pki/sign/any',
  'pki/issuer/root/sign/any',
  'pki/sign-verbatim',
  'pki/sign-verbatim/any',
  'pki/root/sign-intermediate',
  'pki/issuer/root/sign-intermediate',
];
/** An intermediate takes its name from the request itself only where it is told to. */
const bodyOf = (csr: string) => ({ csr, common_name: 'a.test' });

const WEAK: [what: string, key: RsaNumbers, why: RegExp][] = [
  ['close primes', keyOf([p, nextPrime(p + 2n)]), /factors of its modulus are too close/],
  ['a factor of 3', keyOf([3n, newPrime(2048)]), /divisible by 3/],
  ['a factor of twenty bits', keyOf([1_048_573n, newPrime(2048)]), /divisible by 1048573/],
  ['a factor of 2^31 − 1', keyOf([2_147_483_647n, newPrime(2048)]), /a product of small numbers/],
  ['a square', { modulus: p * p, exponent: 65_537n, order: p * (p - 1n) }, /too close/],
  ['a prime', keyOf([nextPrime(p << 1024n)]), /its modulus is a prime/],
  [
    'an exponent of 3',
    keyOf([primeForThree(p), primeForThree(q)], 3n),
    /exponent is 3, at least 65537/,
  ],
];
for (const [what, key, why] of WEAK) {
  test(`a key of ${what} is certified on no path`, async () => {
    const csr = csrOf(key, 'a.test');
    for (const path of PATHS) {
      const answer = await call('POST', path, bodyOf(csr));
      assert.equal(answer.status, 400, path);
      assert.match(answer.text, /refusing to certify a weak key/);
      assert.match(answer.text, why);
    }
  });
}

test('a sound key is certified on every path, and again', async () => {
  const csr = csrOf(keyOf([p, q]), 'a.test');
  for (const path of [...PATHS, ...PATHS]) {
    assert.equal((await call('POST', path, bodyOf(csr))).status, 200, path);
  }
});

test('a weak key in a request of thousands of names is refused as well', async () => {
  const names = Array.from({ length: 400 }, (_, i) => `n${i}.example.com`);
  for (const [key, status] of [
    [keyOf([p, q]), 200],
    [keyOf([p, nextPrime(p + 2n)]), 400],
  ] as const) {
    const answer = await call('POST', 'pki/sign/any', { csr: csrOf(key, 'a.test', names) });
    assert.equal(answer.status, status, answer.text.slice(0, 200));
  }
});

test('a key of 8192 bits is judged while others are answered, a longer one not at all', async () => {
  const primes = Array.from({ length: 8 }, () => newPrime(1024));
  const cases: [string, number][] = [
    [csrOf(keyOf(primes), 'a.test'), 200],
    // The signature is not looked at.
    [csrOf({ ...keyOf([...primes, ...primes]), order: 3n }, 'a.test'), 400],
  ];
  for (const [csr, status] of cases) {
    let answer: Reply | undefined;
    await holdsNobodyUp(async () => {
      answer = await call('POST', 'pki/sign/rsa', { csr });
    });
    assert.equal(answer?.status, status, String(answer?.text.slice(0, 200)));
  }
});

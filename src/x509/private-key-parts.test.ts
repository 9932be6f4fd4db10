import assert from 'node:assert/strict';
import { createECDH, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { encodePem, parsePem } from '../core/pem.ts';
import { bitString, contextPrimitive, octetString, sequence, unsignedInteger } from './der.ts';
import { magnitudeOf, readUnsigned } from './der-primitives.ts';
import { children, readDer } from './der-reader.ts';
import { CURVE_NAME } from './keys.ts';
import { encodeBareEcKey, encodePrivateKey, parsePrivateKey } from './private-keys.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** Numbers of an RSA key in their order, its version first. */
const numbersOf = (key: KeyObject): Uint8Array[] =>
  children(readDer(encodePrivateKey(key, 'traditional').der)).map((part) =>
    Uint8Array.from(readUnsigned(part)),
  );
const pkcs1Of = (numbers: readonly Uint8Array[]): Uint8Array =>
  sequence(...numbers.map((number) => unsignedInteger(number)));
const bytesOf = (number: bigint): Uint8Array => {
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
};

/** Within PKCS #8, with another inside in place of its own. */
const wrapped = (inner: Uint8Array): Uint8Array => {
  const [version, algorithm] = children(readDer(encodePrivateKey(rsa.privateKey, 'pkcs8').der));
  return sequence(
    version?.raw ?? new Uint8Array(0),
    algorithm?.raw ?? new Uint8Array(0),
    octetString(inner),
  );
};

const PARTS: [at: number, what: string, says: RegExp][] = [
  [1, 'modulus', /modulus is not the product of prime1 and prime2/],
  [2, 'publicExponent', /privateExponent is not an inverse of publicExponent/],
  [3, 'privateExponent', /privateExponent is not an inverse of publicExponent/],
  [4, 'prime1', /modulus is not the product of prime1 and prime2/],
  [5, 'prime2', /modulus is not the product of prime1 and prime2/],
  [6, 'exponent1', /exponent1 is not privateExponent modulo prime1 - 1/],
  [7, 'exponent2', /exponent2 is not privateExponent modulo prime2 - 1/],
  [8, 'coefficient', /coefficient is not the inverse of prime2 modulo prime1/],
];
for (const [at, what, says] of PARTS) {
  test(`an RSA key with one bit changed in ${what} is refused in either form, and told by its name`, () => {
    for (const bit of [1, 9]) {
      const numbers = numbersOf(rsa.privateKey);
      const number = numbers[at] ?? new Uint8Array(0);
      const byte = number.length - 1 - (bit >> 3);
      number[byte] = (number[byte] ?? 0) ^ (1 << (bit & 7));
      const der = pkcs1Of(numbers);
      const refusal = { kind: 'invalid', message: says };
      assert.throws(() => parsePrivateKey(encodePem('RSA PRIVATE KEY', der)), refusal);
      assert.throws(() => parsePrivateKey(encodePem('PRIVATE KEY', wrapped(der))), refusal);
    }
  });
}

test('an RSA key whose private exponent is an inverse modulo (p-1)(q-1), or the least one, is taken', () => {
  const numbers = numbersOf(rsa.privateKey);
  const [, , e = 0n, , p = 0n, q = 0n] = numbers.map(magnitudeOf);
  for (const modulus of [(p - 1n) * (q - 1n), lcm(p - 1n, q - 1n)]) {
    numbers[3] = bytesOf(inverse(e, modulus));
    assert.equal(
      parsePrivateKey(encodePem('RSA PRIVATE KEY', pkcs1Of(numbers))).asymmetricKeyType,
      'rsa',
    );
  }
});

function lcm(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y > 0n) [x, y] = [y, x % y];
  return (a / x) * b;
}

function inverse(a: bigint, modulus: bigint): bigint {
  let [r, next, s, t] = [modulus, a % modulus, 0n, 1n];
  while (next > 0n) {
    const quotient = r / next;
    [r, next] = [next, r - quotient * next];
    [s, t] = [t, s - quotient * t];
  }
  return ((s % modulus) + modulus) % modulus;
}

test('an RSA key with primes and coefficients of zero and one is refused', () => {
  for (const at of [4, 5, 8]) {
    for (const small of [0, 1]) {
      const numbers = numbersOf(rsa.privateKey);
      numbers[at] = Uint8Array.of(small);
      const text = encodePem('RSA PRIVATE KEY', pkcs1Of(numbers));
      assert.throws(() => parsePrivateKey(text), /do not go together/);
    }
  }
});

test('an RSA key as long as may be is looked at without delay', async () => {
  const prime = 2n ** 4096n - 3n;
  const modulus = bytesOf(prime * prime);
  const half = bytesOf(prime);
  const e = Uint8Array.of(1, 0, 1);
  const numbers = [Uint8Array.of(0), modulus, e, modulus, half, half, half, half, half];
  const text = encodePem('RSA PRIVATE KEY', pkcs1Of(numbers));
  await spendsAtMost(50, () => {
    assert.throws(() => parsePrivateKey(text), /privateExponent/);
  });
});

for (const bits of [224, 256, 384, 521] as const) {
  test(`P-${bits}: a point that is not that of the private key is refused, in each place and form`, () => {
    const [own, other] = [createECDH(CURVE_NAME[bits]), createECDH(CURVE_NAME[bits])];
    const point = Uint8Array.from(own.generateKeys());
    const foreign = Uint8Array.from(other.generateKeys());
    const secret = new Uint8Array(Math.ceil(bits / 8));
    const number = own.getPrivateKey();
    secret.set(number, secret.length - number.length);
    for (const form of ['traditional', 'pkcs8'] as const) {
      const write = (stated: Uint8Array): string => {
        const { label, der } = encodeBareEcKey({ bits, secret, point: stated }, form);
        return encodePem(label, der);
      };
      assert.equal(parsePrivateKey(write(point)).asymmetricKeyType, 'ec');
      if (bits !== 224) {
        const compressed = Uint8Array.from(own.getPublicKey(null, 'compressed'));
        assert.equal(parsePrivateKey(write(compressed)).asymmetricKeyType, 'ec');
      }
      assert.throws(() => parsePrivateKey(write(foreign)), /does not go with the public key/);
      const notOnCurve = Uint8Array.from(point);
      notOnCurve[9] = (notOnCurve[9] ?? 0) ^ 1;
      assert.throws(() => parsePrivateKey(write(notOnCurve)), { kind: 'invalid' });
    }
    const { der } = encodeBareEcKey({ bits, secret, point }, 'pkcs8');
    assert.equal(parsePrivateKey(beside(der, point)).asymmetricKeyType, 'ec');
    assert.throws(() => parsePrivateKey(beside(der, foreign)), /does not go with the public key/);
  });
}

/** A key in PKCS #8 with a public part beside it (RFC 5958 §2, version 1). */
function beside(der: Uint8Array, stated: Uint8Array): string {
  const [, algorithm, inner] = children(readDer(der));
  const parts = [unsignedInteger(Uint8Array.of(1)), algorithm?.raw, inner?.raw].filter(
    (part) => part !== undefined,
  );
  const { content } = readDer(bitString(stated));
  return encodePem('PRIVATE KEY', sequence(...parts, contextPrimitive(1, content)));
}

test('an Ed25519 key with the public part of another beside it is refused, with its own taken', () => {
  const [own, other] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
  const [block] = parsePem(String(own.privateKey.export({ type: 'pkcs8', format: 'pem' })));
  const stated = (key: KeyObject): Uint8Array =>
    Uint8Array.from(Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url'));
  const der = block?.der ?? new Uint8Array(0);
  const taken = parsePrivateKey(beside(der, stated(own.publicKey)));
  assert.equal(taken.asymmetricKeyType, 'ed25519');
  const forged = beside(der, stated(other.publicKey));
  assert.throws(() => parsePrivateKey(forged), /does not go with the public key/);
});

import { checkPrimeSync, createHash, generatePrimeSync } from 'node:crypto';
import { encodePem } from '../../src/core/pem.ts';
import { assembleSigned } from '../../src/x509/certificate.ts';
import { encodeCsrInfo } from '../../src/x509/csr.ts';
import { bitString, nullValue, oid, sequence, unsignedInteger } from '../../src/x509/der.ts';
import { subjectAltName } from '../../src/x509/extensions.ts';
import { encodeSubject } from '../../src/x509/names.ts';

// RSA of numbers that no library would make a key of, for tests that such keys are refused.

/** What makes a key, whatever its numbers are worth. */
export interface RsaNumbers {
  modulus: bigint;
  exponent: bigint;
  /** Of the multiplicative group modulo the modulus: for two primes (p − 1)(q − 1). */
  order: bigint;
}

export const newPrime = (bits: number): bigint => generatePrimeSync(bits, { bigint: true });

/** The least prime that is not less. */
export function nextPrime(number: bigint): bigint {
  let candidate = number | 1n;
  while (!checkPrimeSync(candidate)) candidate += 2n;
  return candidate;
}

/** A key of distinct primes. */
export function keyOf(primes: readonly bigint[], exponent = 65_537n): RsaNumbers {
  return {
    modulus: primes.reduce((product, prime) => product * prime, 1n),
    exponent,
    order: primes.reduce((product, prime) => product * (prime - 1n), 1n),
  };
}

export function bytesOf(number: bigint): Uint8Array {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 1 ? `0${hex}` : hex, 'hex');
}

/** SubjectPublicKeyInfo, DER. */
export function encodeRsaKey({ modulus, exponent }: RsaNumbers): Uint8Array {
  const numbers = sequence(unsignedInteger(bytesOf(modulus)), unsignedInteger(bytesOf(exponent)));
  return sequence(sequence(oid('1.2.840.113549.1.1.1'), nullValue()), bitString(numbers));
}

export function powerMod(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  let square = base % modulus;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

export function inverse(number: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [number % modulus, modulus, 1n, 0n];
  while (a > 1n) [a, b, x, y] = [b % a, a, y - (b / a) * x, x];
  return ((x % modulus) + modulus) % modulus;
}

/** RSASSA-PKCS1-v1_5 with SHA-256, RFC 8017 §8.2.1. */
function sign({ modulus, exponent, order }: RsaNumbers, data: Uint8Array): Uint8Array {
  const length = bytesOf(modulus).length;
  const digest = Buffer.from(
    `3031300d060960864801650304020105000420${createHash('sha256').update(data).digest('hex')}`,
    'hex',
  );
  const padded = Buffer.concat([
    Buffer.of(0, 1),
    Buffer.alloc(length - digest.length - 3, 0xff),
    Buffer.of(0),
    digest,
  ]);
  const message = BigInt(`0x${padded.toString('hex')}`);
  const signature = powerMod(message, inverse(exponent, order), modulus);
  return Buffer.from(signature.toString(16).padStart(length * 2, '0'), 'hex');
}

const NO_NAMES = { email: [], ip: [], uri: [], other: [] };

/** A request that proves possession of the key, as PEM. */
export function csrOf(key: RsaNumbers, common_name: string, dns: readonly string[] = []): string {
  const info = encodeCsrInfo({
    subject: encodeSubject({ common_name }),
    subjectPublicKeyInfo: encodeRsaKey(key),
    extensions: dns.length > 0 ? [subjectAltName({ ...NO_NAMES, dns }, false)] : [],
  });
  return encodePem('CERTIFICATE REQUEST', assembleSigned(info, 'SHA256WithRSA', sign(key, info)));
}

/** The product of the first primes. */
function primorial(count: number): bigint {
  let product = 1n;
  for (let prime = 2, found = 0; found < count; prime += 1) {
    if (product % BigInt(prime) !== 0n && checkPrimeSync(BigInt(prime))) {
      product *= BigInt(prime);
      found += 1;
    }
  }
  return product;
}

/**
 * A prime of the form k · M + base^power mod M, M the product of the first 126 primes: with base 65537
 * that of the library of CVE-2017-15361 for keys of 2048 bits.
 */
export function structuredPrime(base: bigint, power: bigint): bigint {
  const product = primorial(126);
  const rest = powerMod(base, power, product);
  let candidate = ((1n << 1023n) / product + power) * product + rest;
  while (!checkPrimeSync(candidate)) candidate += product;
  return candidate;
}

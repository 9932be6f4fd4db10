import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { encodePublicKey, parsePublicKey } from './public-key.ts';
import { encodeMpint, encodeString, WireReader } from './wire.ts';

const rsa = encodePublicKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey).blob;
const ec = encodePublicKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey).blob;
const ed25519 = encodePublicKey(generateKeyPairSync('ed25519').publicKey).blob;

const wire = new WireReader(rsa);
wire.string();
const [e, n] = [wire.mpint(), wire.mpint()];
/** An RSA key whose numbers are as they are told. */
const rsaOf = (exponent: Buffer, modulus: Buffer): Buffer =>
  Buffer.concat([encodeString('ssh-rsa'), exponent, modulus]);
/** A number with so many zeros before it. */
const padded = (number: Buffer, zeros: number): Buffer =>
  encodeString(Buffer.concat([Buffer.alloc(zeros), number]));

const cases: [blob: Buffer, isKey: boolean, why: string][] = [
  [rsa, true, 'RSA'],
  [ec, true, 'ECDSA'],
  [ed25519, true, 'Ed25519'],
  [rsaOf(padded(e, 0), padded(n, 1)), true, 'numbers as short as they can be'],
  [rsaOf(padded(e, 1), padded(n, 1)), false, 'an exponent with a zero before it'],
  [rsaOf(padded(e, 0), padded(n, 2)), false, 'a modulus with one zero too many'],
  [rsaOf(padded(e, 0), padded(n, 0)), false, 'a modulus that would be negative'],
  [rsaOf(encodeMpint(Buffer.of(0)), padded(n, 1)), false, 'no exponent'],
  [rsaOf(padded(e, 0), encodeMpint(n.subarray(1))), false, 'a modulus of less than 2048 bits'],
  [Buffer.concat([ed25519, Buffer.of(0)]), false, 'something behind it'],
  [ed25519.subarray(0, -1), false, 'one byte too few'],
];

for (const [blob, isKey, why] of cases) {
  test(`a public key is ${isKey ? '' : 'not '}read: ${why}`, () => {
    const read = parsePublicKey(blob);
    assert.equal(read !== undefined, isKey);
    if (read) assert.deepEqual(encodePublicKey(read.key).blob, blob);
  });
}

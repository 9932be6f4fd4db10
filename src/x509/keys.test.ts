import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import {
  bitString,
  integer,
  nullValue,
  octetString,
  oid,
  sequence,
  unsignedInteger,
} from './der.ts';
import { judgeKeyParameters } from './key-sizes.ts';
import {
  CURVE_NAME,
  describePublicKey,
  keyIdentifier,
  parsePublicKey,
  publicKeyInfo,
} from './keys.ts';
import { CURVE_OID, KEY_OID } from './oids.ts';

const refused = { kind: 'invalid' };

const pairs = [
  { key_type: 'rsa', key_bits: 2048, pair: generateKeyPairSync('rsa', { modulusLength: 2048 }) },
  { key_type: 'rsa', key_bits: 1024, pair: generateKeyPairSync('rsa', { modulusLength: 1024 }) },
  ...([224, 256, 384, 521] as const).map((key_bits) => ({
    key_type: 'ec',
    key_bits,
    pair: generateKeyPairSync('ec', { namedCurve: CURVE_NAME[key_bits] }),
  })),
  { key_type: 'ed25519', key_bits: 0, pair: generateKeyPairSync('ed25519') },
];
for (const { key_type, key_bits, pair } of pairs) {
  const exported = pair.publicKey.export({ type: 'spki', format: 'der' });

  test(`a ${key_type} key of ${key_bits} bits is written as the library writes it, and described`, () => {
    assert.deepEqual(Buffer.from(publicKeyInfo(pair.publicKey)), exported);
    assert.deepEqual(Buffer.from(publicKeyInfo(pair.privateKey)), exported);
    assert.deepEqual(describePublicKey(exported), { key_type, key_bits });
    assert.equal(parsePublicKey(exported).equals(pair.publicKey), true);
  });
}

test('the key identifier is SHA-1 over the bits of the key alone (RFC 5280 §4.2.1.2)', () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const expected = createHash('sha1').update(spki.subarray(-65)).digest('hex');
  assert.equal(Buffer.from(keyIdentifier(spki)).toString('hex'), expected);
});

const NULL = nullValue();
const p256 = sequence(oid(KEY_OID.ecPublicKey), oid(CURVE_OID[256]));
const rsaInfo = (modulus: Uint8Array, exponent: Uint8Array): Uint8Array =>
  sequence(sequence(oid(KEY_OID.rsaEncryption), NULL), bitString(sequence(modulus, exponent)));
const modulus = (bytes: number, last = 1): Uint8Array => {
  const magnitude = new Uint8Array(bytes).fill(0xff);
  magnitude[bytes - 1] = last;
  return unsignedInteger(magnitude);
};

const infos: [what: string, info: Uint8Array][] = [
  [
    'an RSA key without parameters',
    sequence(sequence(oid(KEY_OID.rsaEncryption)), bitString(sequence(modulus(256), integer(3)))),
  ],
  ['an even modulus', rsaInfo(modulus(256, 2), integer(65537))],
  ['an even exponent', rsaInfo(modulus(256), integer(65536))],
  ['the exponent 1', rsaInfo(modulus(256), integer(1))],
  ['an exponent of 33 bits', rsaInfo(modulus(256), integer(2 ** 32 + 1))],
  ['a negative modulus', rsaInfo(integer(-5), integer(3))],
  [
    'a modulus of 511 bits',
    rsaInfo(unsignedInteger(Uint8Array.of(0x7f, ...new Uint8Array(63).fill(0xff))), integer(3)),
  ],
  ['a modulus of 16,392 bits', rsaInfo(modulus(2049), integer(3))],
  [
    'bytes after the RSA key',
    sequence(
      sequence(oid(KEY_OID.rsaEncryption), NULL),
      bitString(Buffer.concat([sequence(modulus(256), integer(3)), NULL])),
    ),
  ],
  [
    'an RSA-PSS key',
    sequence(sequence(oid('1.2.840.113549.1.1.10')), bitString(sequence(modulus(256), integer(3)))),
  ],
  [
    'the curve secp256k1',
    sequence(
      sequence(oid(KEY_OID.ecPublicKey), oid('1.3.132.0.10')),
      bitString(new Uint8Array(65).fill(4)),
    ),
  ],
  [
    'a curve given by its numbers',
    sequence(
      sequence(oid(KEY_OID.ecPublicKey), sequence(integer(1))),
      bitString(new Uint8Array(65).fill(4)),
    ),
  ],
  [
    'no curve at all',
    sequence(sequence(oid(KEY_OID.ecPublicKey)), bitString(new Uint8Array(65).fill(4))),
  ],
  ['a compressed point', sequence(p256, bitString(Uint8Array.of(2, ...new Uint8Array(32))))],
  ['the point at infinity', sequence(p256, bitString(Uint8Array.of(0)))],
  ['a point that is too short', sequence(p256, bitString(new Uint8Array(64).fill(4)))],
  [
    'an Ed25519 key of 31 bytes',
    sequence(sequence(oid(KEY_OID.ed25519)), bitString(new Uint8Array(31))),
  ],
  [
    'an Ed25519 key with parameters',
    sequence(sequence(oid(KEY_OID.ed25519), NULL), bitString(new Uint8Array(32))),
  ],
  ['a DSA key', sequence(sequence(oid('1.2.840.10040.4.1')), bitString(integer(5)))],
  ['bits that are no whole bytes', sequence(p256, bitString(new Uint8Array(65).fill(4), 1))],
  ['no public key at all', octetString(new Uint8Array(3))],
  ['nothing', new Uint8Array(0)],
];
for (const [what, info] of infos) {
  test(`${what} is refused`, () => {
    assert.throws(() => describePublicKey(info), refused);
    assert.throws(() => parsePublicKey(info), refused);
  });
}

test('a point beside its curve is described, and refused when it is to be used', () => {
  const info = sequence(p256, bitString(new Uint8Array(65).fill(4)));
  assert.deepEqual(describePublicKey(info), { key_type: 'ec', key_bits: 256 });
  assert.throws(() => parsePublicKey(info), refused);
});

const parameters: [key_type: string, key_bits: number, result: number | RegExp][] = [
  ['rsa', 0, 2048],
  ['rsa', 2048, 2048],
  ['rsa', 3072, 3072],
  ['rsa', 4096, 4096],
  ['rsa', 8192, 8192],
  ['rsa', 1024, /^RSA keys < 2048 bits are unsafe and not supported: got 1024$/],
  ['rsa', 2047, /RSA keys < 2048 bits/],
  ['rsa', 2560, /^unsupported bit length for RSA key: 2560/],
  ['rsa', -1, /RSA keys < 2048 bits/],
  ['ec', 0, 256],
  ['ec', 224, 224],
  ['ec', 521, 521],
  ['ec', 255, /^unsupported bit length for EC key: 255/],
  ['ec', 2048, /^unsupported bit length for EC key: 2048/],
  ['ed25519', 0, 0],
  ['ed25519', 2048, 0],
  ['RSA', 0, /^unknown key type "RSA"/],
  ['any', 0, /^unknown key type "any"/],
  ['', 0, /^unknown key type ""/],
];
for (const [key_type, key_bits, result] of parameters) {
  test(`a key of type "${key_type}" with ${key_bits} bits: ${result}`, () => {
    const verdict = judgeKeyParameters(key_type, key_bits);
    if (verdict.allowed) assert.equal(verdict.key_bits, result);
    else assert.match(verdict.because, result instanceof RegExp ? result : /^$/);
  });
}

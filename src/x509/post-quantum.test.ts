import assert from 'node:assert/strict';
import { generateKeyPairSync, hash, type KeyObject, verify as verifyBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { encodePem, parsePem } from '../core/pem.ts';
import {
  algorithmIdentifier,
  chooseSignatureAlgorithm,
  fitsKey,
  isCheap,
  parseAlgorithmIdentifier,
  signAsync,
  verify,
  verifyAsync,
} from './algorithms.ts';
import { isSelfSigned, isSignedBy, parseCertificate } from './certificate.ts';
import { bitString, integer, nullValue, octetString, oid, sequence } from './der.ts';
import { readDer } from './der-reader.ts';
import { judgeKeyParameters } from './key-sizes.ts';
import { describePublicKey, parsePublicKey, publicKeyInfo } from './keys.ts';
import { PARAMETER_SETS, type ParameterSet } from './post-quantum.ts';
import { encodePrivateKey, parsePrivateKey, provePair } from './private-keys.ts';
import { isLong, signatureRoom } from './signature-costs.ts';
import { judgePublicKey } from './weak-keys.ts';

const refused = { kind: 'invalid' };
const data = Buffer.from('data');

function makePair({ library_type }: ParameterSet): { privateKey: KeyObject; publicKey: KeyObject } {
  switch (library_type) {
    case 'ml-dsa-44':
    case 'ml-dsa-65':
    case 'ml-dsa-87':
      return generateKeyPairSync(library_type);
    default:
      return generateKeyPairSync(library_type);
  }
}

/** id-ml-dsa-44 is 2.16.840.1.101.3.4.3.17, and the others follow: RFC 9881 §2, RFC 9909 §3. */
const FIRST_ARC = 17;

for (const [at, set] of PARAMETER_SETS.entries()) {
  const { name, algorithm, key_type, key_bits } = set;
  const { privateKey, publicKey } = makePair(set);
  const info = publicKeyInfo(publicKey);

  test(`${name} has an identifier without parameters, and keys as the library writes them`, () => {
    const arc = (FIRST_ARC + at).toString(16).padStart(2, '0');
    const hex = `300b06096086480165030403${arc}`;
    assert.equal(Buffer.from(algorithmIdentifier(algorithm)).toString('hex'), hex);
    assert.equal(parseAlgorithmIdentifier(readDer(Buffer.from(hex, 'hex'))), algorithm);
    const withNull = sequence(oid(set.oid), nullValue());
    assert.equal(parseAlgorithmIdentifier(readDer(withNull)), undefined);
    assert.deepEqual(Buffer.from(info), publicKey.export({ type: 'spki', format: 'der' }));
    assert.deepEqual(Buffer.from(publicKeyInfo(privateKey)), Buffer.from(info));
    assert.deepEqual(describePublicKey(info), { key_type, key_bits });
    assert.ok(parsePublicKey(info).equals(publicKey));
    assert.deepEqual(judgePublicKey(info), { sound: true });
    assert.equal(judgeKeyParameters(key_type, key_bits).allowed, true);
    assert.equal(chooseSignatureAlgorithm({ key_type, key_bits, use_pss: true }), algorithm);
    assert.equal(isCheap({ key_type, key_bits }), false);
    for (const other of PARAMETER_SETS) {
      assert.equal(fitsKey(other.algorithm, { key_type, key_bits }), other === set, other.name);
    }
  });

  test(`a ${name} key that is too long, too short or has parameters is refused`, () => {
    const key = (length: number) =>
      sequence(sequence(oid(set.oid)), bitString(new Uint8Array(length).fill(1)));
    assert.deepEqual(describePublicKey(key(set.public_bytes)), { key_type, key_bits });
    for (const info of [
      key(set.public_bytes - 1),
      key(set.public_bytes + 1),
      key(0),
      sequence(sequence(oid(set.oid), nullValue()), bitString(new Uint8Array(set.public_bytes))),
    ]) {
      assert.throws(() => describePublicKey(info), refused);
      assert.throws(() => parsePublicKey(info), refused);
    }
  });

  test(`a private key of ${name} has one form, which is read back`, () => {
    const { label, der } = encodePrivateKey(privateKey, 'traditional');
    assert.equal(label, 'PRIVATE KEY');
    assert.deepEqual(der, encodePrivateKey(privateKey, 'pkcs8').der);
    assert.ok(parsePrivateKey(encodePem(label, der)).equals(privateKey));
    // RFC 9881 §6: an ML-DSA key is its seed of 32 bytes; RFC 9909: four numbers of SLH-DSA.
    const secret = key_type === 'mldsa' ? 2 + 32 : 2 * set.public_bytes;
    assert.ok(der.length < secret + 24, `${der.length} bytes`);
  });

  // The small signatures of SLH-DSA take up to a second each; one of them stands for all.
  if (isLong({ key_type, key_bits }) && name !== 'SLH-DSA-SHA2-128s') continue;
  test(`${name} signs, and only the key and the bytes that it signed are right`, async () => {
    const signature = await signAsync(privateKey, algorithm, data);
    assert.equal(signature.length, set.signature_bytes);
    assert.ok(sequence(oid(set.oid)).length + 16 + signature.length < signatureRoom(algorithm));
    // Pure, with an empty context: as the library has it, unless told otherwise.
    assert.equal(verifyBytes(null, data, publicKey, signature), true);
    assert.equal(verify(publicKey, algorithm, data, signature), true);
    assert.equal(await verifyAsync(publicKey, algorithm, data, signature), true);
    assert.equal(verify(publicKey, algorithm, Buffer.from('Data'), signature), false);
    assert.equal(verify(publicKey, algorithm, data, signature.subarray(1)), false);
    assert.equal(verify(publicKey, algorithm, data, Buffer.concat([signature, data])), false);
    assert.equal(verify(makePair(set).publicKey, algorithm, data, signature), false);
    for (const other of PARAMETER_SETS.filter((one) => one !== set)) {
      assert.equal(verify(publicKey, other.algorithm, data, signature), false);
      await assert.rejects(signAsync(privateKey, other.algorithm, data));
    }
    assert.equal(await provePair(privateKey, info), true);
    assert.equal(await provePair(privateKey, publicKeyInfo(makePair(set).publicKey)), false);
  });
}

const sizes: [key_type: string, key_bits: number, result: number | RegExp][] = [
  ['mldsa', 0, 65],
  ['mldsa', 44, 44],
  ['mldsa', 87, 87],
  ['mldsa', 2048, /^unsupported bit length for mldsa key: 2048; key_bits may be 44, 65, 87$/],
  ['mldsa', -1, /^unsupported bit length/],
  ['slhdsa-sha2-s', 0, 128],
  ['slhdsa-shake-f', 256, 256],
  ['slhdsa-sha2-f', 65, /key_bits may be 128, 192, 256$/],
  [
    'slhdsa',
    128,
    /^unknown key type "slhdsa"; key_type may be rsa, ec, ed25519, mldsa, slhdsa-sha2-s/,
  ],
  ['ml-dsa-65', 0, /^unknown key type/],
];
for (const [key_type, key_bits, result] of sizes) {
  test(`a key of type "${key_type}" with ${key_bits} bits: ${result}`, () => {
    const verdict = judgeKeyParameters(key_type, key_bits);
    if (verdict.allowed) assert.equal(verdict.key_bits, result);
    else assert.match(verdict.because, result instanceof RegExp ? result : /^$/);
  });
}

const example = (name: string): string =>
  readFileSync(new URL(`../../test/vectors/rfc-9881/${name}`, import.meta.url), 'utf8');

for (const bits of [44, 65, 87]) {
  const certificate = parseCertificate(parsePem(example(`ML-DSA-${bits}.crt`))[0]?.der ?? data);

  test(`the ML-DSA-${bits} certificate of RFC 9881, appendix C, is read, and signed by itself`, () => {
    const { subjectPublicKeyInfo, signatureAlgorithm } = certificate;
    assert.deepEqual(describePublicKey(subjectPublicKeyInfo), {
      key_type: 'mldsa',
      key_bits: bits,
    });
    assert.equal(signatureAlgorithm, `MLDSA${bits}`);
    assert.equal(isSelfSigned(certificate), true);
    const tbs = Uint8Array.from(certificate.tbs);
    tbs[tbs.length - 1] = 1 ^ (tbs[tbs.length - 1] ?? 0);
    assert.equal(isSignedBy({ ...certificate, tbs }, subjectPublicKeyInfo), false);
  });

  for (const form of ['seed', 'expanded', ...(bits === 44 ? ['both'] : [])]) {
    test(`the ML-DSA-${bits} key of RFC 9881, appendix C, is read as ${form}`, async () => {
      const key = parsePrivateKey(example(`ML-DSA-${bits}-${form}.priv`));
      const info = publicKeyInfo(key);
      assert.deepEqual(Buffer.from(info), Buffer.from(certificate.subjectPublicKeyInfo));
      assert.equal(await provePair(key, info), true);
    });
  }
}

for (const example_number of [1, 2, 3]) {
  test(`the ML-DSA key ${example_number} of RFC 9881, appendix C.4, is refused: its parts do not go together`, () => {
    assert.throws(() => parsePrivateKey(example(`bad-ML-DSA-44-${example_number}.priv`)), refused);
  });
}

const oidOf = (name: string): string =>
  PARAMETER_SETS.find((set) => set.name === name)?.oid ?? assert.fail(name);
const pkcs8 = (name: string, inner: Uint8Array, ...more: Uint8Array[]): string =>
  encodePem(
    'PRIVATE KEY',
    sequence(integer(0), sequence(oid(oidOf(name)), ...more), octetString(inner)),
  );
const seedForm = (bytes: number): Uint8Array =>
  Uint8Array.of(0x80, bytes, ...Buffer.alloc(bytes, 7));

const misshapen: [what: string, pem: string][] = [
  ['a seed of 31 bytes', pkcs8('ML-DSA-65', seedForm(31))],
  ['a seed of 33 bytes', pkcs8('ML-DSA-65', seedForm(33))],
  ['a bare seed', pkcs8('ML-DSA-65', new Uint8Array(32))],
  ['a seed with parameters', pkcs8('ML-DSA-65', seedForm(32), nullValue())],
  ['an expanded key of another size', pkcs8('ML-DSA-65', octetString(new Uint8Array(2_560)))],
  ['nothing in both', pkcs8('ML-DSA-44', sequence())],
  [
    'three in both',
    pkcs8(
      'ML-DSA-44',
      sequence(octetString(data), octetString(new Uint8Array(2_560)), octetString(data)),
    ),
  ],
  ['bytes after the seed', pkcs8('ML-DSA-65', Buffer.concat([seedForm(32), nullValue()]))],
  ['a short key of SLH-DSA', pkcs8('SLH-DSA-SHA2-128s', new Uint8Array(63).fill(1))],
  ['a long key of SLH-DSA', pkcs8('SLH-DSA-SHA2-128s', new Uint8Array(65).fill(1))],
  ['a wrapped key of SLH-DSA', pkcs8('SLH-DSA-SHA2-128s', octetString(new Uint8Array(64)))],
  [
    'a key of HashML-DSA',
    encodePem(
      'PRIVATE KEY',
      sequence(integer(0), sequence(oid('2.16.840.1.101.3.4.3.32')), octetString(seedForm(32))),
    ),
  ],
];
for (const [what, pem] of misshapen) {
  test(`${what} is refused as a private key`, () => {
    assert.throws(() => parsePrivateKey(pem), refused);
  });
}

test('anybody can sign for an ML-DSA key whose t1 is zero, so that none is certified', () => {
  // FIPS 204, algorithm 8: with z = 0 and no hints, w1 is zero whatever the challenge is.
  const encoded = Buffer.concat([Buffer.alloc(32, 5), Buffer.alloc(1_312 - 32)]);
  const info = sequence(sequence(oid(oidOf('ML-DSA-44'))), bitString(encoded));
  const shake = (length: number, ...parts: Uint8Array[]): Buffer =>
    hash('shake256', Buffer.concat(parts), { outputEncoding: 'buffer', outputLength: length });
  const mu = shake(64, shake(64, encoded), Uint8Array.of(0, 0), data);
  const challenge = shake(32, mu, Buffer.alloc(4 * 192));
  // Each coefficient is written as γ1 less itself in 18 bits, γ1 being 2^17.
  const bits = Array.from({ length: 4 * 256 }, () => `${'0'.repeat(17)}1`).join('');
  const z = Buffer.from(
    (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt([...byte].reverse().join(''), 2)),
  );
  const forged = Buffer.concat([challenge, z, Buffer.alloc(80 + 4)]);
  assert.equal(verify(parsePublicKey(info), 'MLDSA44', data, forged), true);
  const verdict = judgePublicKey(info);
  assert.match(verdict.sound ? '' : verdict.because, /anybody can sign for it/);
});

test('only signatures of tenths of a second and more are long', () => {
  const long = PARAMETER_SETS.filter(isLong).map(({ name }) => name.slice('SLH-DSA-'.length));
  assert.deepEqual(long, [
    'SHA2-128s',
    'SHA2-192s',
    'SHA2-256s',
    'SHAKE-128s',
    'SHAKE-192s',
    'SHAKE-256s',
    'SHAKE-256f',
  ]);
  assert.equal(isLong({ key_type: 'rsa', key_bits: 8192 }), false);
  assert.equal(isLong({ key_type: 'ed25519', key_bits: 0 }), false);
});

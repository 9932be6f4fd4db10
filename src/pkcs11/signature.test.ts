import assert from 'node:assert/strict';
import { constants, generateKeyPairSync, privateEncrypt, sign } from 'node:crypto';
import { test } from 'node:test';
import { verify } from '../x509/algorithms.ts';
import { octetString } from '../x509/der.ts';
import { publicKeyInfo } from '../x509/keys.ts';
import type { PublicAttributes } from './orders.ts';
import { publicKeyInfoOf } from './public-key.ts';
import { encodeSignature, prepareSignature } from './signature.ts';

const DATA = Buffer.from('what is signed');

test('what a token pads itself is a DigestInfo, and verifies as PKCS #1 v1.5', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  for (const name of ['SHA256WithRSA', 'SHA384WithRSA', 'SHA512WithRSA'] as const) {
    const { mechanism, data } = prepareSignature(name, DATA);
    assert.deepEqual(mechanism, { name: 'RSA_PKCS' });
    const padding = constants.RSA_PKCS1_PADDING;
    const signature = encodeSignature(
      mechanism,
      privateEncrypt({ key: privateKey, padding }, data),
    );
    assert.ok(verify(publicKey, name, DATA, signature), name);
  }
});

test('r and s side by side become their SEQUENCE, also where one begins with zeros', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
  let seen = false;
  for (let tries = 0; tries < 2_000 && !seen; tries += 1) {
    const raw = sign('sha384', DATA, { key: privateKey, dsaEncoding: 'ieee-p1363' });
    seen = raw[0] === 0 || raw[48] === 0;
    const encoded = encodeSignature({ name: 'ECDSA' }, raw);
    assert.ok(verify(publicKey, 'ECDSAWithSHA384', DATA, encoded));
  }
  assert.ok(seen);
});

test('PSS tells the token hash and salt, and Ed25519 gives it the whole', () => {
  assert.deepEqual(prepareSignature('SHA512WithRSAPSS', DATA).mechanism, {
    name: 'RSA_PKCS_PSS',
    hash: 'sha512',
    salt: 64,
  });
  assert.deepEqual(prepareSignature('PureEd25519', DATA), {
    mechanism: { name: 'EDDSA' },
    data: DATA,
  });
});

const bytesOf = (text: string | undefined): Uint8Array => Buffer.from(text ?? '', 'base64url');
const P256 = Buffer.from('06082a8648ce3d030107', 'hex');

test('public keys are read from what tokens tell, the point wrapped or bare', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
  const { n, e } = rsa.export({ format: 'jwk' });
  const told: [PublicAttributes, Uint8Array][] = [
    [{ key_type: 'rsa', modulus: bytesOf(n), exponent: bytesOf(e) }, publicKeyInfo(rsa)],
  ];
  // One in 256 bare points has a second byte that reads as its length.
  for (let at = 0; at < 600; at += 1) {
    const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey;
    const { x, y } = ec.export({ format: 'jwk' });
    const point = Buffer.concat([Uint8Array.of(4), bytesOf(x), bytesOf(y)]);
    for (const ecPoint of [point, octetString(point)]) {
      told.push([{ key_type: 'ec', ecParams: P256, ecPoint }, publicKeyInfo(ec)]);
    }
  }
  const ed = generateKeyPairSync('ed25519').publicKey;
  const point = bytesOf(ed.export({ format: 'jwk' }).x);
  for (const ecPoint of [point, octetString(point)]) {
    told.push([{ key_type: 'ed25519', ecParams: P256, ecPoint }, publicKeyInfo(ed)]);
  }
  for (const [attributes, info] of told) {
    assert.deepEqual(Buffer.from(publicKeyInfoOf(attributes)), Buffer.from(info));
  }
});

const unusable: [what: string, told: PublicAttributes][] = [
  ['a point off its curve', { key_type: 'ec', ecParams: P256, ecPoint: Buffer.alloc(65, 4) }],
  ['no point', { key_type: 'ec', ecParams: P256, ecPoint: new Uint8Array(0) }],
  [
    'another curve',
    {
      key_type: 'ec',
      ecParams: Buffer.from('06052b8104000a', 'hex'),
      ecPoint: Buffer.alloc(65, 4),
    },
  ],
  ['no OID', { key_type: 'ec', ecParams: Buffer.from('1300', 'hex'), ecPoint: Buffer.alloc(65) }],
  ['a short modulus', { key_type: 'rsa', modulus: Uint8Array.of(3), exponent: Uint8Array.of(3) }],
  ['half a point', { key_type: 'ed25519', ecParams: P256, ecPoint: Buffer.alloc(16, 1) }],
];
for (const [what, told] of unusable) {
  test(`a key of a token is refused with ${what}`, () => {
    assert.throws(() => publicKeyInfoOf(told), { refusal: 'key' });
  });
}

import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { encodePem } from '../core/pem.ts';
import { integer, octetString, oid, sequence, unsignedInteger } from './der.ts';
import { children, DerFields, readDer } from './der-reader.ts';
import { CURVE_NAME, publicKeyInfo } from './keys.ts';
import { KEY_OID } from './oids.ts';
import { encodePrivateKey, exportPrivateKey, parsePrivateKey, provePair } from './private-keys.ts';

const refused = { kind: 'invalid' };
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed25519 = generateKeyPairSync('ed25519');
const p256 = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

const keys: [what: string, key: KeyObject, label: string, type: 'pkcs1' | 'sec1' | 'pkcs8'][] = [
  ['RSA', rsa.privateKey, 'RSA PRIVATE KEY', 'pkcs1'],
  ['Ed25519', ed25519.privateKey, 'PRIVATE KEY', 'pkcs8'],
  ...([224, 256, 384, 521] as const).map((bits): [string, KeyObject, string, 'sec1'] => [
    `P-${bits}`,
    generateKeyPairSync('ec', { namedCurve: CURVE_NAME[bits] }).privateKey,
    'EC PRIVATE KEY',
    'sec1',
  ]),
];
for (const [what, key, label, type] of keys) {
  test(`${what}: the traditional form is ${label}, the other PRIVATE KEY, both as the library writes them`, () => {
    const traditional = encodePrivateKey(key, 'traditional');
    assert.equal(traditional.label, label);
    const exported =
      type === 'pkcs1'
        ? key.export({ type: 'pkcs1', format: 'der' })
        : key.export({ type, format: 'der' });
    assert.deepEqual(Buffer.from(traditional.der), exported);
    const pkcs8 = encodePrivateKey(key, 'pkcs8');
    assert.equal(pkcs8.label, 'PRIVATE KEY');
    assert.deepEqual(Buffer.from(pkcs8.der), key.export({ type: 'pkcs8', format: 'der' }));
  });

  test(`${what}: both forms read back as the same key`, () => {
    for (const form of ['traditional', 'pkcs8'] as const) {
      const pem = exportPrivateKey(key, form, 'pem');
      assert.match(pem, /-----END [A-Z ]+-----$/);
      assert.equal(parsePrivateKey(pem).equals(key), true);
      assert.deepEqual(exportPrivateKey(key, form, 'der'), encodePrivateKey(key, form).der);
    }
  });
}

test('a key on P-521 whose numbers begin with zeros keeps their full length', () => {
  for (let round = 0; round < 20; round++) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp521r1' });
    const expected = privateKey.export({ type: 'sec1', format: 'der' });
    assert.deepEqual(Buffer.from(encodePrivateKey(privateKey, 'traditional').der), expected);
  }
});

const pem = exportPrivateKey(p256.privateKey, 'traditional', 'pem');
const encrypted = p256.privateKey.export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'x',
});
const relabelled = (label: string, key: KeyObject): string =>
  encodePem(label, encodePrivateKey(key, 'pkcs8').der);
const rsaParts = (change: (parts: Uint8Array[]) => void): string => {
  const parts = children(readDer(encodePrivateKey(rsa.privateKey, 'traditional').der)).map(
    (part) => part.raw,
  );
  change(parts);
  return encodePem('RSA PRIVATE KEY', sequence(...parts));
};

const texts: [what: string, text: string, accepted: boolean][] = [
  [
    'parameters before the key',
    `${encodePem('EC PARAMETERS', oid('1.2.840.10045.3.1.7'))}\n${pem}`,
    true,
  ],
  ['one key', pem, true],
  ['two keys', `${pem}\n${pem}`, false],
  ['no key', 'no PEM at all', false],
  ['a certificate', encodePem('CERTIFICATE', sequence()), false],
  ['a public key', p256.publicKey.export({ type: 'spki', format: 'pem' }).toString(), false],
  ['an encrypted key', encrypted.toString(), false],
  ['PKCS #8 labelled as SEC 1', relabelled('EC PRIVATE KEY', p256.privateKey), false],
  ['PKCS #8 labelled as PKCS #1', relabelled('RSA PRIVATE KEY', rsa.privateKey), false],
  [
    'a key on secp256k1',
    generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
      .privateKey.export({ type: 'sec1', format: 'pem' })
      .toString(),
    false,
  ],
  [
    'an X25519 key',
    generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    false,
  ],
  [
    'an RSA-PSS key',
    generateKeyPairSync('rsa-pss', { modulusLength: 2048 })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString(),
    false,
  ],
  ['the RSA key as it is', rsaParts(() => {}), true],
  [
    'an RSA key with a private exponent longer than its modulus',
    rsaParts((parts) => {
      parts[3] = unsignedInteger(new Uint8Array(300).fill(1));
    }),
    false,
  ],
  [
    'an RSA key with a prime longer than it can be',
    rsaParts((parts) => {
      parts[4] = unsignedInteger(new Uint8Array(200).fill(1));
    }),
    false,
  ],
  [
    'an RSA key of many primes',
    rsaParts((parts) => {
      parts[0] = integer(1);
    }),
    false,
  ],
  [
    'an RSA key with a part missing',
    rsaParts((parts) => {
      parts.pop();
    }),
    false,
  ],
];
for (const [what, text, accepted] of texts) {
  test(`${what}: ${accepted ? 'accepted' : 'refused'}`, () => {
    if (accepted) assert.equal(parsePrivateKey(text).type, 'private');
    else assert.throws(() => parsePrivateKey(text), refused);
  });
}

test('a refusal does not quote the key', () => {
  const secret = Buffer.from('a secret of thirty-two bytes....');
  const broken = encodePem(
    'PRIVATE KEY',
    sequence(
      integer(0),
      sequence(oid(KEY_OID.ed25519)),
      octetString(octetString(secret.subarray(1))),
    ),
  );
  assert.throws(
    () => parsePrivateKey(broken),
    (error: Error) =>
      !JSON.stringify([error.message, error.cause, error.stack]).includes('secret of'),
  );
});

test('a private key is the pair of its own public key and of no other', async () => {
  for (const { privateKey, publicKey } of [rsa, ed25519, p256]) {
    assert.equal(await provePair(privateKey, publicKeyInfo(publicKey)), true);
  }
  const other = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  assert.equal(await provePair(other.privateKey, publicKeyInfo(p256.publicKey)), false);
  assert.equal(await provePair(other.privateKey, publicKeyInfo(rsa.publicKey)), false);
});

test("somebody's public numbers beside another secret are no proof of possession", async () => {
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const own = new DerFields(readDer(encodePrivateKey(other.privateKey, 'traditional').der));
  const ownParts: Uint8Array[] = [];
  while (own.tag !== undefined) ownParts.push(own.take().raw);
  const forged = rsaParts((parts) => {
    // Modulus and public exponent stay the victim's.
    for (let at = 3; at < parts.length; at++) parts[at] = ownParts[at] ?? new Uint8Array(0);
  });
  let key: KeyObject | undefined;
  try {
    key = parsePrivateKey(forged);
  } catch {
    return;
  }
  assert.equal(await provePair(key, publicKeyInfo(rsa.publicKey)), false);
});

test('a curve key with the public point of another is no proof of possession', async () => {
  const other = encodePrivateKey(
    generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey,
    'traditional',
  );
  const victim = encodePrivateKey(p256.privateKey, 'traditional');
  const forged = Buffer.from(other.der);
  forged.set(victim.der.subarray(-65), forged.length - 65);
  let key: KeyObject | undefined;
  try {
    key = parsePrivateKey(encodePem('EC PRIVATE KEY', forged));
  } catch {
    return;
  }
  assert.equal(await provePair(key, publicKeyInfo(p256.publicKey)), false);
});

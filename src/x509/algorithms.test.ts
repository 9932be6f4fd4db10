import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import {
  algorithmIdentifier,
  chooseSignatureAlgorithm,
  findSignatureAlgorithm,
  fitsKey,
  isCheap,
  parseAlgorithmIdentifier,
  SIGNATURE_ALGORITHMS,
  type SignatureAlgorithm,
  type SignaturePreferences,
  signAsync,
  signSync,
  verify,
  verifyAsync,
  withoutPss,
} from './algorithms.ts';
import { readDer } from './der-reader.ts';
import { describePublicKey, publicKeyInfo } from './keys.ts';

const encodings: [name: SignatureAlgorithm, hex: string, source: string][] = [
  ['SHA256WithRSA', '300d06092a864886f70d01010b0500', 'RFC 4055 §5'],
  ['SHA384WithRSA', '300d06092a864886f70d01010c0500', 'RFC 4055 §5'],
  ['SHA512WithRSA', '300d06092a864886f70d01010d0500', 'RFC 4055 §5'],
  ['ECDSAWithSHA256', '300a06082a8648ce3d040302', 'RFC 5758 §3.2'],
  ['ECDSAWithSHA384', '300a06082a8648ce3d040303', 'RFC 5758 §3.2'],
  ['ECDSAWithSHA512', '300a06082a8648ce3d040304', 'RFC 5758 §3.2'],
  ['PureEd25519', '300506032b6570', 'RFC 8410 §3'],
  [
    'SHA256WithRSAPSS',
    '304106092a864886f70d01010a3034a00f300d06096086480165030402010500a11c301a06092a864886f70d010108' +
      '300d06096086480165030402010500a203020120',
    'RFC 4055 §3.1',
  ],
];
for (const [name, hex, source] of encodings) {
  test(`${name} is written as ${source} has it`, () => {
    assert.equal(Buffer.from(algorithmIdentifier(name)).toString('hex'), hex);
  });
}

for (const name of SIGNATURE_ALGORITHMS) {
  test(`${name} is known again from its encoding`, () => {
    assert.equal(parseAlgorithmIdentifier(readDer(algorithmIdentifier(name))), name);
    assert.equal(findSignatureAlgorithm(name), name);
  });
}

const others: [hex: string, name: SignatureAlgorithm | undefined, what: string][] = [
  ['300b06092a864886f70d01010b', 'SHA256WithRSA', 'RSA without parameters'],
  ['300d06092a864886f70d0101050500', undefined, 'SHA-1 with RSA'],
  ['300d06092a864886f70d0101040500', undefined, 'MD5 with RSA'],
  ['300c06082a8648ce3d0403020500', undefined, 'ECDSA with parameters'],
  ['300706032b65700500', undefined, 'Ed25519 with parameters'],
  ['300506032b6571', undefined, 'Ed448'],
  ['300b06092a864886f70d01010a', undefined, 'PSS with the default hash, SHA-1'],
];
for (const [hex, name, what] of others) {
  test(`${what} is ${name ?? 'not verified'}`, () => {
    assert.equal(parseAlgorithmIdentifier(readDer(Buffer.from(hex, 'hex'))), name);
  });
}

test('names are spelt exactly', () => {
  assert.equal(findSignatureAlgorithm('sha256withrsa'), undefined);
  assert.equal(findSignatureAlgorithm('__proto__'), undefined);
  assert.equal(findSignatureAlgorithm(''), undefined);
});

const choices: [wanted: SignaturePreferences, name: SignatureAlgorithm][] = [
  [{ key_type: 'rsa', key_bits: 2048 }, 'SHA256WithRSA'],
  [{ key_type: 'rsa', key_bits: 2048, signature_bits: 0 }, 'SHA256WithRSA'],
  [{ key_type: 'rsa', key_bits: 2048, signature_bits: 384 }, 'SHA384WithRSA'],
  [{ key_type: 'rsa', key_bits: 2048, signature_bits: 512, use_pss: true }, 'SHA512WithRSAPSS'],
  [{ key_type: 'rsa', key_bits: 2048, pss: 'PSS' }, 'SHA256WithRSAPSS'],
  [{ key_type: 'rsa', key_bits: 2048, pss: 'PSS', signature_bits: 384 }, 'SHA384WithRSAPSS'],
  [
    { key_type: 'rsa', key_bits: 2048, pss: 'SHA512WithRSAPSS', signature_bits: 384 },
    'SHA512WithRSAPSS',
  ],
  [{ key_type: 'ec', key_bits: 224 }, 'ECDSAWithSHA256'],
  [{ key_type: 'ec', key_bits: 256, signature_bits: 512, use_pss: true }, 'ECDSAWithSHA256'],
  [{ key_type: 'ec', key_bits: 384 }, 'ECDSAWithSHA384'],
  [{ key_type: 'ec', key_bits: 521 }, 'ECDSAWithSHA512'],
  [{ key_type: 'ed25519', key_bits: 0, signature_bits: 384, use_pss: true }, 'PureEd25519'],
];
for (const [wanted, name] of choices) {
  test(`${JSON.stringify(wanted)} signs with ${name}`, () => {
    assert.equal(chooseSignatureAlgorithm(wanted), name);
    assert.equal(fitsKey(name, wanted), true);
  });
}

test('a key whose device signs PSS alone goes with nothing else', () => {
  const key = { key_type: 'rsa', key_bits: 2048 } as const;
  assert.equal(fitsKey('SHA256WithRSA', { ...key, pss: 'PSS' }), false);
  assert.equal(fitsKey('SHA512WithRSAPSS', { ...key, pss: 'PSS' }), true);
  assert.equal(fitsKey('SHA512WithRSAPSS', { ...key, pss: 'SHA256WithRSAPSS' }), false);
});

test('only signatures quicker than a turn of the event loop are cheap', () => {
  assert.equal(isCheap({ key_type: 'ec', key_bits: 256 }), true);
  assert.equal(isCheap({ key_type: 'ed25519', key_bits: 0 }), true);
  assert.equal(isCheap({ key_type: 'ec', key_bits: 384 }), false);
  assert.equal(isCheap({ key_type: 'ec', key_bits: 224 }), false);
  assert.equal(isCheap({ key_type: 'rsa', key_bits: 2048 }), false);
});

test('PSS has a plain form with the same hash', () => {
  assert.equal(withoutPss('SHA384WithRSAPSS'), 'SHA384WithRSA');
  assert.equal(withoutPss('SHA384WithRSA'), 'SHA384WithRSA');
  assert.equal(withoutPss('PureEd25519'), 'PureEd25519');
});

const KEYS: Record<string, { privateKey: KeyObject; publicKey: KeyObject }> = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  ed25519: generateKeyPairSync('ed25519'),
};
const data = Buffer.from('data');

test('an RSA signature that begins with a zero is none without it', async () => {
  const { privateKey, publicKey } = KEYS.rsa ?? assert.fail();
  const name = 'SHA256WithRSAPSS';
  // PSS is different each time; one in 256 begins so.
  let signature = signSync(privateKey, name, data);
  while (signature[0] !== 0) signature = signSync(privateKey, name, data);
  assert.equal(verify(publicKey, name, data, signature), true);
  assert.equal(verify(publicKey, name, data, signature.subarray(1)), false);
  assert.equal(await verifyAsync(publicKey, name, data, signature), true);
  assert.equal(await verifyAsync(publicKey, name, data, signature.subarray(1)), false);
});

for (const name of SIGNATURE_ALGORITHMS) {
  for (const [key_type, { privateKey, publicKey }] of Object.entries(KEYS)) {
    const fits = fitsKey(name, describePublicKey(publicKeyInfo(publicKey)));
    test(`a ${key_type} key ${fits ? 'signs and verifies' : 'neither signs nor verifies'} ${name}`, async () => {
      if (!fits) {
        assert.throws(() => signSync(privateKey, name, data));
        await assert.rejects(signAsync(privateKey, name, data));
        assert.equal(verify(publicKey, name, data, new Uint8Array(256)), false);
        return;
      }
      for (const signature of [
        signSync(privateKey, name, data),
        await signAsync(privateKey, name, data),
      ]) {
        assert.equal(verify(publicKey, name, data, signature), true);
        assert.equal(verify(publicKey, name, Buffer.from('Data'), signature), false);
        assert.equal(verify(publicKey, name, data, signature.subarray(1)), false);
        assert.equal(verify(publicKey, name, data, new Uint8Array(0)), false);
        for (const other of SIGNATURE_ALGORITHMS.filter((candidate) => candidate !== name)) {
          assert.equal(verify(publicKey, other, data, signature), false);
        }
      }
    });
  }
}

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { renameSync } from 'node:fs';
import { test } from 'node:test';
import type { KeyPairKind } from '../../src/pkcs11/orders.ts';
import { ModuleProcess } from '../../src/pkcs11/process.pool.ts';
import { publicKeyInfoOf } from '../../src/pkcs11/public-key.ts';
import { encodeSignature, prepareSignature } from '../../src/pkcs11/signature.ts';
import { type SignatureAlgorithm, verify } from '../../src/x509/algorithms.ts';
import { parsePublicKey } from '../../src/x509/keys.ts';
import type { Scope } from '../support/node-process.ts';
import { findSoftHsm, makeSoftToken, PIN } from '../support/softhsm.ts';

const { path: library, skip } = findSoftHsm();

const SETTINGS = { name: 'softhsm', timeout_ms: 10_000, log: { warn: () => undefined } };

function openToken(scope: Scope) {
  const { token_label, folder, slot } = makeSoftToken(scope);
  const module = new ModuleProcess({ ...SETTINGS, library });
  scope.after(() => module.stop());
  return { module, token: { token_label, pin: PIN }, folder, slot };
}

const CURVE = {
  256: '06082a8648ce3d030107',
  384: '06052b81040022',
  521: '06052b81040023',
} as const;
const ec = (bits: keyof typeof CURVE): KeyPairKind => ({
  key_type: 'ec',
  ecParams: Buffer.from(CURVE[bits], 'hex'),
});
const kinds: [KeyPairKind, SignatureAlgorithm[]][] = [
  [{ key_type: 'rsa', key_bits: 2048 }, ['SHA256WithRSA', 'SHA512WithRSA', 'SHA384WithRSAPSS']],
  [ec(256), ['ECDSAWithSHA256']],
  [ec(384), ['ECDSAWithSHA384']],
  [ec(521), ['ECDSAWithSHA512']],
  [{ key_type: 'ed25519' }, ['PureEd25519']],
];

test('keys are made in a token and sign there, and what they sign verifies', {
  skip,
}, async (t) => {
  const { module, token } = openToken(t);
  for (const [at, [wanted, algorithms]] of kinds.entries()) {
    const key = { label: `key ${at}`, id: Uint8Array.of(at + 1) };
    const made = await module.run({ kind: 'make pair', token, key, wanted });
    const found = await module.run({ kind: 'find pair', token, key: { id: key.id } });
    assert.ok(made.type === 'pair' && made.pair && found.type === 'pair');
    assert.deepEqual(found.pair, made.pair);
    const publicKey = parsePublicKey(publicKeyInfoOf(made.pair));
    for (const algorithm of algorithms) {
      const text = randomBytes(1_000);
      const { mechanism, data } = prepareSignature(algorithm, text);
      const order = { kind: 'sign', token, key: { label: key.label }, mechanism, data } as const;
      const signed = await module.run(order);
      assert.ok(signed.type === 'bytes');
      const signature = encodeSignature(mechanism, signed.bytes);
      assert.ok(verify(publicKey, algorithm, text, signature), algorithm);
    }
  }
});

test('a key that is not there is told apart from one that is, and two of a name are refused', {
  skip,
}, async (t) => {
  const { module, token } = openToken(t);
  const key = { label: 'twice' };
  assert.deepEqual(await pairOf(module, token, key), undefined);
  const wanted = { key_type: 'ec', ecParams: Buffer.from(CURVE[256], 'hex') } as const;
  const make = (id: number) =>
    module.run({ kind: 'make pair', token, key: { ...key, id: Uint8Array.of(id) }, wanted });
  const first = await make(1);
  assert.ok(first.type === 'pair' && first.pair);
  assert.deepEqual(await pairOf(module, token, key), first.pair);
  // One that is there is not made once more.
  await make(1);
  assert.deepEqual(await pairOf(module, token, key), first.pair);
  await make(2);
  await assert.rejects(pairOf(module, token, key), {
    refusal: 'key',
    message: /\(CKA_ID: 0x0[12], 0x0[12]\)/,
  });
  assert.deepEqual(await pairOf(module, token, { ...key, id: Uint8Array.of(1) }), first.pair);
});

test('what was taken of several keys of a name still signs and opens', { skip }, async (t) => {
  const { module, token } = openToken(t);
  const wanted = { key_type: 'ed25519' } as const;
  const key = { label: 'twice' };
  const first = await module.run({ kind: 'make pair', token, key, wanted });
  await module.run({ kind: 'make secret', token, key });
  assert.ok(first.type === 'pair' && first.pair);
  const gcm = { iv: randomBytes(12), aad: Buffer.from('where') };
  const data = randomBytes(32);
  const locked = await module.run({ kind: 'encrypt', token, key, gcm, data });
  assert.ok(locked.type === 'bytes');
  for (const id of [Uint8Array.of(1), Uint8Array.of(2)]) {
    await module.run({ kind: 'make pair', token, key: { ...key, id }, wanted });
    await module.run({ kind: 'make secret', token, key: { ...key, id } });
  }
  const opened = await module.run({ kind: 'decrypt', token, key, gcm, data: locked.bytes });
  assert.ok(opened.type === 'bytes');
  assert.deepEqual(Buffer.from(opened.bytes), data);
  const publicKey = parsePublicKey(publicKeyInfoOf(first.pair));
  const { mechanism } = prepareSignature('PureEd25519', data);
  const fitting: (boolean | undefined)[][] = [];
  for (const anew of [0, 1, 2]) {
    const signed = await module.run({ kind: 'sign', token, key, mechanism, data, anew });
    assert.ok(signed.type === 'bytes');
    fitting.push([verify(publicKey, 'PureEd25519', data, signed.bytes), signed.more]);
  }
  assert.equal(fitting.filter(([fits]) => fits).length, 1);
  assert.deepEqual(
    fitting.map(([, more]) => more),
    [true, true, false],
  );
});

test('of two that make a key of one label at once, each has one that goes on signing, or is told the ids', {
  skip,
}, async (t) => {
  const { module, slot } = openToken(t);
  const token = { slot, pin: PIN, force_rw_session: true };
  const second = new ModuleProcess({ ...SETTINGS, library });
  t.after(() => second.stop());
  const modules = [module, second];
  for (const one of modules) await pairOf(one, token, { label: 'none' });
  const data = randomBytes(32);
  const { mechanism } = prepareSignature('PureEd25519', data);
  for (const label of ['one', 'two', 'three']) {
    const key = { label };
    const wanted = { key_type: 'ed25519' } as const;
    const made = await Promise.allSettled(
      modules.map((one) => one.run({ kind: 'make pair', token, key, wanted })),
    );
    for (const [at, outcome] of made.entries()) {
      if (outcome.status === 'rejected') {
        // SoftHSM reads nothing of what another of its processes writes right then.
        if (outcome.reason.kind === 'unavailable') continue;
        assert.match(outcome.reason.message, /\(CKA_ID: 0x[0-9a-f]{32}, 0x[0-9a-f]{32}\)/);
        continue;
      }
      const { value } = outcome;
      assert.ok(value.type === 'pair' && value.pair);
      const publicKey = parsePublicKey(publicKeyInfoOf(value.pair));
      for (let anew = 0; ; anew += 1) {
        const signed = await modules[at]?.run({ kind: 'sign', token, key, mechanism, data, anew });
        assert.ok(signed?.type === 'bytes');
        if (verify(publicKey, 'PureEd25519', data, signed.bytes)) break;
        assert.ok(signed.more, 'the key that was made is among those of its label');
      }
    }
  }
});

async function pairOf(
  module: ModuleProcess,
  token: { pin: string },
  key: { label: string; id?: Uint8Array },
) {
  const found = await module.run({ kind: 'find pair', token, key });
  assert.ok(found.type === 'pair');
  return found.pair;
}

test('a PIN that is wrong is refused also while another one has opened the token', {
  skip,
}, async (t) => {
  const { module, token } = openToken(t);
  const key = { label: 'none' };
  await pairOf(module, token, key);
  await assert.rejects(pairOf(module, { ...token, pin: '0000' }, key), { refusal: 'pin' });
  await pairOf(module, token, key);
});

test('a token that is gone is unavailable, and one that is back works again by itself', {
  skip,
}, async (t) => {
  const { module, token, folder } = openToken(t);
  const key = { label: 'here' };
  const made = await module.run({
    kind: 'make pair',
    token,
    key,
    wanted: { key_type: 'ec', ecParams: Buffer.from(CURVE[256], 'hex') },
  });
  assert.ok(made.type === 'pair' && made.pair);
  const { mechanism, data } = prepareSignature('ECDSAWithSHA256', randomBytes(10));
  const order = { kind: 'sign', token, key, mechanism, data } as const;
  await module.run(order);
  renameSync(folder, `${folder}-gone`);
  await module.stop('the device was pulled');
  await assert.rejects(module.run(order), { kind: 'unavailable' });
  renameSync(`${folder}-gone`, folder);
  for (let tries = 0; ; tries += 1) {
    const signed = await module.run(order).catch((error: Error) => error);
    if (!(signed instanceof Error)) break;
    assert.ok(tries < 50, signed.message);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});

test('a secret key of a token encrypts and decrypts, and tells what was changed', {
  skip,
}, async (t) => {
  const { module, token } = openToken(t);
  const key = { label: 'seal' };
  await module.run({ kind: 'make secret', token, key });
  const gcm = { iv: randomBytes(12), aad: Buffer.from('where') };
  const data = randomBytes(32);
  const locked = await module.run({ kind: 'encrypt', token, key, gcm, data });
  assert.ok(locked.type === 'bytes' && locked.bytes.length === 48);
  const opened = await module.run({ kind: 'decrypt', token, key, gcm, data: locked.bytes });
  assert.ok(opened.type === 'bytes');
  assert.deepEqual(Buffer.from(opened.bytes), data);
  const elsewhere = { ...gcm, aad: Buffer.from('elsewhere') };
  await assert.rejects(
    module.run({ kind: 'decrypt', token, key, gcm: elsewhere, data: locked.bytes }),
  );
});

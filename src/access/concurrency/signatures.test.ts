import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import { sqlitePlace } from '../../../test/support/engines.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { signInTurn, signOwnInTurn } from './signatures.operations.ts';

const SLH_DSA: KeyDescription = { key_type: 'slhdsa-sha2-s', key_bits: 128 };
const ML_DSA: KeyDescription = { key_type: 'mldsa', key_bits: 65 };
const RSA: KeyDescription = { key_type: 'rsa', key_bits: 2048 };

test('of signatures that take tenths of a second one is made at a time, and quick ones pass it', async (t) => {
  const place = sqlitePlace();
  const { app } = await openTestApp(await place.open());
  t.after(() => place.remove());
  const caller = testCaller(testMount({ kind: 'secret', path: 'pki/', type: 'pki' }));
  const { promise, resolve } = Promise.withResolvers<void>();
  let begun = 0;
  const long = (): Promise<void> => {
    begun += 1;
    return promise;
  };
  const held = [
    signInTurn(app, caller, SLH_DSA, long),
    signOwnInTurn(app, SLH_DSA, long),
    signInTurn(app, caller, SLH_DSA, long),
  ];
  for (const key of [ML_DSA, RSA, ML_DSA]) {
    assert.equal(await signInTurn(app, caller, key, async () => 'signed'), 'signed');
  }
  assert.equal(begun, 1);
  resolve();
  await Promise.all(held);
  assert.equal(begun, 3);
});

test('of one address sixteen long signatures wait, and the next is told to come again', async (t) => {
  const place = sqlitePlace();
  const { app } = await openTestApp(await place.open());
  t.after(() => place.remove());
  const caller = testCaller(testMount({ kind: 'secret', path: 'pki/', type: 'pki' }));
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = Array.from({ length: 17 }, () => signInTurn(app, caller, SLH_DSA, () => promise));
  await assert.rejects(
    signInTurn(app, caller, SLH_DSA, () => promise),
    { kind: 'rate_limited' },
  );
  resolve();
  await Promise.all(held);
});

import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { sqlitePlace } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import { ecPublicKeyInfo } from '../../x509/keys.ts';
import { encodeBareEcKey } from '../../x509/private-keys.ts';
import { countReadyPairs, makePairs, takeP256Key } from './p256.pool.ts';
import { bareKeyOf, PAIR_BYTES } from './p256-pair.ts';

async function openApp(t: { after(close: () => Promise<void>): void }) {
  const place = sqlitePlace();
  const { app } = await openTestApp(await place.open());
  const closers: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const one of closers.splice(0)) await one();
  };
  t.after(async () => {
    await close();
    await place.remove();
  });
  const opened: App = { ...app, onClose: (one) => closers.push(one) };
  return { app: opened, close };
}

/** Waits, turn by turn of the event loop, until the thread has made keys. */
async function untilReady(app: App): Promise<void> {
  while (countReadyPairs(app) === 0) await new Promise(setImmediate);
}

test('the public half of each pair is that of its private half, in both forms', () => {
  const pairs = makePairs(300);
  // One in 256 secrets begins with a zero byte, which must not be lost.
  for (let at = 0; at < pairs.length; at += PAIR_BYTES) {
    const key = bareKeyOf(pairs.subarray(at, at + PAIR_BYTES));
    const spki = ecPublicKeyInfo(256, key.point);
    for (const [form, type] of [
      ['traditional', 'sec1'],
      ['pkcs8', 'pkcs8'],
    ] as const) {
      const { der } = encodeBareEcKey(key, form);
      const read = createPrivateKey({ key: Buffer.from(der), format: 'der', type });
      assert.deepEqual(read.export({ format: 'der', type }), Buffer.from(der));
      // Worked out from the secret alone.
      const { d, crv, kty } = read.export({ format: 'jwk' });
      assert.deepEqual([kty, crv, Buffer.from(d ?? '', 'base64url').length], ['EC', 'P-256', 32]);
      const half = createPublicKey(read).export({ format: 'der', type: 'spki' });
      assert.deepEqual(half, Buffer.from(spki));
    }
  }
});

test('a number that is none of the curve is drawn again, and those at its bounds are taken', () => {
  const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551';
  const last = `${order.slice(0, -1)}0`;
  const one = '1'.padStart(64, '0');
  const drawn = [`${order}${'0'.repeat(64)}`, 'f'.repeat(64), last, '0'.repeat(64), one];
  const pairs = makePairs(2, (bytes) => {
    bytes.set(Buffer.from(drawn.shift() ?? '', 'hex'));
  });
  assert.deepEqual(drawn, []);
  const secrets = [0, PAIR_BYTES].map(
    (at) => bareKeyOf(pairs.subarray(at, at + PAIR_BYTES)).secret,
  );
  assert.deepEqual(
    secrets.map((secret) => Buffer.from(secret).toString('hex')),
    [last, one],
  );
});

test('of keys made ahead or on the spot none is given twice', async (t) => {
  const { app } = await openApp(t);
  const seen = new Set<string>();
  const take = (): void => void seen.add(Buffer.from(takeP256Key(app).secret).toString('hex'));
  take();
  await untilReady(app);
  for (let taken = 0; taken < 600; taken += 1) take();
  await untilReady(app);
  for (let taken = 0; taken < 399; taken += 1) take();
  assert.equal(seen.size, 1000);
});

test('keys that lie ready are gone once the server is sealed or stopped', async (t) => {
  const { app, close } = await openApp(t);
  takeP256Key(app);
  await untilReady(app);
  await app.barrier.seal();
  assert.equal(countReadyPairs(app), 0);
  takeP256Key(app);
  await untilReady(app);
  await close();
  assert.equal(countReadyPairs(app), 0);
  assert.equal(takeP256Key(app).secret.length, 32, 'on the spot');
});

test('a batch that does not come in time is not waited for: keys are made on the spot, and in advance again a minute later', async (t) => {
  const { app } = await openApp(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  takeP256Key(app);
  t.mock.timers.tick(10_000);
  for (let turn = 0; turn < 3; turn += 1) {
    assert.equal(takeP256Key(app).secret.length, 32);
    await new Promise(setImmediate);
  }
  assert.equal(countReadyPairs(app), 0);
  t.mock.timers.tick(59_999);
  takeP256Key(app);
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  assert.equal(countReadyPairs(app), 0, 'not so soon');
  t.mock.timers.tick(1);
  takeP256Key(app);
  await untilReady(app);
});

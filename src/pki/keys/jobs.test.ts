import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { sqlitePlace } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import { countReadyKeys, takeRsaKey } from './jobs.ts';

async function openApp(t: {
  after(close: () => Promise<void>): void;
}): Promise<{ app: App; close(): void }> {
  const place = sqlitePlace();
  const { app } = await openTestApp(await place.open());
  const closers: (() => void)[] = [];
  const close = (): void => {
    for (const one of closers.splice(0)) one();
  };
  t.after(async () => {
    close();
    await place.remove();
  });
  return { app: { ...app, onClose: (one) => closers.push(() => void one()) }, close };
}

const ASKER = { party: '192.0.2.1' };

/** Waits, turn by turn of the event loop, until keys lie ready. */
async function untilReady(app: App, bits: number): Promise<void> {
  while (countReadyKeys(app, bits) === 0) await new Promise(setImmediate);
}

test('when the pool has run dry each request makes its own key and none waits for the pool', async (t) => {
  const { app } = await openApp(t);
  assert.equal(countReadyKeys(app, 2048), 0);
  const keys = await Promise.all([1, 2, 3].map(() => takeRsaKey(app, ASKER, 2048)));
  for (const key of keys) assert.equal(key.asymmetricKeyDetails?.modulusLength, 2048);
  const texts = keys.map((key) => key.export({ format: 'pem', type: 'pkcs8' }));
  assert.equal(new Set(texts).size, 3, 'nobody gets the key of another');
});

test('after a size was asked for keys are made in advance, and one that is taken is given once', async (t) => {
  const { app } = await openApp(t);
  const first = await takeRsaKey(app, ASKER, 2048);
  await untilReady(app, 2048);
  const ready = countReadyKeys(app, 2048);
  const second = await takeRsaKey(app, ASKER, 2048);
  assert.equal(countReadyKeys(app, 2048), ready - 1);
  assert.ok(!first.equals(second));
  assert.equal(countReadyKeys(app, 3072), 0, 'sizes that nobody asks for are never made');
});

test('keys that lie ready are gone once the server is sealed or stopped', async (t) => {
  const { app, close } = await openApp(t);
  await takeRsaKey(app, ASKER, 2048);
  await untilReady(app, 2048);
  await app.barrier.seal();
  assert.equal(countReadyKeys(app, 2048), 0);
  await takeRsaKey(app, ASKER, 2048);
  await untilReady(app, 2048);
  close();
  assert.equal(countReadyKeys(app, 2048), 0);
});

test('a key of a size that is not kept is made when it is asked for', async (t) => {
  const { app } = await openApp(t);
  const key = await takeRsaKey(app, ASKER, 1024);
  assert.equal(key.asymmetricKeyDetails?.modulusLength, 1024);
  assert.equal(countReadyKeys(app, 1024), 0);
});

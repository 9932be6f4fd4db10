import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { openTestApp } from '../../test/support/app.ts';
import { sqlitePlace } from '../../test/support/engines.ts';
import { type FakeTransit, startFakeTransit } from '../../test/support/fake-transit.ts';
import { inReverse } from '../../test/support/node-process.ts';
import type { App } from '../app/app.ts';
import { makeSealKey } from './seal-key.operations.ts';

/** An application that remembers what it made of random bytes. */
async function openApp(scope: Parameters<typeof startFakeTransit>[0]) {
  const place = sqlitePlace();
  const store = await place.open();
  scope.after(() => place.remove());
  const { app } = await openTestApp(store);
  const made: Uint8Array[] = [];
  const watched: App = {
    ...app,
    randomBytes: (length) => {
      const bytes = Uint8Array.from(randomBytes(length));
      made.push(bytes);
      return bytes;
    },
  };
  return { app: watched, made };
}

const isWiped = (key: Uint8Array | undefined): boolean => key?.every((byte) => byte === 0) === true;

const failures: [what: string, change: Partial<FakeTransit>][] = [
  ['cannot be reached', { instead: { status: 503, body: '{}' } }],
  ['may not decrypt', { denied: new Set(['decrypt']) }],
];
for (const [what, change] of failures) {
  test(`a new seal key is wiped where the engine that encrypts it ${what}`, async (t) => {
    const scope = inReverse(t);
    const fake = await startFakeTransit(scope);
    const { app, made } = await openApp(scope);
    Object.assign(fake, change);
    await assert.rejects(makeSealKey(app, fake.settings), { kind: 'unavailable' });
    assert.deepEqual(made.map(isWiped), [true]);
  });
}

test('a new seal key that was encrypted is handed on', async (t) => {
  const scope = inReverse(t);
  const fake = await startFakeTransit(scope);
  const { app, made } = await openApp(scope);
  const { seal_key } = await makeSealKey(app, fake.settings);
  assert.equal(seal_key, made[0]);
  assert.ok(!isWiped(seal_key));
});

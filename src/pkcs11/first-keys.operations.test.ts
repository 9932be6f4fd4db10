import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { openTestApp } from '../../test/support/app.ts';
import { eachEngine } from '../../test/support/engines.ts';
import { acquireLease } from '../store/job-lock.ts';
import { findOrMakeKey } from './first-keys.operations.ts';

/** A token that takes its time, and in which keys are found by how many there are. */
function openToken() {
  const keys: string[] = [];
  return {
    keys,
    find: async (): Promise<string | undefined> => {
      await wait(5);
      return keys[0];
    },
    make: async (): Promise<string> => {
      await wait(50);
      keys.push(`key ${keys.length}`);
      return keys[keys.length - 1] ?? '';
    },
  };
}

eachEngine('first keys of devices', (open) => {
  test('many who ask at once have one key, which one of them made', async () => {
    const { app } = await openTestApp(await open());
    const token = openToken();
    const all = await Promise.all(Array.from({ length: 9 }, () => findOrMakeKey(app, token)));
    assert.deepEqual([...new Set(all), ...token.keys], ['key 0', 'key 0']);
  });

  test('a key that cannot be made keeps nobody from making it afterwards', async () => {
    const { app } = await openTestApp(await open());
    const token = openToken();
    const make = async (): Promise<string> => Promise.reject(new Error('no room'));
    await assert.rejects(findOrMakeKey(app, { ...token, make }), /no room/);
    assert.equal(await findOrMakeKey(app, token), 'key 0');
  });

  test('a node that makes a key is waited for, and followed when it says nothing any more', async () => {
    const { app } = await openTestApp(await open());
    const token = openToken();
    const now_ms = app.now();
    const other = { name: 'device-key', holder: 'gone', now_ms, ttl_ms: 1_000_000 };
    assert.ok(await acquireLease(app.store, other));
    const since = performance.now();
    assert.equal(await findOrMakeKey(app, token, { silence_ms: 1_000 }), 'key 0');
    assert.ok(performance.now() - since > 900, 'not before its time is over');
  });

  test('what another node made in the meantime is taken, and not made once more', async () => {
    const { app } = await openTestApp(await open());
    const token = openToken();
    const now_ms = app.now();
    const other = { name: 'device-key', holder: 'b', now_ms, ttl_ms: 1_000_000 };
    assert.ok(await acquireLease(app.store, other));
    const waiting = findOrMakeKey(app, token, { silence_ms: 500 });
    await wait(50);
    // That node dies after this, before it says that it is done.
    token.keys.push('key of b');
    assert.equal(await waiting, 'key of b');
    assert.deepEqual(token.keys, ['key of b']);
  });

  test('whoever was held up until another node took over makes no key', async () => {
    const { app } = await openTestApp(await open());
    const token = openToken();
    let looked = 0;
    const find = async (): Promise<undefined> => {
      looked += 1;
      if (looked === 1) return undefined;
      const taken = { name: 'device-key', holder: 'local', now_ms: app.now(), ttl_ms: 1_000 };
      assert.ok(await acquireLease(app.store, taken));
    };
    await assert.rejects(findOrMakeKey(app, { ...token, find }), { kind: 'conflict' });
    assert.deepEqual(token.keys, []);
  });

  test('whoever has waited long enough for a turn hears so, and makes nothing when it comes', async () => {
    const { app } = await openTestApp(await open());
    const token = openToken();
    const slow = Promise.withResolvers<void>();
    const make = () => slow.promise.then(token.make);
    const first = findOrMakeKey(app, { ...token, make });
    await wait(20);
    const late = findOrMakeKey(app, token, { patience_ms: 100 });
    await assert.rejects(late, { kind: 'unavailable', message: /is being made in a device/ });
    slow.resolve();
    assert.equal(await first, 'key 0');
    assert.equal(await findOrMakeKey(app, token), 'key 0');
    assert.deepEqual(token.keys, ['key 0']);
  });

  test('a node that goes on making a key is waited for as long as that', async () => {
    const { app } = await openTestApp(await open());
    const token = openToken();
    const now_ms = app.now();
    const other = { name: 'device-key', holder: 'b', now_ms, ttl_ms: 1_000_000 };
    assert.ok(await acquireLease(app.store, other));
    const late = findOrMakeKey(app, token, { patience_ms: 100 });
    await assert.rejects(late, { kind: 'unavailable', message: /is being made in a device/ });
    assert.deepEqual(token.keys, []);
  });

  test('no more wait than there are places', async () => {
    const { app } = await openTestApp(await open());
    const token = openToken();
    const all = await Promise.allSettled(
      Array.from({ length: 70 }, () => findOrMakeKey(app, token)),
    );
    const refused = all.filter((one) => one.status === 'rejected');
    assert.equal(refused.length, 6);
    assert.ok(refused.every(({ reason }) => reason.kind === 'rate_limited'));
    assert.deepEqual(token.keys, ['key 0']);
  });
});

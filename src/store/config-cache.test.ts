import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { eachEngine, eachPlace } from '../../test/support/engines.ts';
import { holdsNobodyUp } from '../../test/support/turns.ts';
import { cacheConfig } from './config-cache.ts';
import { bumpConfigVersion } from './config-version.ts';
import type { Store } from './store.ts';
import type { Write } from './write.ts';

const run = (sql: string): Write => ({ sql, parameters: [] });
const policy = (name: string): Write =>
  run(`insert into policy (name, body, version, modified_at) values ('${name}', '', 1, 0)`);
const scope = (id: string): Write =>
  run(`insert into resource (id, type, subtype, scope_id, container_id, owner_id, version, created_ms, updated_ms, body)
    values ('${id}', 'scope', '', 'global', 'global', '', 1, 0, 0, '{}')`);
const change = (store: Store, ...writes: Write[]): Promise<void> =>
  store.commit([...writes, bumpConfigVersion()]);

/** A cache over a store, with names of policies in it, and how often they were read. */
function cachePolicies(store: Store) {
  const listeners: (() => void)[] = [];
  const { cached, versionOf } = cacheConfig(store, {
    onSeal: (listener) => listeners.push(listener),
  });
  const read = { count: 0 };
  const load = async (): Promise<string[]> => {
    read.count += 1;
    const rows = await store.db.selectFrom('policy').select('name').orderBy('name').execute();
    return rows.map(({ name }) => name);
  };
  return {
    cached,
    versionOf,
    read,
    load,
    names: () => cached('names', load, ['policies']),
    lock: () => {
      for (const listener of listeners) listener();
    },
  };
}

eachEngine('what is kept by its subjects', (open) => {
  test('what those go on to do who waited for the same loading is not one turn', async () => {
    const { cached } = cachePolicies(await open());
    let times = 0;
    await holdsNobodyUp(async () => {
      times += 1;
      const key = `long ${times}`;
      const load = async (): Promise<void> => {
        for (let turn = 0; turn < 3; turn += 1) await nextTurn();
      };
      const all = Array.from({ length: 500 }, async () => {
        await cached(key, load);
        await undefined;
        for (const end = performance.now() + 0.2; performance.now() < end; );
      });
      await Promise.all(all);
    });
  });

  test('is read anew when one of them was changed, and not for anything else', async () => {
    const store = await open();
    const { names, read, cached, load } = cachePolicies(store);
    const ofBoth = () => cached('both', load, ['policies', 'broker/scopes']);
    assert.deepEqual(await names(), []);
    await change(store);
    await change(store, scope('o'));
    assert.deepEqual(await names(), []);
    assert.equal(read.count, 1);
    await change(store, policy('a'));
    assert.deepEqual(await names(), ['a']);
    assert.equal(read.count, 2);
    await ofBoth();
    await change(store);
    await ofBoth();
    assert.equal(read.count, 3);
    await change(store, scope('p'));
    await ofBoth();
    assert.equal(read.count, 4);
    await change(store, policy('b'));
    assert.deepEqual(await ofBoth(), ['a', 'b']);
  });

  test('is read anew by all that comes after a change, whatever was being read', async () => {
    const store = await open();
    const { names } = cachePolicies(store);
    for (let n = 100; n < 140; n += 1) {
      const before = [names(), names()];
      await change(store, policy(`p${n}`));
      assert.equal((await names()).at(-1), `p${n}`);
      await Promise.all(before);
    }
  });

  test('is forgotten when the server is sealed, also what is being read then', async () => {
    const store = await open();
    const { names, read, lock, load, cached } = cachePolicies(store);
    const begun = Promise.withResolvers<void>();
    const first = cached('names', () => {
      begun.resolve();
      return load();
    }, ['policies']);
    await begun.promise;
    lock();
    await first;
    await names();
    assert.equal(read.count, 2);
    lock();
    await names();
    assert.equal(read.count, 3);
  });

  test('is tried again when it could not be read', async () => {
    const store = await open();
    const { cached, load } = cachePolicies(store);
    const fails = () => Promise.reject(new Error('no'));
    await assert.rejects(cached('names', fails, ['policies']), /no/);
    assert.deepEqual(await cached('names', load, ['policies']), []);
  });
});

eachPlace('of two nodes', (newPlace, engine) => {
  // A SQLite directory belongs to one.
  if (engine === 'sqlite') return;

  test('each reads anew what the other has changed, and nothing else', async () => {
    const place = await newPlace();
    const [a, b] = [await place.open('a'), await place.open('b')];
    const there = cachePolicies(b);
    assert.deepEqual(await there.names(), []);
    await change(a, scope('o'));
    await b.refreshConfig();
    assert.deepEqual(await there.names(), []);
    assert.equal(there.read.count, 1);
    for (let n = 10; n < 30; n += 1) {
      await change(n % 2 === 0 ? a : b, policy(`p${n}`));
      await b.refreshConfig();
      assert.equal((await there.names()).at(-1), `p${n}`);
    }
    assert.equal(there.read.count, 21);
  });

  test('neither waits in a circle when both change the same subjects at once', async () => {
    const place = await newPlace();
    const [a, b] = [await place.open('a'), await place.open('b')];
    const began = await b.configVersion();
    const sets = Array.from({ length: 60 }, (_, n) =>
      n % 2 === 0
        ? change(n % 4 === 0 ? a : b, policy(`p${n}`), scope(`o${n}`))
        : (n % 4 === 1 ? a : b).commit([bumpConfigVersion(), scope(`o${n}`), policy(`p${n}`)]),
    );
    await Promise.all(sets);
    await b.refreshConfig();
    assert.equal(await b.configVersion(), began + 60);
    assert.equal((await cachePolicies(b).names()).length, 60);
  });
});

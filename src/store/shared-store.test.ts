import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { eachEngine } from '../../test/support/engines.ts';
import { isConflict } from '../core/failure.ts';
import { bumpConfigVersion } from './config-version.ts';
import { build } from './database.ts';
import { ConfigWatch } from './postgres/watch.ts';
import { joinStore, type Store, type StoreOwner } from './store.ts';
import { type Write, write } from './write.ts';
import { WriteCounts } from './write-counts.ts';

const insert = (name: string): Write =>
  write(build.insertInto('token_role').values({ name, body: '{}' }), {
    rows: 1,
    conflict: 'taken',
  });
/** Touches no row, and writes the table all the same. */
const touchTokens = (): Write => write(build.deleteFrom('token').where('id', '=', 'nobody'));
const namesIn = async ({ db }: Store): Promise<string[]> => {
  const rows = await db.selectFrom('token_role').select('name').orderBy('name').execute();
  return rows.map(({ name }) => name);
};

/** As another thread has it. */
function joinTo(t: { after(close: () => Promise<void>): void }, store: Store): Store {
  const owner: StoreOwner = {
    confirmConfig: async () => store.configVersion(),
    refreshConfig: () => store.refreshConfig(),
  };
  const joined = joinStore(store.share(), owner);
  t.after(() => joined.close());
  return joined;
}

eachEngine('a store that several threads write', (open, engine) => {
  test('takes what each of them writes, and refuses each its own', async (t) => {
    const store = await open();
    const [one, two] = [joinTo(t, store), joinTo(t, store)];
    const outcomes = await Promise.all(
      [store, one, two].map((each) =>
        each.commit([insert('same')]).then(
          () => 'written',
          (error: unknown) => isConflict(error) && error.message,
        ),
      ),
    );
    assert.deepEqual(outcomes.toSorted(), ['taken', 'taken', 'written']);
    await Promise.all([one.commit([insert('one')]), two.commit([insert('two')])]);
    for (const each of [store, one, two]) {
      assert.deepEqual(await namesIn(each), ['one', 'same', 'two']);
    }
  });

  test('tells each thread of the others’ writes before these resolve', async (t) => {
    const store = await open();
    const stores = [store, joinTo(t, store), joinTo(t, store)];
    const told = stores.map((each) => {
      const counts = { tokens: 0, configs: 0 };
      each.onWrite('token', () => {
        counts.tokens += 1;
      });
      each.onConfigChange(() => {
        counts.configs += 1;
      });
      return counts;
    });
    let tokens = 0;
    for (const each of stores) {
      await each.commit([touchTokens()]);
      tokens += 1;
      for (const other of stores) other.catchUp();
      assert.deepEqual(told, Array(3).fill({ tokens, configs: 0 }));
    }
    for (const [at, each] of stores.entries()) {
      const before = await each.configVersion();
      await each.commit([bumpConfigVersion()]);
      for (const other of stores) {
        other.catchUp();
        assert.equal(await other.configVersion(), before + 1);
      }
      assert.deepEqual(told, Array(3).fill({ tokens, configs: at + 1 }));
    }
    await stores[1]?.commit([insert('of nobody’s interest')]);
    for (const other of stores) other.catchUp();
    assert.deepEqual(told, Array(3).fill({ tokens, configs: 3 }));
  });

  test('says to the thread that opened it that others have written', async (t) => {
    const store = await open();
    const joined = joinTo(t, store);
    for (const name of ['first', 'second']) {
      const told = new Promise<void>((resolve) => store.onOthers(resolve));
      await joined.commit([insert(name)]);
      await told;
    }
  });

  if (engine === 'postgres') {
    test('says that a version is confirmed after it has said which', async (t) => {
      const store = await open();
      const events: string[] = [];
      const counts = new (class extends WriteCounts {
        override confirm(at_ms: number): void {
          events.push('confirmed');
          super.confirm(at_ms);
        }
      })();
      const { place } = store;
      assert.ok(place.engine === 'postgres');
      const log = { info: () => {}, warn: () => {}, error: () => {} };
      const watch = await ConfigWatch.start(place.url, log, counts);
      t.after(() => watch.close());
      watch.onChange((version) => events.push(`version ${version}`));
      for (let round = 0; round < 3; round += 1) {
        events.length = 0;
        await store.commit([bumpConfigVersion()]);
        await watch.refresh();
        // Other threads look only at whether it is confirmed.
        assert.ok(events.includes(`version ${await store.configVersion()}`));
        assert.equal(events.at(-1), 'confirmed');
      }
    });
  }

  test('goes on without a thread that has ended, whatever it was writing', async (t) => {
    const store = await open();
    const source = `
      import { workerData, parentPort } from 'node:worker_threads';
      import { joinStore } from ${JSON.stringify(new URL('./store.ts', import.meta.url).href)};
      const store = joinStore(workerData, {});
      const effect = (name) => ({ sql: 'insert into token_role (name, body) values ($1, $2)', parameters: [name, '{}'] });
      await store.commit([effect('of the other')]);
      for (let at = 0; at < 100; at += 1) store.commit([effect('last ' + at)]);
      setImmediate(() => setImmediate(() => process.exit()));
    `;
    const shared = store.share();
    const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
      workerData: shared,
      transferList: [shared.port],
    });
    const [code] = await once(thread, 'exit');
    assert.equal(code, 0);
    const joined = joinTo(t, store);
    await Promise.all([store.commit([insert('mine')]), joined.commit([insert('theirs')])]);
    const names = await namesIn(store);
    assert.ok(['of the other', 'mine', 'theirs'].every((name) => names.includes(name)));
  });

  test('ends for all of them when it is closed', async () => {
    const store = await open();
    const joined = joinStore(store.share(), {
      confirmConfig: async () => 0,
      refreshConfig: async () => {},
    });
    const deaths: string[] = [];
    joined.onDeath(({ kind }) => deaths.push(kind));
    await joined.commit([insert('one')]);
    await store.close();
    await assert.rejects(joined.commit([insert('two')]), { kind: 'unavailable' });
    assert.deepEqual(deaths, ['unavailable']);
    await joined.close();
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { eachEngine } from '../../../test/support/engines.ts';
import type { Store, StoreLog } from '../../store/store.ts';
import { findCursor } from '../store.ts';
import { createFeeder } from './jobs.ts';
import { type FedRecord, retryPause, type Sink } from './sink.ts';

/** A sink that holds what it was given, and refuses as long as it is told to. */
function newSink(): Sink & { taken: number[]; broken: boolean; refused: number } {
  const sink = {
    taken: [] as number[],
    broken: false,
    refused: 0,
    async put(records: readonly FedRecord[]) {
      if (sink.broken) {
        sink.refused += 1;
        throw new Error('the disk is full');
      }
      sink.taken.push(...records.map((record) => record.seq));
    },
    reopen: () => {},
    close: async () => {},
  };
  return sink;
}

function feederOf(store: Store) {
  const said: string[] = [];
  const log: StoreLog = {
    info: (_detail, message) => said.push(message),
    warn: (_detail, message) => said.push(message),
    error: (_detail, message) => said.push(message),
  };
  const feeder = createFeeder({ store, node: 'a', log, pause: async () => setImmediate() });
  return { feeder, said };
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let n = 0; n < 100_000; n++) {
    if (await holds()) return;
    await setImmediate();
  }
  assert.fail('it never came to that');
}

const fill = async (store: Store, count: number) => {
  await Promise.all(
    Array.from({ length: count }, (_, n) => store.commit([{ audit: `{"n":${n}}` }])),
  );
};
const numbers = (count: number, from = 1) => Array.from({ length: count }, (_, n) => n + from);

eachEngine('a feeder', (open) => {
  test('feeds a new sink with everything, in order, and goes on where it stopped', async () => {
    const store = await open({ node_name: 'a' });
    await fill(store, 700);
    const first = newSink();
    const one = feederOf(store);
    one.feeder.add('s', first);
    await one.feeder.close();
    assert.deepEqual(first.taken, numbers(700));
    assert.equal(await findCursor(store.db, { name: 's', node: 'a' }), 700);
    await fill(store, 3);
    const second = newSink();
    const other = feederOf(store);
    other.feeder.add('s', second);
    await other.feeder.close();
    assert.deepEqual(second.taken, [701, 702, 703]);
  });

  test('loses nothing while a sink refuses, says so once, and other sinks are not held', async () => {
    const store = await open({ node_name: 'a' });
    const [good, bad] = [newSink(), newSink()];
    bad.broken = true;
    const { feeder, said } = feederOf(store);
    feeder.add('good', good);
    feeder.add('bad', bad);
    await fill(store, 5);
    await until(() => good.taken.length === 5 && bad.refused > 3);
    assert.equal(said.length, 1);
    assert.equal(await findCursor(store.db, { name: 'bad', node: 'a' }), 0, 'records wait for it');
    bad.broken = false;
    await until(() => bad.taken.length >= 5);
    await feeder.close();
    assert.deepEqual(bad.taken, numbers(5));
    assert.deepEqual(said.slice(1), ['an audit sink is fed again']);
  });

  test('forgets sinks that are not there any more', async () => {
    const store = await open({ node_name: 'a' });
    await fill(store, 1);
    const { feeder } = feederOf(store);
    for (const name of ['kept', 'removed']) feeder.add(name, newSink());
    await until(async () => (await findCursor(store.db, { name: 'removed', node: 'a' })) === 1);
    await until(async () => (await findCursor(store.db, { name: 'kept', node: 'a' })) === 1);
    await feeder.remove('removed');
    assert.equal(await findCursor(store.db, { name: 'removed', node: 'a' }), undefined);
    await feeder.close();
    const later = feederOf(store);
    await later.feeder.forgetOthers();
    assert.equal(await findCursor(store.db, { name: 'kept', node: 'a' }), undefined);
  });
});

eachEngine('removed sinks', (open) => {
  test('are all ended before any of them is waited for, and given nothing that was being read', async () => {
    const store = await open({ node_name: 'a' });
    await fill(store, 3);
    const { feeder } = feederOf(store);
    const [hung, other] = [newSink(), newSink()];
    const [held, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    hung.close = () => {
      closed.resolve();
      return held.promise;
    };
    for (const [name, sink] of [
      ['hung', hung],
      ['other', other],
    ] as const) {
      feeder.add(name, sink);
    }
    // Their first records are being read.
    const removals = [feeder.remove('hung'), feeder.remove('other')];
    assert.deepEqual(feeder.names(), []);
    await closed.promise;
    await removals[1];
    held.resolve();
    await removals[0];
    assert.deepEqual([hung.taken, other.taken], [[], []]);
    await feeder.close();
  });
});

test('pauses grow to half a minute', () => {
  assert.deepEqual([1, 2, 3, 8, 9, 1000].map(retryPause), [250, 500, 1000, 30_000, 30_000, 30_000]);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { eachEngine } from '../../../test/support/engines.ts';
import type { StoreLog } from '../../store/committer.ts';
import type { Store } from '../../store/store.ts';
import { cutChain, findCursor, findHead, saveCursor } from '../store.ts';
import { createForwarder } from './jobs.ts';
import { type FedRecord, type Reading, retryPause, type Sink } from './sink.ts';
import { openSocketSink } from './syslog.store.ts';

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

/** A sink that takes at once what is read later, or never. */
function newUnsureSink() {
  const state = { sure: 0, broken: [] as Error[], does_finish: false };
  const sink = newSink();
  const reading: Reading = {
    sure: () => state.sure,
    findBreak: () => state.broken.shift(),
    finish: async () => {
      if (state.does_finish) state.sure = sink.taken.at(-1) ?? 0;
    },
  };
  return { sink: Object.assign(sink, { reading }), state };
}

function forwarderOf(store: Store, now = () => performance.now()) {
  const said: string[] = [];
  const log: StoreLog = {
    info: (_detail, message) => said.push(message),
    warn: (_detail, message) => said.push(message),
    error: (_detail, message) => said.push(message),
  };
  const forwarder = createForwarder({
    store,
    node: 'a',
    log,
    now,
    pause: async () => setImmediate(),
  });
  return { forwarder, said };
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

eachEngine('a forwarder', (open) => {
  test('feeds a new sink with everything, in order, and goes on where it stopped', async () => {
    const store = await open({ node_name: 'a' });
    await fill(store, 700);
    const first = newSink();
    const one = forwarderOf(store);
    one.forwarder.add('s', first);
    await one.forwarder.close();
    assert.deepEqual(first.taken, numbers(700));
    assert.equal(await findCursor(store.db, { name: 's', node: 'a' }), 700);
    await fill(store, 3);
    const second = newSink();
    const other = forwarderOf(store);
    other.forwarder.add('s', second);
    await other.forwarder.close();
    assert.deepEqual(second.taken, [701, 702, 703]);
  });

  test('loses nothing while a sink refuses, says so once, and other sinks are not held', async () => {
    const store = await open({ node_name: 'a' });
    const [good, bad] = [newSink(), newSink()];
    bad.broken = true;
    const { forwarder, said } = forwarderOf(store);
    forwarder.add('good', good);
    forwarder.add('bad', bad);
    await fill(store, 5);
    await until(() => good.taken.length === 5 && bad.refused > 3);
    assert.equal(said.length, 1);
    assert.equal(await findCursor(store.db, { name: 'bad', node: 'a' }), 0, 'records wait for it');
    bad.broken = false;
    await until(() => bad.taken.length >= 5);
    await forwarder.close();
    assert.deepEqual(bad.taken, numbers(5));
    assert.deepEqual(said.slice(1), ['an audit sink is fed again']);
  });

  test('forgets sinks that are not there any more', async () => {
    const store = await open({ node_name: 'a' });
    await fill(store, 1);
    const { forwarder } = forwarderOf(store);
    for (const name of ['kept', 'removed']) forwarder.add(name, newSink());
    await until(async () => (await findCursor(store.db, { name: 'removed', node: 'a' })) === 1);
    await until(async () => (await findCursor(store.db, { name: 'kept', node: 'a' })) === 1);
    await forwarder.remove('removed');
    assert.equal(await findCursor(store.db, { name: 'removed', node: 'a' }), undefined);
    await forwarder.close();
    const later = forwarderOf(store);
    await later.forwarder.forgetOthers();
    assert.equal(await findCursor(store.db, { name: 'kept', node: 'a' }), undefined);
  });
});

eachEngine('a forwarder of sinks that are not told what was read', (open) => {
  const cursorOf = (store: Store) => findCursor(store.db, { name: 's', node: 'a' });

  test('goes back to what was surely read when a connection broke, and keeps no more than that', async () => {
    const store = await open({ node_name: 'a' });
    await fill(store, 5);
    const { sink, state } = newUnsureSink();
    const { forwarder } = forwarderOf(store);
    forwarder.add('s', sink);
    await until(() => sink.taken.length === 5);
    state.sure = 2;
    await until(async () => (await cursorOf(store)) === 2);
    state.broken.push(new Error('the connection broke'));
    await until(() => sink.taken.length === 8);
    assert.deepEqual(sink.taken, [1, 2, 3, 4, 5, 3, 4, 5]);
    await forwarder.close();
    assert.equal(await cursorOf(store), 2);
    const later = newUnsureSink();
    later.state.does_finish = true;
    const other = forwarderOf(store);
    other.forwarder.add('s', later.sink);
    await other.forwarder.close();
    assert.deepEqual(later.sink.taken, [3, 4, 5], 'also after the server was started anew');
    assert.equal(await cursorOf(store), 5, 'what was read to the end does not come again');
  });

  test('says once that one is broken until it was well for half a minute', async () => {
    const store = await open({ node_name: 'a' });
    await fill(store, 1);
    const clock = { now: 0 };
    const { sink, state } = newUnsureSink();
    const { forwarder, said } = forwarderOf(store, () => clock.now);
    forwarder.add('s', sink);
    for (let times = 1; times < 5; times++) {
      await until(() => sink.taken.length === times);
      clock.now += 29_999;
      state.broken.push(new Error('nobody listens'));
    }
    await until(() => sink.taken.length === 5);
    assert.deepEqual(said, ['an audit sink takes nothing; records wait for it']);
    clock.now += 30_000;
    await until(() => said.length === 2);
    assert.equal(said[1], 'an audit sink is fed again');
    await forwarder.close();
  });

  test('says that records are gone which were deleted before they were surely read', async () => {
    const store = await open({ node_name: 'a' });
    await fill(store, 5);
    const head = await findHead(store.db, 'a', 3);
    assert.ok(head);
    await store.commit([...cutChain('a', head), saveCursor({ name: 's', node: 'a', seq: 2 })]);
    const { sink } = newUnsureSink();
    const { forwarder, said } = forwarderOf(store);
    forwarder.add('s', sink);
    await forwarder.close();
    assert.deepEqual(sink.taken, [4, 5]);
    assert.deepEqual(said, ['records were deleted before an audit sink surely had them']);
  });

  test('a log server that hangs and is then reset gets every record again on its next connection', async (t) => {
    const store = await open({ node_name: 'a' });
    const sockets: Socket[] = [];
    const came = new Set<number>();
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}));
      createInterface({ input: socket }).on('line', (line) => {
        came.add(Number(/"seq":(\d+)/.exec(line)?.[1]));
      });
    }).listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address && typeof address === 'object');
    const { forwarder } = forwarderOf(store);
    const sink = openSocketSink({ host: '127.0.0.1', port: address.port });
    const taken = countTaken(sink);
    forwarder.add('s', sink);
    await fill(store, 3);
    await until(() => came.size === 3);
    const [hung] = sockets;
    assert.ok(hung);
    hung.pause();
    for (const count of [10, 30, 60, 100]) {
      await fill(store, count - taken.size);
      await until(() => taken.size === count);
    }
    assert.equal(came.size, 3, 'all were taken, and none of them was read');
    hung.resetAndDestroy();
    await until(() => came.size === 100);
    await forwarder.close();
    for (const socket of sockets) socket.destroy();
  });
});

/** The records that a sink has taken, as they are. */
function countTaken(sink: Sink): Set<number> {
  const taken = new Set<number>();
  const { put } = sink;
  sink.put = async (records) => {
    await put(records);
    for (const { seq } of records) taken.add(seq);
  };
  return taken;
}

eachEngine('removed sinks', (open) => {
  test('are all ended before any of them is waited for, and given nothing that was being read', async () => {
    const store = await open({ node_name: 'a' });
    await fill(store, 3);
    const { forwarder } = forwarderOf(store);
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
      forwarder.add(name, sink);
    }
    // Their first records are being read.
    const removals = [forwarder.remove('hung'), forwarder.remove('other')];
    assert.deepEqual(forwarder.names(), []);
    await closed.promise;
    await removals[1];
    held.resolve();
    await removals[0];
    assert.deepEqual([hung.taken, other.taken], [[], []]);
    await forwarder.close();
  });
});

test('pauses grow to half a minute', () => {
  assert.deepEqual([1, 2, 3, 8, 9, 1000].map(retryPause), [250, 500, 1000, 30_000, 30_000, 30_000]);
});

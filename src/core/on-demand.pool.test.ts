import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type { HeldOrder } from '../../test/support/held-thread/thread.ts';
import { OnDemandThread } from './on-demand.pool.ts';

const opened: { stop(): Promise<void> }[] = [];
after(async () => {
  for (const thread of opened) await thread.stop();
});

function openThread(
  deadline_ms: number | undefined,
  log: { warn(told: object): void } = { warn() {} },
) {
  const thread = new OnDemandThread<Omit<HeldOrder, 'id'>, { id: number }, string>({
    name: 'held',
    beside: new URL('../../test/support/held-thread/operations.ts', import.meta.url).href,
    undone: 'nothing was done',
    log,
    deadline_ms,
    read: () => 'done',
  });
  opened.push(thread);
  return thread;
}

const tooLong = { kind: 'unavailable', message: 'nothing was done: it takes too long' };
const mockTime = (t: TestContext): void => t.mock.timers.enable({ apis: ['setTimeout'] });

test('an order that takes too long is refused, and those behind it are done on a new thread', async (t) => {
  mockTime(t);
  const thread = openThread(1000);
  const first = thread.run({ hold: false });
  const held = assert.rejects(thread.run({ hold: true }), tooLong);
  const behind = [thread.run({ hold: false }), thread.run({ hold: false })];
  // By then the thread has started.
  await first;
  t.mock.timers.tick(1000);
  await held;
  assert.deepEqual(await Promise.all(behind), ['done', 'done']);
});

test('what a thread takes to start is no order’s time, and one that never does is given up', async (t) => {
  mockTime(t);
  const slow = openThread(1000);
  const first = slow.run({ hold: false });
  t.mock.timers.tick(60_999);
  assert.equal(await first, 'done');
  const stuck = openThread(1000);
  const refused = assert.rejects(stuck.run({ hold: false }), tooLong);
  t.mock.timers.tick(61_000);
  await refused;
});

test('an order that ends the thread is refused, and those behind it are done on a new thread', async () => {
  const thread = openThread(10_000);
  const ending = [1, 2].map(() => thread.run({ hold: false, exit: true }));
  const behind = thread.run({ hold: false });
  const ended = { kind: 'unavailable', message: /its thread ended \(exit code 1\)/ };
  for (const one of ending) await assert.rejects(one, ended);
  assert.equal(await behind, 'done');
});

test('a thread without a deadline that ends does none of its orders twice', async () => {
  const thread = openThread(undefined);
  const ending = [true, false].map((exit) => thread.run({ hold: false, exit }));
  for (const one of ending) await assert.rejects(one, /its thread ended/);
});

test('each order has the whole time from when it is first', async (t) => {
  mockTime(t);
  const thread = openThread(1000);
  const first = thread.run({ hold: false });
  let isRefused = false;
  const held = assert.rejects(thread.run({ hold: true }), tooLong).then(() => {
    isRefused = true;
  });
  t.mock.timers.tick(999);
  assert.equal(await first, 'done');
  t.mock.timers.tick(999);
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(!isRefused);
  t.mock.timers.tick(1);
  await held;
});

test('a thread of which all was held is started anew for the next order', async (t) => {
  mockTime(t);
  const thread = openThread(1000);
  const held = [1, 2].map(() => assert.rejects(thread.run({ hold: true }), tooLong));
  // Neither one's has started.
  t.mock.timers.tick(61_000);
  t.mock.timers.tick(61_000);
  await Promise.all(held);
  assert.ok(!thread.isRunning);
  assert.equal(await thread.run({ hold: false }), 'done');
});

test('a thread without a deadline is ended by whoever watches over it, and all of its orders with it', async (t) => {
  mockTime(t);
  const thread = openThread(undefined);
  const held = [1, 2].map(() => assert.rejects(thread.run({ hold: true }), /stopping or sealed/));
  t.mock.timers.tick(1_000_000);
  assert.ok(thread.isRunning);
  await thread.stop();
  await Promise.all(held);
});

test('a thread that is finished does what it was given, and ends then', async () => {
  const thread = openThread(undefined);
  const given = [thread.run({ hold: false }), thread.run({ hold: false })];
  const finished = thread.finish();
  assert.ok(thread.isRunning);
  assert.deepEqual(await Promise.all(given), ['done', 'done']);
  await finished;
  assert.ok(!thread.isRunning);
  await thread.finish();
  assert.equal(await thread.run({ hold: false }), 'done');
  assert.ok(thread.isRunning, 'it was not finished again');
});

test('a thread that is finished ends, too, where it is stopped before', async () => {
  const thread = openThread(undefined);
  const held = assert.rejects(thread.run({ hold: true }), /stopping or sealed/);
  const finished = thread.finish();
  await thread.stop();
  await Promise.all([held, finished]);
  assert.ok(!thread.isRunning);
});

test('a thread that does not end is told of, whoever ended it, and no other', async (t) => {
  mockTime(t);
  const told: object[] = [];
  const warn = (thread: object): void => void told.push(thread);
  const replaced = openThread(1000, { warn });
  const first = replaced.run({ hold: false });
  const held = assert.rejects(replaced.run({ hold: true }), tooLong);
  await first;
  t.mock.timers.tick(1000);
  await held;
  t.mock.timers.tick(9_999);
  assert.equal(told.length, 0);
  t.mock.timers.tick(1);
  assert.deepEqual(told, [{ thread: 'held' }]);
  const stopped = openThread(undefined, { warn });
  const given = assert.rejects(stopped.run({ hold: true }), /stopping or sealed/);
  const ends = stopped.stop();
  t.mock.timers.tick(10_000);
  await Promise.all([given, ends]);
  assert.equal(told.length, 2);
  const ended = openThread(undefined, { warn });
  assert.equal(await ended.run({ hold: false }), 'done');
  await ended.stop();
  t.mock.timers.tick(10_000);
  assert.equal(told.length, 2);
});

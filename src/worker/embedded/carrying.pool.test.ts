import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { Failure } from '../../core/failure.ts';
import { CarryingThread } from './carrying.pool.ts';
import type { ToThread } from './messages.ts';

const NOBODY = () => Promise.reject(new Failure('forbidden', 'there is no such session'));

/** A thread, and the worker that it runs in at any time. */
async function startThread(t: TestContext, onDeath: (why: string) => Promise<unknown>) {
  const workers: Worker[] = [];
  const note = (worker: Worker): void => void workers.push(worker);
  process.on('worker', note);
  const at = { host: '127.0.0.1', port: 0 };
  const thread = new CarryingThread(at, { answer: NOBODY, onDeath });
  t.after(async () => {
    process.off('worker', note);
    await thread.close();
  });
  await thread.listen();
  return { thread, workers };
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => {
      socket.destroy();
      resolve(true);
    }).on('error', () => resolve(false));
  });
}

test('a thread that is killed is replaced at the same address, once what it carried is said to be over', async (t) => {
  const order: string[] = [];
  const cleared = Promise.withResolvers<void>();
  const { thread, workers } = await startThread(t, () => {
    order.push('died');
    return cleared.promise;
  });
  const { port } = thread.address;
  assert.deepEqual(await thread.carried(), NOTHING);
  await workers[0]?.terminate();
  while (order.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(workers.length, 1, 'another one waits');
  assert.deepEqual(await thread.carried(), NOTHING);
  cleared.resolve();
  while (!(await connects(port))) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(workers.length, 2);
  assert.equal(thread.address.port, port);
});

test('of a thread that fails it is said why and where', async (t) => {
  const died = Promise.withResolvers<string>();
  const { workers } = await startThread(t, async (why) => died.resolve(why));
  // No message of the server's: the thread fails at it.
  workers[0]?.postMessage(null);
  assert.match(await died.promise, /TypeError: .*\n +at .*thread\.[jt]s/);
});

test('a thread that is closed is not replaced', async (t) => {
  let deaths = 0;
  const { thread, workers } = await startThread(t, async () => {
    deaths += 1;
  });
  const [worker] = workers;
  assert.ok(worker);
  const gone = once(worker, 'exit');
  await thread.close();
  await gone;
  assert.deepEqual([deaths, workers.length], [0, 1]);
});

test('an address that is taken is told with its code', async (t) => {
  const { thread } = await startThread(t, async () => {});
  const second = new CarryingThread(thread.address, { answer: NOBODY, onDeath: async () => {} });
  await assert.rejects(second.listen(), { code: 'EADDRINUSE', syscall: 'listen' });
});

const NOTHING = { open: [], brought: [] };

/** Has a thread keep to itself what it carries. */
function silence(worker: Worker | undefined): void {
  assert.ok(worker);
  const post = worker.postMessage.bind(worker);
  worker.postMessage = (messages: readonly ToThread[]) =>
    post(messages.filter(({ type }) => type !== 'report'));
}

test('what a thread carries that does not answer in time is not known', async (t) => {
  const { thread, workers } = await startThread(t, async () => {});
  silence(workers[0]);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let told: unknown = 'nothing yet';
  const carried = thread.carried().then((is) => {
    told = is;
  });
  t.mock.timers.tick(4_999);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(told, 'nothing yet');
  t.mock.timers.tick(1);
  t.mock.timers.reset();
  await carried;
  assert.equal(told, undefined);
});

test('a thread that dies while it is asked carries nothing', async (t) => {
  const { thread, workers } = await startThread(t, async () => {});
  silence(workers[0]);
  const carried = thread.carried();
  await workers[0]?.terminate();
  assert.deepEqual(await carried, NOTHING);
});

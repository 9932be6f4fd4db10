import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { SessionDialer } from './dialer.ts';
import { LocalProxy } from './local-proxy.ts';
import type { Refusal } from './refusal.ts';
import { type SessionConnection, SessionRefused } from './session-stream.ts';

// What it does when there is nothing to carry; test/processes/connect.test.ts has the rest.

const DAY = 86_400_000;

function makeProxy(
  dial: () => Promise<SessionConnection>,
  expires_ms: number,
): { proxy: LocalProxy; refusals: Refusal[] } {
  const refusals: Refusal[] = [];
  const proxy = new LocalProxy({
    dialer: { dial } as unknown as SessionDialer,
    expires_ms,
    onRefusal: (refusal) => refusals.push(refusal),
    onWorkerEnd() {},
  });
  return { proxy, refusals };
}

const never = (): Promise<SessionConnection> => new Promise(() => {});
const refuses = (code: number, reason: string) => () =>
  Promise.reject(new SessionRefused(code, reason));

async function listen(t: TestContext, proxy: LocalProxy): Promise<number> {
  t.after(() => proxy.stop());
  return (await proxy.listen({ host: '127.0.0.1', port: 0 })).port;
}

/** @returns how the connection is ended */
async function comeBy(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const [error] = await once(socket, 'error');
  return String(Reflect.get(Object(error), 'code'));
}

test('a session whose time is over is not carried at all', async () => {
  const { proxy } = makeProxy(never, Date.now() - 1);
  assert.deepEqual(await proxy.ended, { why: 'expired' });
});

test('a session that lasts longer than any timer ends at its time and not before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1e12 });
  const { proxy } = makeProxy(never, 1e12 + 60 * DAY);
  let why: string | undefined;
  void proxy.ended.then((end) => {
    why = end.why;
  });
  for (const [days, expected] of [
    [24, undefined],
    [24, undefined],
    [11, undefined],
    [1, 'expired'],
  ] as const) {
    t.mock.timers.tick(days * DAY);
    await Promise.resolve();
    assert.equal(why, expected);
  }
});

test('a refusal for good ends it, and the client sees its connection reset', async (t) => {
  const { proxy, refusals } = makeProxy(refuses(1008, 'tofu token not allowed'), Date.now() + DAY);
  const port = await listen(t, proxy);
  assert.equal(await comeBy(port), 'ECONNRESET');
  const end = await proxy.ended;
  assert.ok(end.why === 'refused' && end.refusal.kind === 'in use');
  assert.equal(await comeBy(port), 'ECONNREFUSED');
  assert.deepEqual(refusals, []);
});

test('a refusal of one connection is told, and the next one is tried', async (t) => {
  const { proxy, refusals } = makeProxy(
    refuses(3000, 'unable to setup proxying'),
    Date.now() + DAY,
  );
  const port = await listen(t, proxy);
  for (let n = 0; n < 2; n += 1) assert.equal(await comeBy(port), 'ECONNRESET');
  assert.deepEqual(
    refusals.map(({ kind }) => kind),
    ['endpoint', 'endpoint'],
  );
  const { total, open } = proxy.tally;
  assert.deepEqual([total, open], [0, 0]);
});

test('it can be stopped while a connection is on its way, and says so at once', async (t) => {
  const { proxy } = makeProxy(never, Date.now() + DAY);
  const port = await listen(t, proxy);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  // So that it is accepted.
  await new Promise(setImmediate);
  proxy.stop();
  assert.deepEqual(await proxy.ended, { why: 'stopped' });
  await closed;
});

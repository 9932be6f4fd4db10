import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { makeProject } from '../../../test/support/broker.ts';
import { newDirectory } from '../../../test/support/node-process.ts';
import { startTestServer } from '../../../test/support/server.ts';
import { listConnectionsById } from '../../broker/sessions/connections/store.ts';
import { ownWorker } from '../../broker/workers/embedded.operations.ts';
import { GRACE_MS } from '../grace.ts';
import { upstreamOf } from '../serving.operations.ts';
import { beginCarrying } from './carrying.operations.ts';
import { CarryingThread } from './carrying.pool.ts';

let ahead_ms = 0;
const server = await startTestServer({ after }, { jobs: [], now: () => Date.now() + ahead_ms });
const project = await makeProject(server);

for (const { past_ms, isCut } of [
  { past_ms: GRACE_MS - 1, isCut: false },
  { past_ms: GRACE_MS + 1, isCut: true },
]) {
  test(`what is carried ${isCut ? 'ends' : 'goes on'} when the store has not answered for ${past_ms} ms`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const cutAll = t.mock.method(CarryingThread.prototype, 'cutAll', () => {});
    const { app } = server.running;
    const silent = Object.create(app, {
      db: { value: { selectFrom: () => new Proxy({}, { get: (_, name) => hang(name) }) } },
    });
    const carrying = await beginCarrying(silent);
    t.after(() => carrying.close());
    void carrying.cut();
    now = past_ms;
    t.mock.timers.tick(1_000);
    assert.equal(cutAll.mock.callCount(), isCut ? 1 : 0);
  });
}

for (const { what, carried, isClosed } of [
  { what: 'is not known', carried: undefined, isClosed: false },
  { what: 'is nothing', carried: { open: [], brought: [] }, isClosed: true },
]) {
  test(`a connection of long ago is ${isClosed ? '' : 'not '}closed when what the thread carries ${what}`, async (t) => {
    const { app } = server.running;
    const connection_id = await makeConnection();
    ahead_ms += 60_000;
    t.mock.method(CarryingThread.prototype, 'carried', async () => carried);
    const carrying = await beginCarrying(app);
    t.after(() => carrying.close());
    await carrying.begin();
    await carrying.report();
    const [row] = await listConnectionsById(app.db, [connection_id]);
    assert.equal(row?.status === 'closed', isClosed);
  });
}

test('what a server carried that is gone is closed at its start, and not with a later look', async (t) => {
  const directory = newDirectory(t);
  const stops: (() => Promise<void>)[] = [];
  const scope = { after: (stop: () => Promise<void>) => void stops.push(stop) };
  const before = await startTestServer(scope, { directory, jobs: [] });
  const connection_id = await makeConnection(before, await makeProject(before));
  for (const stop of stops) await stop();
  // However soon it says what it carries.
  t.mock.method(CarryingThread.prototype, 'carried', async () => ({ open: [], brought: [] }));
  const { app } = (await startTestServer(t, { directory, jobs: [] })).running;
  const why = async () => (await listConnectionsById(app.db, [connection_id]))[0]?.closed_reason;
  while ((await why()) !== 'system error') await wait(20);
});

test('the thread ends what it has brought to another worker and is over there', async (t) => {
  const { app } = server.running;
  const open = await makeConnection();
  const carried = { open: [], brought: [open, 'sc_unknown'] };
  t.mock.method(CarryingThread.prototype, 'carried', async () => carried);
  const cut = t.mock.method(CarryingThread.prototype, 'cut');
  const carrying = await beginCarrying(app);
  t.after(() => carrying.close());
  await carrying.report();
  assert.deepEqual(cut.mock.calls.at(-1)?.arguments, [[], ['sc_unknown']]);
});

/** One that a server's own worker is said to carry. */
async function makeConnection(of = server, within = project): Promise<string> {
  const { app } = of.running;
  const target = await within.admin.call('POST', 'targets', {
    scope_id: within.id,
    type: 'tcp',
    name: `carried-${performance.now()}`,
    address: '127.0.0.1',
    attributes: { default_port: 22 },
  });
  const at = `targets/${target.textAt('id')}:authorize-session`;
  const session_id = (await within.admin.call('POST', at, {})).textAt('session_id');
  const worker = upstreamOf(app, ownWorker(app)?.id ?? '');
  await worker.activate({ session_id, tofu_token: 'abcdefghij0123456789', version: 1 });
  const { connection_id } = await worker.authorize({ session_id });
  return connection_id;
}

/** A query of whatever kind that is never answered. */
function hang(name: string | symbol): unknown {
  if (name === 'execute') return () => new Promise(() => {});
  return () => new Proxy({}, { get: (_, next) => hang(next) });
}

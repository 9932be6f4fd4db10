import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { after, test } from 'node:test';
import { makeProject } from '../../../test/support/broker.ts';
import { startTestServer } from '../../../test/support/server.ts';
import { ownWorker } from '../../broker/workers/embedded.operations.ts';
import { Failure } from '../../core/failure.ts';
import { upstreamOf } from '../serving.operations.ts';
import { judgeEnds } from './operations.ts';
import { openTunnelTo } from './tunnel.ts';

const TOFU = 'abcdefghij0123456789';

const server = await startTestServer({ after }, { jobs: [] });
const project = await makeProject(server);

/** Of a target that is made for it. */
async function authorizeSession() {
  const { id, admin } = project;
  const ask = async (path: string, body: object) => {
    const reply = await admin.call('POST', path, body);
    assert.equal(reply.status, 200, reply.text);
    return reply;
  };
  const target = await ask('targets', {
    scope_id: id,
    type: 'tcp',
    name: randomUUID(),
    address: '127.0.0.1',
    attributes: { default_port: 22 },
  });
  return ask(`targets/${target.textAt('id')}:authorize-session`, {});
}

test('what a worker behind ends with its session has not ended by its endpoint', async () => {
  const { app } = server.running;
  const egress_worker_id = ownWorker(app)?.id ?? '';
  const worker = upstreamOf(app, egress_worker_id);
  const begin = async () => {
    const session = await authorizeSession();
    const session_id = session.textAt('session_id');
    await worker.activate({ session_id, tofu_token: TOFU, version: 1 });
    return { session_id, ...(await worker.authorize({ session_id })) };
  };
  const traffic = { bytes_up: 1, bytes_down: 2 };
  const told: unknown[] = [];
  for (const isOver of [false, true]) {
    const { session_id, connection_id } = await begin();
    if (isOver) await worker.cancel({ session_id });
    const end = { connection_id, ...traffic, reason: 'unknown' as const };
    const [judged] = await judgeEnds(app, [{ ...end, egress_worker_id }]);
    // What it dialled itself it knows the end of.
    const [own] = await judgeEnds(app, [end]);
    told.push([judged?.reason, own?.reason]);
  }
  assert.deepEqual(told, [
    ['unknown', 'unknown'],
    ['canceled', 'unknown'],
  ]);
});

test('a connection has one way to its endpoint, however often its worker asks', async () => {
  const { app } = server.running;
  const session = await authorizeSession();
  const session_id = session.textAt('session_id');
  const worker = upstreamOf(app, ownWorker(app)?.id ?? '');
  await worker.activate({ session_id, tofu_token: TOFU, version: 1 });
  const ids = [await worker.authorize({ session_id }), await worker.authorize({ session_id })];
  const kinds: unknown[] = [];
  for (const at of [0, 0, 1]) {
    const { connection_id = '' } = ids[at] ?? {};
    const reached = worker.reach({ connection_id, ticket: '' });
    kinds.push(await reached.catch((error) => error instanceof Failure && error.kind));
  }
  // There is no other worker that could go.
  assert.deepEqual(kinds, ['unresolved', 'forbidden', 'unresolved']);
});

test('who comes to a tunnel whose other end has gone is not kept waiting', async () => {
  const through = new Socket();
  through.destroy();
  const tunnel = await openTunnelTo(through);
  const local = connect(tunnel.path);
  await once(local.resume(), 'close', { signal: AbortSignal.timeout(10_000) });
  tunnel.close();
});

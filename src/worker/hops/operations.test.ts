import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { after, test } from 'node:test';
import { makeProject } from '../../../test/support/broker.ts';
import { startTestServer } from '../../../test/support/server.ts';
import { ownWorker } from '../../broker/workers/embedded.operations.ts';
import { Failure } from '../../core/failure.ts';
import { upstreamOf } from '../serving.operations.ts';
import { openTunnelTo } from './tunnel.ts';

const server = await startTestServer({ after }, { jobs: [] });

test('a connection has one way to its endpoint, however often its worker asks', async () => {
  const { app } = server.running;
  const project = await makeProject(server);
  const ask = async (path: string, body: object) => {
    const reply = await project.admin.call('POST', path, body);
    assert.equal(reply.status, 200, reply.text);
    return reply;
  };
  const target = await ask('targets', {
    scope_id: project.id,
    type: 'tcp',
    name: 'reached',
    address: '127.0.0.1',
    attributes: { default_port: 22 },
  });
  const session = await ask(`targets/${target.textAt('id')}:authorize-session`, {});
  const session_id = session.textAt('session_id');
  const worker = upstreamOf(app, ownWorker(app)?.id ?? '');
  await worker.activate({ session_id, tofu_token: 'abcdefghij0123456789', version: 1 });
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

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { newDirectory } from '../support/node-process.ts';
import {
  addTarget,
  addWorker,
  awaitWorker,
  beginSession,
  connectionsOf,
  echo,
  eventually,
  overOf,
  startCarryingServer,
  startEcho,
  startWorkerProcess,
} from '../support/workers-alone.ts';

const EDGE = { egress_worker_filter: '"edge" in "/tags/type"' };
const tags = { type: ['edge'] };
/** The grace, and some seconds for whoever looks. */
const AFTER_GRACE_MS = 24_000;

test('a worker comes with its token, carries sessions, keeps who it is, and is cut off when it is deleted', async (t) => {
  const server = await startCarryingServer(t);
  const { port } = await startEcho(t);
  const { id, worker, token } = await addWorker(t, server, { name: 'edge-1', tags });
  const read = await server.call('GET', `workers/${id}`);
  assert.deepEqual(read.field('config_tags'), tags);
  const target = await addTarget(server, { ...EDGE, attributes: { default_port: port } });
  const session = await beginSession(server, target);
  assert.deepEqual(session.worker_addresses, [read.textAt('address')]);
  const stream = await session.open();
  await echo(stream, 'through the worker');

  const other = startWorkerProcess(
    t,
    { servers: [server.worker_address], state: newDirectory(t) },
    token,
  );
  assert.equal(await other.ended, 1, 'a token is good for one worker');
  assert.match(other.log(), /gatehouse: no such worker is expected/);
  const kept = readFileSync(join(worker.state, 'worker.json'), 'utf8');
  for (const text of [worker.log(), worker.output(), other.log(), other.output()]) {
    assert.ok(!text.includes(token), 'a token is not told');
  }

  const over = overOf(stream);
  await worker.kill('SIGTERM');
  assert.equal(await worker.ended, 0);
  await over;
  const [ended] = await connectionsOf(server, session.id);
  assert.deepEqual(
    { ...ended, client_tcp_port: 0, client_tcp_address: '' },
    {
      client_tcp_address: '',
      client_tcp_port: 0,
      endpoint_tcp_address: '127.0.0.1',
      endpoint_tcp_port: port,
      bytes_up: '18',
      bytes_down: '18',
      closed_reason: 'system error',
    },
    'a worker that goes tells how its connections ended',
  );

  // Its token is used up; it comes by what it has kept.
  const again = startWorkerProcess(t, {
    servers: [server.worker_address],
    state: worker.state,
    name: 'edge-1',
    tags,
  });
  const later = await eventually(async () => {
    const begun = await beginSession(server, target);
    const [address = ''] = begun.worker_addresses;
    assert.match(again.output(), new RegExp(`listens on ${address}\n`));
    return begun;
  }, 20_000);
  assert.equal(readFileSync(join(worker.state, 'worker.json'), 'utf8'), kept);
  const second = await later.open();
  await echo(second, 'again');

  const cut = overOf(second);
  const began = performance.now();
  assert.equal((await server.call('DELETE', `workers/${id}`)).status, 204);
  await cut;
  assert.equal(await again.ended, 1);
  assert.ok(performance.now() - began < 5_000, 'within seconds');
  assert.match(again.log(), /the server does not know this worker any more/);
  await eventually(async () => {
    const [connection] = await connectionsOf(server, later.id);
    assert.equal(connection?.closed_reason, 'system error');
  }, 10_000);
});

test('a worker exits and says so when the roots of workers are replaced', async (t) => {
  const server = await startCarryingServer(t);
  const { worker } = await addWorker(t, server, { name: 'edge' });
  const { worker: away } = await addWorker(t, server, { name: 'away' });
  await away.kill();
  const replaced = await server.call('POST', 'workers:reinitialize-certificate-authority', {
    scope_id: 'global',
  });
  assert.equal(replaced.status, 200, replaced.text);
  const code = await Promise.race([worker.ended, wait(30_000, 'it goes on', { ref: false })]);
  assert.equal(code, 1, worker.log());
  assert.match(worker.output() + worker.log(), /the roots of workers were replaced/);
  const { state } = away;
  const back = startWorkerProcess(t, { servers: [server.worker_address], state, name: 'away' });
  await eventually(
    async () => assert.match(back.log(), /roots that this worker does not know/),
    30_000,
  );
});

test('a worker that shows its own token waits until that is known', async (t) => {
  const server = await startCarryingServer(t);
  const { port } = await startEcho(t);
  const settings = { servers: [server.worker_address], state: newDirectory(t), tags };
  const worker = startWorkerProcess(t, { ...settings, name: 'shown' });
  const token = await eventually(async () => {
    const shown = /worker-led\):\n\n {2}(\w+)\n/.exec(worker.output())?.[1];
    assert.ok(shown, worker.log());
    return shown;
  }, 20_000);
  const made = await server.call('POST', 'workers:create:worker-led', {
    scope_id: 'global',
    worker_generated_auth_token: token,
  });
  assert.equal(made.status, 200, made.text);
  const id = made.textAt('id');
  await awaitWorker(server, id);
  const read = await server.call('GET', `workers/${id}`);
  assert.equal(read.textAt('name'), 'shown', 'it has the name of its configuration');
  const target = await addTarget(server, { ...EDGE, attributes: { default_port: port } });
  const session = await beginSession(server, target);
  await echo(await session.open(), 'hello');
});

test('connections outlive a server that is started anew within the grace', async (t) => {
  const server = await startCarryingServer(t);
  const { port } = await startEcho(t);
  const { id } = await addWorker(t, server, { name: 'edge-1', tags });
  const target = await addTarget(server, { ...EDGE, attributes: { default_port: port } });
  const session = await beginSession(server, target);
  const kept = await session.open();
  const left = await session.open();
  await echo(kept, 'before');
  await echo(left, 'before');
  await server.kill();
  await echo(kept, 'meanwhile');
  const over = overOf(left);
  left.end();
  await over;
  await server.start();
  await echo(kept, 'afterwards');
  await eventually(async () => {
    const connections = await connectionsOf(server, session.id);
    const reasons = connections.map(({ closed_reason }) => closed_reason);
    assert.deepEqual(new Set(reasons), new Set([undefined, 'closed by end-user']));
    const closed = connections.find(({ closed_reason }) => closed_reason);
    assert.equal(closed?.bytes_up, '6', 'what ended meanwhile is told');
    const read = await server.call('GET', `workers/${id}`);
    assert.equal(read.field('active_connection_count'), 1);
  }, 15_000);
  // Long enough for whoever looks for lost connections.
  await new Promise((resolve) => setTimeout(resolve, 12_000));
  await echo(kept, 'long afterwards');
  await echo(await session.open(), 'a new one');
});

test('connections end when their server stays away, and it takes them to have ended', async (t) => {
  const server = await startCarryingServer(t);
  const { port } = await startEcho(t);
  await addWorker(t, server, { name: 'edge-1', tags });
  const target = await addTarget(server, { ...EDGE, attributes: { default_port: port } });
  const session = await beginSession(server, target);
  const stream = await session.open();
  await echo(stream, 'before');
  const killed = performance.now();
  await server.kill();
  const over = overOf(stream);
  await over;
  const lasted = performance.now() - killed;
  assert.ok(lasted > 8_000, `it ran on for ${Math.round(lasted)} ms`);
  assert.ok(lasted < 17_000, `it ran on for ${Math.round(lasted)} ms`);
  await server.start();
  await eventually(async () => {
    const [connection] = await connectionsOf(server, session.id);
    assert.match(connection?.closed_reason ?? '', /system error/);
  }, AFTER_GRACE_MS);
});

test('what a worker carried that dies is closed, and counted no more', async (t) => {
  const server = await startCarryingServer(t);
  const { port } = await startEcho(t);
  const { id, worker } = await addWorker(t, server, { name: 'edge-1', tags });
  const target = await addTarget(server, { ...EDGE, attributes: { default_port: port } });
  const session = await beginSession(server, target);
  await echo(await session.open(), 'before');
  const countOf = async () =>
    (await server.call('GET', `workers/${id}`)).field('active_connection_count');
  assert.equal(await countOf(), 1);
  await worker.kill();
  await eventually(async () => assert.equal(await countOf(), 0), AFTER_GRACE_MS);
  const [connection] = await connectionsOf(server, session.id);
  assert.equal(connection?.closed_reason, 'system error');
});

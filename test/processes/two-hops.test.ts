import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { enrolAt } from '../../src/worker/alone/enrolling.client.ts';
import { Identity } from '../../src/worker/alone/identity.ts';
import { ServerLink } from '../../src/worker/alone/link.client.ts';
import { Errands } from '../../src/worker/carrying/errands.ts';
import { newDirectory, type Scope } from '../support/node-process.ts';
import {
  addTarget,
  addWorker,
  awaitWorker,
  beginSession,
  type CarryingServer,
  connectionsOf,
  echo,
  eventually,
  overOf,
  startCarryingServer,
  startEcho,
} from '../support/workers-alone.ts';

const IS = (tag: string): string => `"${tag}" in "/tags/type"`;

const PIECE = 64 << 10;

/** Sends so many bytes, and waits until they are back. */
async function carry(stream: Duplex, bytes: number): Promise<void> {
  const sent = randomBytes(bytes);
  let got = 0;
  const back = new Promise<void>((resolve) => {
    stream.on('data', (part: Buffer) => {
      assert.ok(part.equals(sent.subarray(got, got + part.length)));
      got += part.length;
      if (got === bytes) resolve();
    });
  });
  // A piece is a message, and long messages are refused.
  for (let at = 0; at < bytes; at += PIECE) {
    if (!stream.write(sent.subarray(at, at + PIECE))) await once(stream, 'drain');
  }
  await back;
  stream.removeAllListeners('data');
}

test('a worker inside a network that takes no connection is reached through another one', async (t) => {
  const server = await startCarryingServer(t);
  const { port, sockets } = await startEcho(t);
  const inner = { name: 'inside', listener: null, tags: { type: ['inner'] } };
  const { id: inside, worker } = await addWorker(t, server, inner);
  const { id: front } = await addWorker(t, server, { name: 'front', tags: { type: ['front'] } });
  const shown = await server.call('GET', `workers/${inside}`);
  assert.equal(shown.field('address'), undefined, 'nobody comes to it');
  const address = (await server.call('GET', `workers/${front}`)).textAt('address');
  const attributes = { default_port: port };

  const target = await addTarget(server, {
    egress_worker_filter: IS('inner'),
    ingress_worker_filter: IS('front'),
    attributes,
  });
  const session = await beginSession(server, target);
  assert.deepEqual(session.worker_addresses, [address]);
  const stream = await session.open();
  await carry(stream, 8 << 20);
  const streams = await Promise.all(Array.from({ length: 16 }, () => session.open()));
  await Promise.all(streams.map((one, at) => echo(one, `number ${at}`)));
  for (const one of streams) one.destroy();
  const over = overOf(stream);
  stream.end();
  await over;
  await eventually(async () => {
    const connections = await connectionsOf(server, session.id);
    assert.equal(connections.length, 17);
    assert.ok(connections.every(({ closed_reason }) => closed_reason));
    const up = connections.map(({ bytes_up }) => Number(bytes_up)).sort((a, b) => b - a);
    assert.equal(up[0], 8 << 20, 'counted once');
    assert.equal(Reflect.get(connections[0] ?? {}, 'endpoint_tcp_port'), port);
  }, 10_000);
  await eventually(async () => assert.equal(sockets.size, 0), 5_000);

  // Without an ingress filter any worker that can be reached takes them: the server's own is one.
  const any = await addTarget(server, { egress_worker_filter: IS('inner'), attributes });
  const second = await beginSession(server, any);
  assert.equal(second.worker_addresses.length, 2);
  assert.ok(second.worker_addresses.includes(address));
  for (const through of second.worker_addresses) await echo(await second.open(through), through);

  // Canceled at the first worker, it is over at the second.
  const third = await beginSession(server, target);
  const cut = overOf(await third.open());
  await eventually(async () => assert.ok(sockets.size > 2), 5_000);
  const read = await server.ask('GET', `sessions/${third.id}`);
  await server.ask('POST', `sessions/${third.id}:cancel`, { version: read.field('version') });
  await cut;
  await eventually(async () => assert.equal(sockets.size, 2), 5_000);

  // The second worker dies, and the connection with it.
  const fourth = await beginSession(server, target);
  const lost = await fourth.open();
  await echo(lost, 'before');
  const left = overOf(lost);
  await worker.kill();
  await left;
  await eventually(async () => {
    const [connection] = await connectionsOf(server, fourth.id);
    assert.equal(connection?.closed_reason, 'system error');
  }, 5_000);
  // It is not known to be dead yet, but nobody holds a connection to it.
  const began = performance.now();
  await overOf(await fourth.open());
  assert.ok(performance.now() - began < 10_000);
});

test('a worker behind that goes is told from an endpoint that ends', async (t) => {
  const server = await startCarryingServer(t);
  const { port, sockets } = await startEcho(t);
  const inner = { name: 'inside', listener: null, tags: { type: ['inner'] } };
  const { worker } = await addWorker(t, server, inner);
  const target = await addTarget(server, {
    egress_worker_filter: IS('inner'),
    ingress_worker_filter: '"embedded" in "/tags/type"',
    session_connection_limit: -1,
    attributes: { default_port: port },
  });
  const session = await beginSession(server, target);
  const reasonsOf = async () =>
    (await connectionsOf(server, session.id)).map(({ closed_reason }) => closed_reason);
  for (const [end, reason] of [
    [(socket: Socket) => void socket.end(), 'unknown'],
    [(socket: Socket) => void socket.resetAndDestroy(), 'unknown'],
    [() => void worker.kill('SIGTERM'), 'system error'],
  ] as const) {
    const stream = await session.open();
    await echo(stream, 'before');
    const over = overOf(stream);
    const [socket] = sockets;
    assert.ok(socket);
    end(socket);
    await over;
    await eventually(async () => {
      const [newest] = await reasonsOf();
      assert.equal(newest, reason);
    }, 10_000);
    await eventually(async () => assert.equal(sockets.size, 0), 5_000);
  }
  assert.deepEqual(await reasonsOf(), ['system error', 'unknown', 'unknown']);
});

/** A worker that dials out for others as it should, and does nothing else that it is told. */
async function startDisobedient(
  test: Scope,
  server: CarryingServer,
  settings: { name: string; type: string },
): Promise<{ id: string }> {
  const made = await server.call('POST', 'workers:create:controller-led', {
    scope_id: 'global',
    name: settings.name,
  });
  const id = made.textAt('id');
  const [host = '', port] = server.worker_address.split(':');
  const at = { host, port: Number(port) };
  const identity = Identity.open(newDirectory(test));
  const given = made.textAt('controller_generated_activation_token');
  identity.keep(await enrolAt(at, identity, { given }));
  const { credentials } = identity;
  assert.ok(credentials);
  const errands = new Errands();
  errands.prove(credentials);
  const welcome = Promise.withResolvers<void>();
  const link = await ServerLink.open(at, credentials, {
    welcome: () => welcome.resolve(),
    bring: async ({ id, errand }) => {
      link.say({ type: 'brought', id, ...(await errands.run(errand)) });
    },
    heard() {},
    renewed() {},
    cut() {},
  });
  test.after(() => {
    link.drop();
    errands.cutAll();
  });
  link.say({
    ...{ type: 'hello', name: settings.name, description: '', address: '' },
    ...{ release_version: 'none', tags: { type: [settings.type] } },
  });
  await welcome.promise;
  link.say({ type: 'report', report_id: 1, state: 'active', open: [] });
  await awaitWorker(server, id);
  return { id };
}

for (const front of ['embedded', 'alone'] as const) {
  for (const end of ['is deleted', 'has no key any more'] as const) {
    // New roots are new for the worker in front, too, where that stands alone.
    if (front === 'alone' && end !== 'is deleted') continue;
    test(`what runs through a worker that ${end} ends within two seconds, also where that does not obey (in front: ${front})`, async (t) => {
      const server = await startCarryingServer(t);
      const { port } = await startEcho(t);
      if (front === 'alone') {
        await addWorker(t, server, { name: 'front', tags: { type: ['alone'] } });
      }
      const bad = await startDisobedient(t, server, { name: 'bad', type: 'bad' });
      const good = { name: 'good', listener: null, tags: { type: ['good'] } };
      await addWorker(t, server, good);
      const begin = async (egress: string) => {
        const filters = { egress_worker_filter: IS(egress), ingress_worker_filter: IS(front) };
        const attributes = { default_port: port };
        return beginSession(server, await addTarget(server, { ...filters, attributes }));
      };
      const session = await begin('bad');
      const lost = await session.open();
      await echo(lost, 'before');
      const beside = await begin('good');
      const kept = await beside.open();
      await echo(kept, 'before');
      const over = overOf(lost);
      const began = performance.now();
      const ended =
        end === 'is deleted'
          ? await server.call('DELETE', `workers/${bad.id}`)
          : await server.call('POST', 'workers:reinitialize-certificate-authority?scope_id=global');
      assert.ok(ended.status < 300, ended.text);
      await over;
      const lasted = performance.now() - began;
      // Two seconds, and some for a machine that has much to do.
      assert.ok(lasted < 5_000, `it ended after ${Math.round(lasted)} ms`);
      await eventually(async () => {
        const [connection] = await connectionsOf(server, session.id);
        assert.equal(connection?.closed_reason, 'system error');
      }, 5_000);
      if (end === 'is deleted') await echo(kept, 'through the other one it goes on');
    });
  }
}

test('what runs through a worker that hangs ends when that is taken for dead', async (t) => {
  const server = await startCarryingServer(t);
  const { port } = await startEcho(t);
  const begin = async (name: string) => {
    const inner = { name, listener: null, tags: { type: [name] } };
    const { worker } = await addWorker(t, server, inner);
    const filters = { egress_worker_filter: IS(name), ingress_worker_filter: IS('embedded') };
    const attributes = { default_port: port };
    const session = await beginSession(server, await addTarget(server, { ...filters, attributes }));
    const stream = await session.open();
    await echo(stream, 'before');
    return { worker, session, stream };
  };
  const [lost, kept] = [await begin('hangs'), await begin('works')];
  t.after(() => lost.worker.kill('SIGCONT'));
  // The system goes on answering for it: to whoever holds a connection, it is there.
  lost.worker.kill('SIGSTOP');
  await overOf(lost.stream);
  await eventually(async () => {
    const [connection] = await connectionsOf(server, lost.session.id);
    assert.equal(connection?.closed_reason, 'system error');
  }, 5_000);
  await echo(kept.stream, 'through the other one it goes on');
});

test('the server’s own worker goes out for others, and an endpoint that nobody reaches is said so', async (t) => {
  const server = await startCarryingServer(t);
  const { port } = await startEcho(t);
  await addWorker(t, server, { name: 'front', tags: { type: ['front'] } });
  const own = '"embedded" in "/tags/type"';
  const filters = { egress_worker_filter: own, ingress_worker_filter: IS('front') };
  const target = await addTarget(server, { ...filters, attributes: { default_port: port } });
  const session = await beginSession(server, target);
  await echo(await session.open(), 'through the server');

  const gone = await addTarget(server, { ...filters, attributes: { default_port: 1 } });
  const second = await beginSession(server, gone);
  const stream = await second.open();
  await overOf(stream);
  await eventually(async () => {
    const [connection] = await connectionsOf(server, second.id);
    assert.equal(connection?.closed_reason, 'network error');
  }, 5_000);

  const nobody = await addTarget(server, {
    egress_worker_filter: IS('nobody'),
    attributes: { default_port: port },
  });
  const refused = await server.project.admin.call(
    'POST',
    `targets/${nobody}:authorize-session`,
    {},
  );
  assert.equal(refused.status, 500);
  assert.match(refused.text, /have been filtered/);
});

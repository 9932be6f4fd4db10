import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import {
  type AddressInfo,
  connect,
  createServer,
  Server,
  type ServerOpts,
  type Socket,
} from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { until } from '../../test/support/raw-talk.ts';
import { findPlaces, firstDoor, openDoors } from './doors.ts';

async function start(
  t: TestContext,
  options: ServerOpts = {},
): Promise<{
  server: Server;
  place: { host: string; port: number };
  closeDoors: () => Promise<void>;
}> {
  const server = createServer(options);
  server.listen(await firstDoor({ host: '127.0.0.1', port: 0 }));
  await once(server, 'listening');
  const closeDoors = await openDoors(server);
  t.after(async () => {
    server.close();
    await closeDoors();
  });
  return {
    server,
    place: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    closeDoors,
  };
}

test('whoever comes comes to the one server, by whatever door', async (t) => {
  const { server, place } = await start(t);
  const come: Socket[] = [];
  server.on('connection', (socket: Socket) => come.push(socket));
  const clients = Array.from({ length: 40 }, () => connect(place));
  await until(() => come.length === 40);
  if (process.platform === 'linux') {
    const own = await promisify(server.getConnections.bind(server))();
    assert.ok(own < 40, 'some came by other doors');
  }
  for (const socket of come) socket.end('hello');
  for (const client of clients) {
    const [said] = await once(client, 'data');
    assert.equal(`${said}`, 'hello');
  }
});

for (const allowHalfOpen of [true, false]) {
  test(`who says no more is ${allowHalfOpen ? 'still answered' : 'ended'} where the server has it so, by whatever door`, async (t) => {
    const { server, place } = await start(t, { allowHalfOpen });
    const come: Socket[] = [];
    server.on('connection', (socket: Socket) => come.push(socket.resume()));
    const clients = Array.from({ length: 40 }, () => connect({ ...place, allowHalfOpen: true }));
    for (const client of clients) client.resume().end();
    await until(() => come.length === 40 && come.every(({ readableEnded }) => readableEnded));
    // A stream ends its other half after that is said.
    await nextTurn();
    const ended = come.filter(({ writableEnded }) => writableEnded).length;
    for (const socket of [...clients, ...come]) socket.destroy();
    assert.equal(ended, allowHalfOpen ? 0 : 40);
  });
}

test('a port at which somebody listens is refused, also to whoever would share it', async (t) => {
  const { place } = await start(t);
  await assert.rejects(firstDoor(place), { code: 'EADDRINUSE' });
});

/** The servers that come to listen from now on. */
function watchListening(t: TestContext): readonly Server[] {
  const doors: Server[] = [];
  const channel = 'tracing:net.server.listen:asyncStart';
  const watch = (message: unknown): void => {
    if (typeof message !== 'object' || message === null) return;
    const door: unknown = Reflect.get(message, 'server');
    if (door instanceof Server) doors.push(door);
  };
  subscribe(channel, watch);
  t.after(() => unsubscribe(channel, watch));
  return doors;
}

test('nor is a port shared at another address of the server, and no door is open then', async (t) => {
  const { place } = await start(t);
  const server = createServer().listen(await firstDoor({ ...place, host: '127.0.0.2' }));
  await once(server, 'listening');
  t.after(() => server.close());
  const doors = watchListening(t);
  await assert.rejects(openDoors(server, [place.host]), { code: 'EADDRINUSE' });
  assert.deepEqual(
    doors.filter(({ listening }) => listening),
    [],
  );
});

test('an error in accepting somebody at a door is the server’s', async (t) => {
  const { server } = await start(t);
  const watched = watchListening(t);
  t.after(await openDoors(server, ['127.0.0.2']));
  const told: unknown[] = [];
  server.on('error', (error) => told.push(error));
  const doors = watched.filter(({ listening }) => listening);
  const errors = doors.map(() => new Error('accept ENOBUFS'));
  for (const [at, door] of doors.entries()) door.emit('error', errors[at]);
  assert.ok(doors.length > 0);
  assert.deepEqual(told, errors);
});

test('doors are closed once those have gone who came by them', async (t) => {
  const { server, place, closeDoors } = await start(t);
  const come: Socket[] = [];
  server.on('connection', (socket) => come.push(socket));
  const clients = Array.from({ length: 20 }, () => connect(place));
  await Promise.all(clients.map((client) => once(client, 'connect')));
  await until(() => come.length === 20);
  let isClosed = false;
  server.close();
  const closed = closeDoors().then(() => {
    isClosed = true;
  });
  const late = connect(place);
  await assert.rejects(once(late, 'connect'), { code: 'ECONNREFUSED' });
  assert.equal(isClosed, false, 'those who came are still there');
  for (const socket of come) socket.destroy();
  await closed;
});

test('a server is at all addresses that it is to be found at, and comes from each to the same', async (t) => {
  const { server, place } = await start(t);
  const close = await openDoors(server, ['127.0.0.2', '192.0.2.1']);
  t.after(close);
  server.on('connection', (socket: Socket) => socket.end('hello'));
  for (const host of ['127.0.0.1', '127.0.0.2']) {
    const client = connect({ ...place, host });
    const [said] = await once(client, 'data');
    assert.equal(`${said}`, 'hello', host);
    client.end();
  }
});

const ADDRESSES = ['127.0.0.1', '::1', '127.0.0.1'];
const places: [host: string, found: string[], at: string[]][] = [
  ['localhost', ADDRESSES, ['127.0.0.1', '::1']],
  ['localhost', ['::1'], ['::1']],
  ['ca.example.com', ['192.0.2.1', '192.0.2.2'], ['192.0.2.1']],
  ['0.0.0.0', [], ['0.0.0.0']],
  ['::', [], ['::']],
];
for (const [host, found, at] of places) {
  test(`${host}, which is ${found.join(' and ') || 'an address'}: listens at ${at.join(' and ')}`, async () => {
    const find = async () => found.map((address) => ({ address }));
    const all = await findPlaces({ host, port: 8200 }, find);
    assert.deepEqual(
      all,
      at.map((one) => ({ host: one, port: 8200 })),
    );
  });
}

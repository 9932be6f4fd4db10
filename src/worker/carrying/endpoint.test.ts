import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { dial, leave, parseEndpoint, untilClosed } from './endpoint.ts';

for (const [endpoint, host, port] of [
  ['tcp://10.0.0.5:22', '10.0.0.5', 22],
  ['ssh://db.example:5432', 'db.example', 5432],
  ['tcp://[2001:db8::1]:22', '2001:db8::1', 22],
] as const) {
  test(`${endpoint} leads to ${host}, port ${port}`, () => {
    assert.deepEqual(parseEndpoint(endpoint), { host, port });
  });
}

async function endpointThat(t: TestContext, serve: (socket: Socket) => void): Promise<Socket> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on('error', () => {}));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return (await dial(`tcp://127.0.0.1:${port}`)).on('error', () => {});
}

test('an endpoint that is left has all that was sent, and its own last words are read', async (t) => {
  let heard = 0;
  const endpoint = await endpointThat(t, (socket) => {
    socket.on('data', ({ length }) => {
      heard += length;
    });
    socket.on('end', () => socket.end(Buffer.alloc(1 << 20)));
  });
  endpoint.write(Buffer.alloc(1 << 20));
  leave(endpoint);
  await untilClosed(endpoint);
  assert.deepEqual([heard, endpoint.bytesRead], [1 << 20, 1 << 20]);
});

test('an endpoint that has ended its own side takes what it was sent before, late as it is', async (t) => {
  let heard = 0;
  const theirs = Promise.withResolvers<Socket>();
  const endpoint = await endpointThat(t, (socket) => {
    socket.pause();
    theirs.resolve(socket);
  });
  const socket = await theirs.promise;
  endpoint.write(Buffer.alloc(64 << 20));
  endpoint.resume();
  const hasEnded = once(endpoint, 'end');
  socket.end('last words');
  await hasEnded;
  leave(endpoint);
  socket.on('data', ({ length }) => {
    heard += length;
  });
  const end = once(socket, 'end');
  socket.resume();
  await end;
  assert.equal(heard, 64 << 20);
});

test('an endpoint that does not take what it was sent cannot take it for all', async (t) => {
  const theirs = Promise.withResolvers<Socket>();
  const endpoint = await endpointThat(t, (socket) => {
    socket.pause();
    theirs.resolve(socket);
  });
  const socket = await theirs.promise;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  endpoint.write(Buffer.alloc(64 << 20));
  leave(endpoint);
  t.mock.timers.tick(60_000);
  await untilClosed(endpoint);
  const isReset = new Promise((resolve) => socket.once('error', resolve));
  socket.on('end', () => assert.fail('it has ended'));
  socket.resume();
  assert.equal(Reflect.get(Object(await isReset), 'code'), 'ECONNRESET');
});

test('an endpoint that is left and speaks on and on is not listened to for long', async (t) => {
  const endpoint = await endpointThat(t, (socket) => {
    const piece = Buffer.alloc(1 << 20);
    const goOn = (): void =>
      void (socket.write(piece) ? setImmediate(goOn) : socket.once('drain', goOn));
    goOn();
  });
  leave(endpoint);
  await untilClosed(endpoint);
  assert.ok(endpoint.bytesRead < 32 << 20, `${endpoint.bytesRead}`);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { connect as connectSecure, type TLSSocket } from 'node:tls';
import { startRefusingCarrier } from '../../../test/support/refusing-carrier.ts';
import { openSecure } from '../../../test/support/session-client.ts';

const { session, port } = await startRefusingCarrier();

/** @returns the port of a line to the carrier on which all that it says comes so much later */
async function slowLine(t: TestContext, delay_ms: number): Promise<number> {
  const sockets = new Set<Socket>();
  const relay = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    for (const socket of [client, server]) sockets.add(socket.on('error', () => {}));
    client.on('data', (bytes) => server.write(bytes)).on('close', () => server.destroy());
    server.on('close', () => client.destroy());
    server.on('data', (bytes) => void wait(delay_ms).then(() => client.write(bytes)));
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  return (relay.address() as AddressInfo).port;
}

/** The first message of a handshake. */
async function firstMessage(): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: at } = server.address() as AddressInfo;
  const client = connectSecure({
    host: '127.0.0.1',
    port: at,
    servername: session.session_id,
    minVersion: 'TLSv1.3',
  }).on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return hello;
}

function closeAll(sockets: readonly (Socket | TLSSocket)[]): void {
  for (const socket of sockets) socket.destroy();
}

test('slow clients have their handshakes beside two hundred quick ones of their own address', async (t) => {
  const slow = await slowLine(t, 3_000);
  const shaken = await Promise.all([
    ...Array.from({ length: 60 }, () => openSecure(session, slow)),
    ...Array.from({ length: 200 }, () => openSecure(session, port)),
  ]);
  assert.equal(shaken.length, 260);
  closeAll(shaken);
});

test('five hundred handshakes that one address leaves undone keep nobody out', async () => {
  const hello = await firstMessage();
  const strangers = Array.from({ length: 500 }, () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    socket.on('error', () => {}).write(hello);
    return socket;
  });
  await Promise.all(strangers.map((socket) => once(socket, 'connect')));
  const order: string[] = [];
  const shake = async (localAddress: string): Promise<TLSSocket> => {
    const secure = await openSecure(session, port, { localAddress });
    order.push(localAddress);
    return secure;
  };
  // The one of the strangers' own address comes first, and waits until each of them has stepped aside.
  const all = await Promise.all(['127.0.0.2', '127.0.0.3', '127.1.0.1'].map(shake));
  assert.equal(order.at(-1), '127.0.0.2');
  closeAll([...strangers, ...all]);
});

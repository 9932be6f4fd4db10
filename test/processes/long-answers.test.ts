import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { startWatchedTls } from '../support/watched-tls.ts';
import type { Watched } from '../worst-cases/measure.ts';

let server: Watched;
before(async () => {
  server = await startWatchedTls({ after }, 'ec');
});
after(() => server.stop());

/** Of the answer, at least. */
const LENGTH = 300_000;
const CLIENTS = 400;

/** A client that takes nothing before it is told to. */
async function come(localAddress: string): Promise<TLSSocket> {
  const socket = connect({
    port: server.port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ...{ localAddress },
  });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

/** Drawn up once and kept, so that it is had as fast as it is asked for. */
const ask =
  'GET /v1/sys/internal/specs/openapi HTTP/1.1\r\nHost: localhost\r\nX-Vault-Token: root\r\nConnection: close\r\n\r\n';

/** How many bytes come until the server hangs up. */
async function take(socket: TLSSocket): Promise<number> {
  let length = 0;
  socket.on('data', (piece: Buffer) => {
    length += piece.length;
  });
  if (!socket.closed) await once(socket, 'close');
  return length;
}

async function comeTogether(count: number, localAddress: string): Promise<TLSSocket[]> {
  const sockets: TLSSocket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: 50 }, () => come(localAddress));
    sockets.push(...(await Promise.all(some)));
  }
  return sockets;
}

async function askTogether(sockets: readonly TLSSocket[]): Promise<number[]> {
  const taken = sockets.map((socket) => take(socket));
  for (const socket of sockets) socket.write(ask);
  return Promise.all(taken);
}

test('clients that ask for long answers in the same moment over TLS all have them whole', async () => {
  const lengths = await askTogether(await comeTogether(CLIENTS, '127.0.0.2'));
  assert.equal(lengths.filter((length) => length > LENGTH).length, CLIENTS);
});

test('of an address that asks for long answers and takes none nobody else waits for theirs', async () => {
  const slow = await comeTogether(300, '127.0.0.3');
  for (const socket of slow) socket.pause().write(ask);
  const lengths = await askTogether(await comeTogether(100, '127.0.0.4'));
  assert.equal(lengths.filter((length) => length > LENGTH).length, 100);
  for (const socket of slow) socket.destroy();
});

// However a request is sent, it holds the event loop no longer than others do, and leaves nothing.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { isTooLong, startWatched, type Watched } from '../worst-cases/measure.ts';
import { type Asked, SENDINGS, type Sending } from '../worst-cases/sending.ts';

const KIB = 1 << 10;
const TOKEN = 'X-Vault-Token: root\r\nAuthorization: Bearer root\r\n';
const textOf = (length: number): string => `{"a":"${'b'.repeat(length - 8)}"}`;

const asked: Asked[] = [
  {
    name: 'unsealing without a token',
    method: 'PUT',
    target: '/v1/sys/unseal',
    headers: '',
    body: textOf(60 * KIB),
  },
  {
    name: 'logging in without a token',
    method: 'POST',
    target: '/v1/auth-methods/ampw_1234567890:authenticate',
    headers: '',
    body: textOf(60 * KIB),
  },
  {
    name: 'somebody keeping a text',
    method: 'POST',
    target: '/v1/cubbyhole/x',
    headers: TOKEN,
    body: textOf(1_000 * KIB),
  },
  {
    name: 'somebody making a scope',
    method: 'POST',
    target: '/v1/scopes',
    headers: TOKEN,
    body: textOf(1_000 * KIB),
  },
];

let server: Watched;
before(async () => {
  server = await startWatched();
  // What is compiled and loaded with the first requests is not what they cost.
  for (const one of asked) {
    const pieces = [
      `${one.method} ${one.target} HTTP/1.1\r\nHost: localhost\r\n${one.headers}\r\n`,
    ];
    await send({ name: 'the first', pieces });
  }
});
after(() => server.stop());

/** Writes the pieces, each as a segment of its own, and waits until the server has said all it will. */
async function send({ pieces }: Sending): Promise<string> {
  const { port } = new URL(server.url);
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
  });
  // It may hang up while something is being sent.
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => {});
    socket.once('close', () => resolve());
  });
  for (const piece of pieces) {
    if (socket.destroyed) break;
    if (!socket.write(piece)) {
      await Promise.race([new Promise<void>((done) => socket.once('drain', () => done())), closed]);
    } else if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve));
  }
  // What follows is no request: whatever was begun is answered, and the connection ended.
  socket.end();
  await closed;
  return text;
}

/** Only what is too long each time it is tried is slow. */
async function findPauses(sending: Sending): Promise<number[]> {
  const pauses: number[] = [];
  while (pauses.length < 3) {
    await server.takeLongest();
    await send(sending);
    const pause = await server.takeLongest();
    if (!isTooLong(pause)) return [];
    pauses.push(Math.round(pause));
  }
  return pauses;
}

for (const one of asked) {
  for (const [kind, make] of SENDINGS) {
    test(`${one.name}, by ${kind}: no turn of 50 ms`, async () => {
      const slow: string[] = [];
      for (const sending of make(one)) {
        const pauses = await findPauses(sending);
        if (pauses.length > 0) slow.push(`${sending.name}: ${pauses} ms`);
      }
      assert.deepEqual(slow, []);
      assert.equal(server.lost(), false);
      const health = { method: 'GET', target: '/v1/sys/health', headers: {} };
      assert.equal((await server.send(health)).status, 200);
    });
  }
}

test('what was sent is not kept', async () => {
  assert.ok((await server.takeHeap()) < 200 << 20);
});

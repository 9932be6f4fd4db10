import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FeedTurns } from '../sockets/feed.ts';
import { decipherInTurns } from './deciphering.ts';

/** A client, and what TLS would have of it. */
async function meet(t: TestContext): Promise<{ client: Socket; gate: Duplex }> {
  const server = createServer({ allowHalfOpen: true });
  const come = new Promise<Duplex>((resolve) => server.on('connection', resolve));
  decipherInTurns(server, new FeedTurns());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const client = connect({ port: address.port, host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => {
    client.destroy();
    server.close();
  });
  const gate = await come;
  return { client, gate };
}

/** Turns of the loop in which what is on its way comes. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 2_000; turn++) await nextTurn();
}

test('all that is said comes in its order and in slices, then its end', async (t) => {
  const { client, gate } = await meet(t);
  const said = Buffer.from(Array.from({ length: 300_000 }, (_, n) => n % 251));
  const heard: Buffer[] = [];
  gate.on('data', (bytes: Buffer) => heard.push(bytes));
  client.end(said);
  await once(gate, 'end');
  assert.deepEqual(Buffer.concat(heard), said);
  assert.ok(heard.every(({ length }) => length <= 2 << 10));
});

test('all that is answered leaves in its order, then its end', async (t) => {
  const { client, gate } = await meet(t);
  const heard: Buffer[] = [];
  client.on('data', (bytes: Buffer) => heard.push(bytes));
  const pieces = Array.from({ length: 50 }, (_, n) => Buffer.alloc(9_000, n));
  for (const piece of pieces) gate.write(piece);
  gate.end();
  await once(client, 'end');
  assert.deepEqual(Buffer.concat(heard), Buffer.concat(pieces));
});

test('who does not take the answers is not listened to until they are taken', async (t) => {
  const { client, gate } = await meet(t);
  let heard = 0;
  gate.on('data', (bytes: Buffer) => {
    heard += bytes.length;
    gate.write(Buffer.alloc(bytes.length * 16));
  });
  const said = 4 << 20;
  client.pause();
  client.write(Buffer.alloc(said));
  await settle();
  assert.ok(heard > 0 && heard < said, `${heard}`);
  // What the system keeps for the client, and what is answered to all that is read from a socket at once.
  assert.ok(heard * 16 < 16 << 20, `${heard * 16} bytes are answered`);
  let taken = 0;
  const all = new Promise<void>((resolve) => {
    client.on('data', (bytes: Buffer) => {
      taken += bytes.length;
      if (taken === said * 16) resolve();
    });
  });
  client.resume();
  await all;
  assert.equal(heard, said);
});

test('what is paused is given nothing, and what comes meanwhile is not lost', async (t) => {
  const { client, gate } = await meet(t);
  let heard = 0;
  gate.on('data', (bytes: Buffer) => {
    heard += bytes.length;
  });
  gate.pause();
  const said = 8 << 20;
  client.write(Buffer.alloc(said));
  await settle();
  assert.deepEqual([heard, gate.readableLength], [0, 0]);
  gate.resume();
  while (heard < said) await nextTurn();
});

test('who leaves ends what stands for them, and the other way round', async (t) => {
  const first = await meet(t);
  const told = once(first.gate, 'error');
  first.client.resetAndDestroy();
  first.gate.resume();
  const [error] = await told;
  assert.match(String(error), /ECONNRESET/);
  assert.ok(first.gate.destroyed);
  const second = await meet(t);
  second.gate.destroy();
  await once(second.client.resume(), 'end');
});

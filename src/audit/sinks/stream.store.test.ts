import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { FedRecord } from './sink.ts';
import { openStream } from './stream.store.ts';

const recordOf = (seq: number, bytes = 2): FedRecord => ({
  node: 'a',
  seq,
  time_ms: 0,
  record: 'x'.repeat(bytes),
  prev_hash: new Uint8Array(32),
  hash: new Uint8Array(32),
});

/** A stream that has been put record 1, and the server's side of it, which reads nothing. */
async function openOne(t: TestContext, write_ms = 30_000) {
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  const sink = openStream({ host: '127.0.0.1', port: address.port }, { write_ms }, (records) =>
    records.map(({ record }) => record).join(''),
  );
  t.after(() => sink.close());
  const arrival = once(server, 'connection');
  await sink.put([recordOf(1)]);
  const [socket]: Socket[] = await arrival;
  assert.ok(socket);
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  return { sink, socket };
}

async function nextBreak(find: () => Error | undefined): Promise<Error> {
  for (;;) {
    const found = find();
    if (found) return found;
    await setImmediate();
  }
}

const BREAKS: [what: string, break_it: (socket: Socket) => void, why: RegExp][] = [
  ['is reset', (socket) => socket.resetAndDestroy(), /ECONNRESET/],
  ['goes without having read all', (socket) => socket.destroy(), /ECONNRESET/],
  ['ends the connection at once', (socket) => socket.end(), /closed by the other side/],
  [
    'says more than it is sent',
    (socket) => socket.write(Buffer.alloc(1 << 20)),
    /sends more than it is sent/,
  ],
];
for (const [what, break_it, why] of BREAKS) {
  test(`when a log server ${what} it is told once that records may be lost, and none is sure`, async (t) => {
    const { sink, socket } = await openOne(t);
    assert.equal(sink.reading.findBreak(), undefined);
    break_it(socket);
    assert.match((await nextBreak(sink.reading.findBreak)).message, why);
    assert.equal(sink.reading.findBreak(), undefined);
    assert.equal(sink.reading.sure(), undefined);
    await sink.put([recordOf(1)]);
  });
}

test('a break between two puts refuses the next, which would hide it', async (t) => {
  const { sink, socket } = await openOne(t);
  socket.resetAndDestroy();
  await assert.rejects(async () => {
    for (;;) {
      await sink.put([recordOf(2)]);
      await setImmediate();
    }
  }, /the connection broke|EPIPE|ECONNRESET|closed/);
});

test('a log server may repeat what it is sent', async (t) => {
  const { sink, socket } = await openOne(t);
  socket.pipe(socket);
  for (let seq = 2; seq < 20; seq++) await sink.put([recordOf(seq, 65_536)]);
  await sink.reading.finish();
  assert.equal(sink.reading.sure(), 19);
});

const FINISHED: [what: string, take: (socket: Socket) => void, sure: number | undefined][] = [
  ['reads all and ends its side', (socket) => socket.on('end', () => socket.end()).resume(), 1],
  ['reads nothing', () => {}, undefined],
  ['is reset', (socket) => socket.resetAndDestroy(), undefined],
];
for (const [what, take, sure] of FINISHED) {
  test(`at the end a log server that ${what} ${sure ? 'has' : 'may not have'} all`, async (t) => {
    const { sink, socket } = await openOne(t);
    take(socket);
    await sink.reading.finish();
    assert.equal(sink.reading.sure(), sure);
  });
}

test('a server that stops reading is left in time', async (t) => {
  const { sink } = await openOne(t, 200);
  // More than what both sides hold for a connection.
  await assert.rejects(sink.put([recordOf(2, 40 << 20)]), /not read/);
  assert.equal(sink.reading.sure(), undefined);
  await sink.put([recordOf(1)]);
});

// Many bytes through a session: none is lost, whoever is slow.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';
import { after, test } from 'node:test';
import {
  allClosed,
  authorizeSession,
  listenFor,
  makeTarget,
  openStream,
  readSessionWhen,
  untilClosed,
} from '../support/carried.ts';
import { startBroker } from '../support/seeded-broker.ts';

const BYTES = 100 << 20;
const PIECE = randomBytes(1 << 16);
/** The digest of all that is sent: the same piece again and again, with its number. */
const DIGEST = (() => {
  const hash = createHash('sha256');
  for (let n = 0; n < BYTES / PIECE.length; n++) hash.update(pieceOf(n));
  return hash.digest('hex');
})();

function pieceOf(n: number): Buffer {
  const piece = Buffer.from(PIECE);
  piece.writeUInt32BE(n);
  return piece;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** @param isSlow waits now and then */
async function sendAll(stream: Writable, isSlow: boolean): Promise<void> {
  for (let n = 0; n < BYTES / PIECE.length; n++) {
    if (!stream.write(pieceOf(n))) await once(stream, 'drain');
    if (isSlow && n % 64 === 0) await pause(20);
  }
}

async function digestOf(stream: Readable, isSlow: boolean): Promise<string> {
  const hash = createHash('sha256');
  let count = 0;
  let slept = 0;
  for await (const piece of stream.iterator({ destroyOnReturn: false })) {
    hash.update(piece as Buffer);
    count += (piece as Buffer).length;
    if (count >= BYTES) break;
    if (isSlow && count - slept > 4 << 20) {
      slept = count;
      await pause(20);
    }
  }
  return hash.digest('hex');
}

const broker = await startBroker({ after });

async function openTo(serve: (socket: Socket) => void) {
  const port = await listenFor({ after }, serve);
  const session = await authorizeSession(broker.admin, await makeTarget(broker.admin, port));
  return { session, opened: await openStream(session) };
}

for (const [who, slowClient, slowEndpoint] of [
  ['both are quick', false, false],
  ['the endpoint is slow', false, true],
  ['the client is slow', true, false],
] as const) {
  test(`100 MB come up whole, and nothing of them is lost when the client leaves behind them: ${who}`, async () => {
    const taken = Promise.withResolvers<string>();
    const { session, opened } = await openTo((socket) => {
      digestOf(socket, slowEndpoint).then(taken.resolve, taken.reject);
    });
    await sendAll(opened.stream, slowClient);
    opened.stream.end();
    opened.stream.resume();
    assert.equal(await taken.promise, DIGEST);
    const { connections } = await readSessionWhen(broker.admin, session.session_id, allClosed);
    assert.equal(connections[0]?.bytes_up, String(BYTES));
  });

  test(`100 MB come down whole, and nothing of them is lost when the endpoint leaves behind them: ${who}`, async () => {
    const { session, opened } = await openTo((socket) => {
      void sendAll(socket, slowEndpoint).then(() => socket.end());
    });
    assert.equal(await digestOf(opened.stream, slowClient), DIGEST);
    await untilClosed(opened);
    const { connections } = await readSessionWhen(broker.admin, session.session_id, allClosed);
    assert.equal(connections[0]?.bytes_down, String(BYTES));
  });
}

test('100 MB go both ways at once', async () => {
  const both = async (stream: Duplex): Promise<string> => {
    const digest = digestOf(stream, false);
    await sendAll(stream, false);
    return digest;
  };
  const there = Promise.withResolvers<string>();
  const { opened } = await openTo((socket) => void both(socket).then(there.resolve, there.reject));
  assert.equal(await both(opened.stream), DIGEST);
  assert.equal(await there.promise, DIGEST);
  opened.stream.destroy();
});

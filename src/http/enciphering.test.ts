import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { encipherInSlices } from './enciphering.ts';

/** A socket that keeps what it is given, and says later that it has left. */
class TestSocket extends Socket {
  readonly given: Buffer[] = [];
  fault: Error | undefined;

  override _write(
    chunk: string | Uint8Array,
    encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    this.given.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk));
    setImmediate(done, this.fault);
  }
}

function start(): TestSocket {
  const socket = new TestSocket();
  encipherInSlices(socket);
  return socket;
}

const LONGEST = 64 << 10;
const long = Buffer.from(Array.from({ length: 400_000 }, (_, n) => n % 251));

const written: [what: string, write: (socket: TestSocket) => void, all: Buffer, slices: number][] =
  [
    ['short bytes', (socket) => socket.write(Buffer.from('ab')), Buffer.from('ab'), 1],
    ['no bytes', (socket) => socket.write(Buffer.alloc(0)), Buffer.alloc(0), 0],
    ['a short text', (socket) => socket.write('äö', 'utf8'), Buffer.from('äö'), 1],
    ['a short text of bytes', (socket) => socket.write('\xff', 'latin1'), Buffer.from([255]), 1],
    ['long bytes', (socket) => socket.write(long), long, 7],
    [
      'as many as a slice',
      (socket) => socket.write(long.subarray(0, LONGEST)),
      long.subarray(0, LONGEST),
      1,
    ],
    [
      'a long text',
      (socket) => socket.write('ä'.repeat(80_000)),
      Buffer.from('ä'.repeat(80_000)),
      3,
    ],
    [
      'several of some length',
      writeTogether('head', long),
      Buffer.concat([Buffer.from('head'), long]),
      8,
    ],
    ['several short ones', writeTogether('head', Buffer.from('body')), Buffer.from('headbody'), 1],
  ];

function writeTogether(...chunks: (string | Buffer)[]) {
  return (socket: TestSocket): void => {
    socket.cork();
    for (const chunk of chunks) socket.write(chunk);
    socket.uncork();
  };
}

for (const [what, write, all, slices] of written) {
  test(`what is written leaves in its order and in slices: ${what}`, async () => {
    const socket = start();
    write(socket);
    while (socket.writableLength > 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(Buffer.concat(socket.given), all);
    assert.equal(socket.given.length, slices);
    assert.ok(socket.given.every(({ length }) => length <= LONGEST));
  });
}

test('a slice that cannot be written is told, and none is written after it', async () => {
  const socket = start();
  socket.fault = new Error('gone');
  socket.write(long);
  const [error] = await once(socket, 'error');
  assert.equal(error, socket.fault);
  assert.equal(socket.given.length, 1);
});

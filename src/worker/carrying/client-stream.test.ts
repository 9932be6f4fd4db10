import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import type WebSocket from 'ws';
import { ClientStream } from './client-stream.ts';

const CLOSING_MS = 300_000;

/** What TLS runs on, to a client that takes nothing until it is told to. */
class TestSecure extends EventEmitter {
  writableNeedDrain = true;
  written = 0;
  cork(): void {}
  uncork(): void {}
  write(bytes: Uint8Array): void {
    this.written += bytes.length;
  }
}

function start() {
  const secure = new TestSecure();
  const terminated: string[] = [];
  const ws = {
    readyState: 1,
    OPEN: 1,
    pause() {},
    resume() {},
    terminate: () => terminated.push(''),
  };
  const stream = new ClientStream(
    ws as unknown as WebSocket,
    secure as unknown as TLSSocket,
    () => {},
  );
  stream.end(Buffer.alloc(1000));
  let isOver = false;
  const sent = stream.untilSent().then(() => {
    isOver = true;
  });
  return { secure, stream, terminated, sent, isOver: () => isOver };
}

test('what is on its way to a client that takes it late is waited for, and it is not cut off', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { secure, terminated, sent, isOver } = start();
  t.mock.timers.tick(CLOSING_MS - 1);
  await nextTurn();
  assert.equal(isOver(), false);
  secure.emit('drain');
  await sent;
  t.mock.timers.tick(CLOSING_MS);
  assert.deepEqual(terminated, []);
  assert.ok(secure.written > 1000);
});

test('a client that takes nothing for as long as after any other end is cut off', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { stream, terminated, sent } = start();
  t.mock.timers.tick(CLOSING_MS);
  await sent;
  assert.equal(terminated.length, 1);
  assert.equal(stream.destroyed, true);
});

test('a client that is gone is waited for no longer', async () => {
  const { stream, terminated, sent } = start();
  stream.destroy();
  await sent;
  assert.deepEqual(terminated, []);
});

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { feedInTurns } from './feeding.ts';

/** What a socket is to the system. */
class TestHandle {
  reading = true;
  /** Whether the system is asked for more. */
  isRead = true;

  readStart(): void {
    this.isRead = true;
  }

  readStop(): void {
    this.isRead = false;
  }
}

/** A socket as far as feeding looks at it; parsing takes time, and begins work that takes as much. */
class TestSocket extends EventEmitter {
  readonly remoteAddress: string;
  destroyed = false;
  readonly _handle = new TestHandle();
  readonly #parsed: string[];
  #isPaused = false;

  constructor(address: string, parsed: string[], cost: number) {
    super();
    this.remoteAddress = address;
    this.#parsed = parsed;
    this.on('data', (bytes: Buffer) => {
      spin(cost);
      void this.#work(bytes.toString('latin1'), cost);
    });
  }

  async #work(text: string, cost: number): Promise<void> {
    for (let step = 0; step < 20; step++) await undefined;
    spin(cost);
    this.#parsed.push(text);
  }

  /** Of the stream, as the parser asks for it. */
  isPaused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
    this.emit('pause');
  }

  resume(): void {
    this.#isPaused = false;
    this.emit('resume');
  }

  destroy(): void {
    this.destroyed = true;
  }
}

let now = performance.now();
// Only what parses takes time, whatever else the machine does.
mock.method(performance, 'now', () => now);

function spin(milliseconds: number): void {
  now += milliseconds;
}

/** @param cost milliseconds of parsing a piece, and of what it begins */
function start(cost = 1): {
  parsed: string[];
  open(address: string, onEnd?: () => void): TestSocket;
} {
  const server = new EventEmitter();
  feedInTurns(server as Server, false);
  const parsed: string[] = [];
  return {
    parsed,
    open(address, onEnd = () => {}) {
      const socket = new TestSocket(address, parsed, cost);
      socket.on('end', onEnd);
      server.emit('connection', socket);
      return socket;
    },
  };
}

const names = (word: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${word}${at}`);

test('short pieces of many sockets are parsed over many turns, with what they begin', async () => {
  const { parsed, open } = start();
  const all = names('a', 60);
  const sockets = all.map(() => open('192.0.2.1'));
  for (const [at, socket] of sockets.entries()) socket.emit('data', Buffer.from(all[at] ?? ''));
  let turns = 0;
  for (let before = 0; parsed.length < all.length; before = parsed.length) {
    // As a server has it: the event loop turns, and counts how much a turn took.
    await nextTurn();
    turns += 1;
    assert.ok(parsed.length - before <= 10, `${parsed.length - before} in one turn`);
    assert.ok(turns < 1000);
  }
  assert.deepEqual(parsed, all);
  assert.ok(turns > 5, `${turns} turns`);
  assert.ok(sockets.every(({ _handle }) => _handle.isRead));
});

test('who waits goes on by addresses in turn', async () => {
  const { parsed, open } = start();
  const flood = names('a', 40);
  for (const name of flood) open('192.0.2.1').emit('data', Buffer.from(name));
  open('198.51.100.7').emit('data', Buffer.from('b'));
  while (!parsed.includes('b')) await nextTurn();
  assert.ok(parsed.indexOf('b') <= 10, `after ${parsed.indexOf('b')} others`);
  while (parsed.length <= flood.length) await nextTurn();
});

test('the networks of a site have one turn among them, not one each', async () => {
  const { parsed, open } = start();
  for (const [n, name] of names('a', 60).entries()) {
    open(`2001:db8:7:${n.toString(16)}::1`).emit('data', Buffer.from(name));
  }
  open('198.51.100.7').emit('data', Buffer.from('b'));
  while (!parsed.includes('b')) await nextTurn();
  assert.ok(parsed.indexOf('b') <= 10, `after ${parsed.indexOf('b')} others`);
  while (parsed.length < 61) await nextTurn();
});

test('of a socket that waits, or is paused, nothing more is taken from the system', async () => {
  const { parsed, open } = start();
  const sockets = names('a', 20).map((name) => {
    const socket = open('192.0.2.1');
    socket.emit('data', Buffer.from(name));
    return socket;
  });
  const last = sockets.at(-1);
  assert.ok(last);
  // The stream asks again by itself unless it takes the socket to be reading.
  assert.deepEqual(last._handle, Object.assign(new TestHandle(), { isRead: false }));
  last.pause();
  last.resume();
  assert.equal(last._handle.isRead, false, 'it waits still');
  last.pause();
  while (parsed.length < 20) await nextTurn();
  assert.equal(last._handle.isRead, false, 'it is paused');
  last.resume();
  assert.ok(sockets.every(({ _handle }) => _handle.isRead));
});

test('of what has come on one socket the order stays', async () => {
  const { parsed, open } = start();
  for (const name of names('a', 30)) open('192.0.2.1').emit('data', Buffer.from(name));
  const socket = open('192.0.2.2');
  for (const name of ['x', 'y', 'z']) socket.emit('data', Buffer.from(name));
  while (parsed.length < 33) await nextTurn();
  assert.deepEqual(
    parsed.filter((name) => !name.startsWith('a')),
    ['x', 'y', 'z'],
  );
});

test('who says that nothing more comes has what has come read in its turn all the same', async () => {
  const { parsed, open } = start();
  const all = names('a', 40);
  const ended: string[] = [];
  const sockets = all.map((name) => {
    const socket = open('192.0.2.1', () => ended.push(name));
    socket.emit('data', Buffer.from(name));
    return socket;
  });
  for (const socket of sockets) socket.emit('end');
  let turns = 0;
  // An end is told in its turn as well.
  for (let before = 0; ended.length < all.length; before = parsed.length) {
    await nextTurn();
    turns += 1;
    assert.ok(parsed.length - before <= 10, `${parsed.length - before} in one turn`);
    assert.ok(turns < 1000);
  }
  assert.deepEqual(ended.toSorted(), all.toSorted());
  assert.equal(parsed.length, all.length);
  await nextTurn();
  const last = open('192.0.2.2', () => ended.push('b'));
  last.emit('end');
  assert.equal(ended.at(-1), 'b', 'at once where nothing waits');
});

test('an address that lets more bytes wait than its share is given up, another is not', async () => {
  const { parsed, open } = start();
  const other = open('198.51.100.7');
  const first = open('192.0.2.1');
  for (const name of names('w', 10)) first.emit('data', Buffer.from(name));
  other.emit('data', Buffer.from('b'));
  const sockets = names('a', 40).map(() => open('192.0.2.1'));
  for (const socket of sockets) socket.emit('data', Buffer.alloc(512 << 10));
  assert.ok(sockets.filter((socket) => socket.destroyed).length >= 8);
  assert.equal(other.destroyed, false);
  for (const socket of sockets) socket.destroy();
  while (!parsed.includes('b')) await nextTurn();
});

test('heads that are not whole come to no more bytes of a site than its share', async () => {
  const { parsed, open } = start(0);
  const others = ['198.51.100.7', '198.51.100.8'].map((at) => open(at));
  const sockets = names('a', 400).map((_, n) => open(`2001:db8:7:${n.toString(16)}::1`));
  const said = (): string => 'a'.repeat(1 << 10);
  let count = 0;
  for (let piece = 0; piece < 12; piece++) {
    for (const socket of [...others, ...sockets].filter(({ destroyed }) => !destroyed)) {
      socket.emit('data', Buffer.from(said()));
      count += 1;
      if (count % 8 === 0) while (parsed.length < count) await nextTurn();
    }
  }
  const left = sockets.filter(({ destroyed }) => !destroyed).length;
  assert.ok(left > 300 && left <= (4 << 20) / (12 << 10), `${left}`);
  assert.ok(others.every(({ destroyed }) => !destroyed));
});

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../../test/support/raw-talk.ts';
import { shakeInTurns } from './handshakes.ts';

/** A first message in one record. */
const HELLO = Buffer.from([22, 3, 1, 0, 7, 1, 0, 0, 3, 7, 7, 7]);

/** Of a message that says it has more than 15,000 bytes. */
const BEGINNING = Buffer.from([22, 3, 1, 60, 0, 1, 0, 59, 0]);

/** A socket as far as waiting for a handshake looks at it. */
class TestSocket extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress = '192.0.2.99';
  destroyed = false;
  /** Whether the system is asked for more. */
  isRead = true;
  readonly _handle = {
    reading: true,
    readStart: () => {
      this.isRead = true;
    },
    readStop: () => {
      this.isRead = false;
    },
  };
  #come: Buffer | null = null;

  constructor(address: string, port: number) {
    super();
    this.remoteAddress = address;
    this.remotePort = port;
  }

  say(bytes: Uint8Array): this {
    this.#come = Buffer.from(bytes);
    this.emit('readable');
    return this;
  }

  read(): Buffer | null {
    const come = this.#come;
    this.#come = null;
    return come;
  }

  unshift(bytes: Buffer): void {
    this.#come = bytes;
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    setImmediate(() => this.emit('close'));
  }
}

/** A server whose handshakes are begun, and never done unless that is told. */
/** @param quiet_ms as {@link shakeInTurns} has it */
function start(quiet_ms?: number) {
  const server = new EventEmitter();
  const begun: TestSocket[] = [];
  server.on('connection', (socket: TestSocket) => begun.push(socket));
  shakeInTurns(server as Server, 60_000, quiet_ms === undefined ? {} : { quiet_ms });
  let port = 0;
  return {
    begun,
    come(address: string): TestSocket {
      port += 1;
      const socket = new TestSocket(address, port);
      server.emit('connection', socket);
      return socket;
    },
    finish: (socket: TestSocket) => server.emit('secureConnection', socket),
  };
}

const network = (n: number): string => `2001:db8:7:${n.toString(16)}::1`;

async function letTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

test('networks of one site that leave their handshakes undone hold up nobody else', async () => {
  const { begun, come } = start();
  const flood = Array.from({ length: 1_500 }, (_, n) => come(network(n)).say(HELLO));
  await letTurns(5);
  assert.equal(begun.length, 16, 'the part of a site');
  const others = ['198.51.100.7', '2001:db8:8::1', '203.0.113.8'].map((at) => come(at).say(HELLO));
  await letTurns(5);
  assert.deepEqual(begun.slice(16), others);
  for (const socket of [...flood, ...others]) socket.destroy();
});

test('who waits goes by sites in turn, and what is done makes place', async () => {
  const { begun, come, finish } = start();
  const flood = Array.from({ length: 100 }, (_, n) => come(network(n)).say(HELLO));
  await letTurns(5);
  const late = come(network(100)).say(HELLO);
  const again = come(network(100)).say(HELLO);
  for (let n = 0; n < 3; n++) finish(flood[n] ?? late);
  await letTurns(5);
  assert.equal(begun.length, 19);
  assert.deepEqual(begun.slice(16), flood.slice(16, 19), 'in a site the networks in turn');
  for (const socket of flood) socket.destroy();
  await letTurns(5);
  assert.deepEqual(begun.slice(-2), [late, again]);
  late.destroy();
  again.destroy();
});

test('who is slow loses his place to others of his site, and not his connection', async () => {
  const { begun, come, finish } = start(0);
  const crowd = Array.from({ length: 200 }, () => come('198.51.100.7').say(HELLO));
  await until(() => begun.length === crowd.length);
  assert.ok(crowd.every(({ destroyed }) => !destroyed));
  // The first of all have stepped aside long since; they are done at last, and are gone.
  for (const socket of crowd) finish(socket);
  const others = Array.from({ length: 600 }, () => come('198.51.100.7').say(HELLO));
  await until(() => begun.length === crowd.length + others.length);
  const standing = others.filter(({ destroyed }) => !destroyed).length;
  assert.ok(standing >= 512 && standing <= 528, `${standing} of one site`);
  assert.ok(crowd.every(({ destroyed }) => !destroyed));
  assert.equal(others[0]?.destroyed, true, 'the oldest gives way');
  for (const socket of [...crowd, ...others]) socket.destroy();
});

test('of who waits no more is taken from the system until the handshake is begun', async () => {
  const { begun, come } = start();
  const flood = Array.from({ length: 20 }, () => come('198.51.100.7').say(HELLO));
  await letTurns(5);
  assert.deepEqual(
    flood.map(({ isRead }) => isRead),
    flood.map((_, n) => n < 16),
  );
  assert.deepEqual(begun[0]?.read(), HELLO, 'what was read is laid back');
  flood[0]?.destroy();
  await letTurns(5);
  assert.equal(flood[16]?.isRead, true);
  for (const socket of flood) socket.destroy();
});

const tooMuch: [what: string, pieces: Uint8Array[]][] = [
  ['a hello and much else', [Buffer.concat([HELLO, Buffer.alloc(20 << 10)])]],
  ['a hello of more bytes than any', [BEGINNING, Buffer.alloc(9 << 10), Buffer.alloc(9 << 10)]],
  [
    'a hello in more pieces than any',
    [BEGINNING, ...Array.from({ length: 64 }, () => Uint8Array.of(7))],
  ],
];
for (const [what, pieces] of tooMuch) {
  test(`who says more than a hello before being answered is closed: ${what}`, async () => {
    const { begun, come } = start();
    const socket = come('198.51.100.7');
    for (const piece of pieces) socket.say(piece);
    await letTurns(5);
    assert.equal(socket.destroyed, true);
    assert.deepEqual(begun, []);
  });
}

test('a hello and a little else is taken up, as one in several pieces is', async () => {
  const { begun, come } = start();
  const one = come('198.51.100.7').say(Buffer.concat([HELLO, Buffer.alloc(2_000)]));
  const two = come('198.51.100.8');
  for (const byte of HELLO) two.say(Uint8Array.of(byte));
  await letTurns(5);
  assert.deepEqual(begun, [one, two]);
  for (const socket of [one, two]) socket.destroy();
});

test('first messages that wait come to no more than a site’s share of bytes', async () => {
  const { come } = start();
  const long = Buffer.concat([BEGINNING, Buffer.alloc(15_000)]);
  const flood = Array.from({ length: 1_000 }, (_, n) => come(network(n)).say(long));
  const other = come('198.51.100.7').say(long);
  assert.equal(
    flood.filter(({ destroyed }) => !destroyed).length,
    Math.floor((4 << 20) / long.length),
  );
  assert.equal(other.destroyed, false);
  for (const socket of [...flood, other]) socket.destroy();
});

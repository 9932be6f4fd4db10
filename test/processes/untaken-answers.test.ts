/** Connections whose clients ask, and take nothing of what they are answered. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { newDirectory } from '../support/node-process.ts';
import { type Program, startProgram } from '../support/program.ts';
import { until } from '../support/raw-talk.ts';

/** Half of these the listener has as connections. */
const OPEN_FILES = 256;
const ADDRESSES = 32;
const HEAD = 'Host: localhost\r\nX-Vault-Token: root\r\n\r\n';
/** The document of all endpoints, until the buffers between the two hold no more; more waits behind it. */
const LONG = `GET /v1/sys/internal/specs/openapi HTTP/1.1\r\n${HEAD}`;
const SHORT = `GET /v1/sys/health HTTP/1.1\r\n${HEAD}`;

async function open(t: TestContext, port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  t.after(() => socket.destroy());
  // Who has to give way is closed.
  socket.on('error', () => {}).pause();
  await once(socket, 'connect');
  return socket;
}

/** A flood that asks for much and takes nothing; who is closed comes again. */
class Flood {
  readonly #sockets: Socket[] = [];
  readonly #port: number;
  #isOver = false;

  constructor(t: TestContext, port: number, count: number) {
    this.#port = port;
    for (let n = 0; n < count; n++) this.#come(n);
    t.after(() => {
      this.#isOver = true;
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  /** How many are open, and have been answered something. */
  get answered(): number {
    return this.#sockets.filter(({ closed, bytesRead }) => !closed && bytesRead > 0).length;
  }

  #come(n: number): void {
    const localAddress = `127.0.77.${1 + (n % ADDRESSES)}`;
    const socket = connect({ host: '127.0.0.1', port: this.#port, localAddress });
    this.#sockets[n] = socket;
    // Listened to in this way it is read until its buffer is full, and then no more.
    socket.on('error', () => {}).on('readable', () => {});
    socket.once('close', () => {
      if (!this.#isOver) setTimeout(() => this.#come(n), 10);
    });
    socket.write(LONG.repeat(24) + SHORT.repeat(8));
  }
}

/** The status of an answer to a connection of its own; 0 for none. */
function askFrom(program: Program, localAddress: string): Promise<number> {
  return new Promise((resolve) => {
    const url = new URL('/v1/sys/mounts', program.url);
    const headers = { 'x-vault-token': 'root' };
    request(url, { agent: false, localAddress, headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    })
      .once('error', () => resolve(0))
      .end();
  });
}

/** Takes an answer of many pieces, one at a time; resolves when all of it has come. */
async function takeSlowly(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
    socket.pause();
    setTimeout(() => socket.resume(), 5);
  });
  socket.resume();
  await once(socket, 'close');
  return text;
}

test('connections of one network that take no answers shut nobody out, nor who takes one slowly', async (t) => {
  const args = ['dev', '-data', join(newDirectory(t), 'data'), '-listen', '127.0.0.1:0'];
  const program = await startProgram(t, [...args, '-proxy-listen', '127.0.0.1:0'], OPEN_FILES);
  const port = Number(program.url.port);
  const slow = await open(t, port, '127.0.5.1');
  slow.write(LONG.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  const taken = takeSlowly(slow);
  const flood = new Flood(t, port, OPEN_FILES);
  await until(() => flood.answered >= OPEN_FILES / 2 - 8);
  for (let n = 1; n <= 20; n++) assert.equal(await askFrom(program, `127.0.6.${n}`), 200);
  assert.equal(await askFrom(program, '127.0.77.200'), 200, 'a neighbour of theirs');
  assert.match(await taken, /\}\s*$/, 'all of it');
});

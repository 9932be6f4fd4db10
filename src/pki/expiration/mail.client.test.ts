import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { sendMail } from './mail.client.ts';
import type { MailOrder } from './order.ts';

/** Goes on saying something, but nothing that ends its answer, for a while. */
async function say(socket: Socket, times: number, code = 250): Promise<void> {
  for (let at = 0; at < times && !socket.destroyed; at += 1) {
    socket.write(`${code}-wait\r\n`);
    await setTimeout(50);
  }
  socket.write(`${code} ok\r\n`);
}

/** @param slow the command whose answer takes so many twentieths of a second */
async function startSlowServer(t: TestContext, slow: string, times: number) {
  const asked = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const state = {
    ids: [] as string[],
    port: 0,
    /** When the command has come. */
    asked: asked.promise,
    /** When a connection is over. */
    closed: closed.promise,
  };
  const sockets = new Set<Socket>();
  // It does not end its side because the other has: only a connection that is gone ends what it says.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => closed.resolve()).on('error', () => {});
    let isData = false;
    let text = '';
    let last = Promise.resolve();
    const answer = async (line: string): Promise<void> => {
      const isSlow = line.startsWith(slow);
      if (isData && line !== '.') return;
      if (isSlow) asked.resolve();
      isData = line === 'DATA';
      await say(socket, isSlow ? times : 0, isData ? 354 : 250);
    };
    socket.on('data', (part) => {
      text += String(part);
      const lines = text.split('\r\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const [, id] = /^Message-ID: (.*)$/.exec(line) ?? [];
        if (id) state.ids.push(id);
        last = last.then(() => answer(line));
      }
    });
    socket.write('220 slow.test\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.port = (server.address() as AddressInfo).port;
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return state;
}

/** What a mail may take passes when a test says so, however long the machine takes: long after that. */
const PATIENCE_MS = 60_000;

/** @returns what has a mail be late that is being sent */
function holdTime(t: TestContext): () => void {
  const late = new AbortController();
  const within = t.mock.method(AbortSignal, 'timeout', () => late.signal);
  return () => {
    assert.deepEqual(within.mock.calls[0]?.arguments, [PATIENCE_MS]);
    within.mock.restore();
    late.abort();
  };
}

const orderTo = (port: number, answer_ms = PATIENCE_MS): MailOrder => ({
  channel: 'mail',
  server: {
    host: '127.0.0.1',
    port,
    from: 'ca@example.com',
    username: '',
    password_file: '',
    tls: 'none',
    tls_ca_file: '',
  },
  to: ['ops@example.com'],
  id: 'm-1',
  subject: 'about an end',
  text: 'it ends',
  answer_ms,
  timeout_ms: PATIENCE_MS,
});

for (const slow of ['EHLO', 'MAIL', 'RCPT', 'DATA']) {
  test(`a mail whose ${slow} is answered too late is not sent after that`, async (t) => {
    const state = await startSlowServer(t, slow, Number.POSITIVE_INFINITY);
    const beLate = holdTime(t);
    const refused = assert.rejects(sendMail(orderTo(state.port)), /did not answer in time/);
    await state.asked;
    // Whatever would wait for the server waits for ever.
    t.mock.timers.enable({ apis: ['setTimeout'] });
    beLate();
    await refused;
    await state.closed;
    assert.deepEqual(state.ids, []);
  });
}

test('a server that takes its time is waited for, and what is sent again has the same Message-ID', async (t) => {
  const state = await startSlowServer(t, '.', 60);
  const beLate = holdTime(t);
  const refused = assert.rejects(sendMail(orderTo(state.port)), /did not answer in time/);
  await state.asked;
  beLate();
  await refused;
  // Less than the answer takes: that long is only waited for the beginning.
  assert.equal(await sendMail(orderTo(state.port, 2_000)), 0);
  assert.deepEqual(state.ids, ['<m-1@example.com>', '<m-1@example.com>']);
});

const BEGINNING = 1 << 18;

/** Asks for a message, and reads no more of it than its beginning before it is told to. */
async function startTardyServer(t: TestContext) {
  const closed = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const state = {
    port: 0,
    begun: begun.promise,
    socket: undefined as Socket | undefined,
    closed: closed.promise,
    isTold: false,
    bytes: 0,
    last: '',
  };
  const server = createServer((socket) => {
    state.socket = socket;
    socket.on('error', () => {}).on('close', () => closed.resolve());
    let isData = false;
    socket.on('data', (part) => {
      state.bytes += part.length;
      state.last = (state.last + String(part)).slice(-64);
      if (isData && state.bytes > BEGINNING && !state.isTold) {
        socket.pause();
        begun.resolve();
      }
      if (isData) return;
      isData = state.last.endsWith('DATA\r\n');
      socket.write(isData ? '354 go on\r\n' : '250 ok\r\n');
    });
    socket.write('220 tardy.test\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.port = (server.address() as AddressInfo).port;
  t.after(() => {
    state.socket?.destroy();
    server.close();
  });
  return state;
}

test('a mail that is late in the middle of what is sent has no end, so that no server takes it', async (t) => {
  const state = await startTardyServer(t);
  const text = 'more than is under way at once\n'.repeat(1 << 19);
  const beLate = holdTime(t);
  const order = { ...orderTo(state.port), text };
  const refused = assert.rejects(sendMail(order), /did not answer in time/);
  await state.begun;
  beLate();
  await refused;
  state.isTold = true;
  state.socket?.resume();
  await state.closed;
  assert.ok(state.bytes > BEGINNING && state.bytes < text.length, `${state.bytes} bytes`);
  assert.ok(!state.last.includes('\r\n.\r\n'), state.last);
});

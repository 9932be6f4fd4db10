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
  for (let at = 0; at < times; at += 1) {
    socket.write(`${code}-wait\r\n`);
    await setTimeout(50);
  }
  socket.write(`${code} ok\r\n`);
}

/** @param slow the command whose answer takes a second, or so many twentieths of one */
async function startSlowServer(t: TestContext, slow: string, times = 20) {
  const state = { ids: [] as string[], open: 0, port: 0 };
  const sockets = new Set<Socket>();
  // It does not end its side because the other has: only a connection that is gone ends what it says.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    state.open += 1;
    socket.on('close', () => {
      state.open -= 1;
    });
    socket.on('error', () => {});
    let isData = false;
    let text = '';
    const answer = async (line: string): Promise<void> => {
      if (isData) {
        const [, id] = /^Message-ID: (.*)$/.exec(line) ?? [];
        if (id) state.ids.push(id);
        if (line !== '.') return;
        isData = false;
      } else if (line === 'DATA') {
        isData = true;
        return say(socket, slow === 'DATA' ? times : 0, 354);
      }
      await say(socket, line.startsWith(slow) ? times : 0);
    };
    let last = Promise.resolve();
    socket.on('data', (part) => {
      text += String(part);
      const lines = text.split('\r\n');
      text = lines.pop() ?? '';
      for (const line of lines) last = last.then(() => answer(line));
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

const orderTo = (port: number, timeout_ms: number): MailOrder => ({
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
  answer_ms: 300,
  timeout_ms,
});

for (const slow of ['EHLO', 'MAIL', 'RCPT', 'DATA']) {
  test(`a mail whose ${slow} is answered too late is not sent after that`, async (t) => {
    const state = await startSlowServer(t, slow);
    await assert.rejects(sendMail(orderTo(state.port, 300)), /did not answer in time/);
    await setTimeout(300);
    assert.equal(state.open, 0, 'the connection has ended');
    await setTimeout(1_200);
    assert.deepEqual(state.ids, []);
  });
}

test('a server that takes its time is waited for, and what is sent again has the same Message-ID', async (t) => {
  const state = await startSlowServer(t, '.', 60);
  // Long enough for all that comes before, on a busy machine, too.
  await assert.rejects(sendMail(orderTo(state.port, 2_000)), /did not answer in time/);
  assert.equal(await sendMail(orderTo(state.port, 30_000)), 0);
  assert.deepEqual(state.ids, ['<m-1@example.com>', '<m-1@example.com>']);
});

const BEGINNING = 1 << 18;

/** Asks for a message, and reads no more of it than its beginning before it is told to. */
async function startTardyServer(t: TestContext) {
  const closed = Promise.withResolvers<void>();
  const state = {
    port: 0,
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
      if (isData && state.bytes > BEGINNING && !state.isTold) socket.pause();
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
  const order = { ...orderTo(state.port, 2_000), text };
  await assert.rejects(sendMail(order), /did not answer in time/);
  state.isTold = true;
  state.socket?.resume();
  await state.closed;
  assert.ok(state.bytes > BEGINNING && state.bytes < text.length, `${state.bytes} bytes`);
  assert.ok(!state.last.includes('\r\n.\r\n'), state.last);
});

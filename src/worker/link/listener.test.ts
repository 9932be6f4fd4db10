import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { startTestServer } from '../../../test/support/server.ts';
import { Newcomers } from '../carrying/newcomers.ts';
import { WorkerListener } from './listener.ts';
import { ENROL_PATH, LINK_PATH, LINK_PROTOCOL } from './messages.ts';

const server = await startTestServer({ after }, { jobs: [] });

test('a stranger who leaves amid an enrolment writes nothing into the log', async (t) => {
  const { app } = server.running;
  const error = t.mock.method(app.log, 'error', () => {});
  const listener = new WorkerListener(app);
  await listener.renew('one');
  const at = await listener.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => listener.close());
  for (const body of ['{', 'x'.repeat(5_000)]) {
    const secure = connect({ ...at, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    secure.on('error', () => {});
    secure.write(`POST ${ENROL_PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n${body}`);
    await wait(200);
    secure.destroy();
    await wait(200);
  }
  assert.equal(error.mock.callCount(), 0);
});

async function startListener(t: TestContext, newcomers?: Newcomers) {
  const listener = new WorkerListener(server.running.app, newcomers);
  await listener.renew('one');
  const at = await listener.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => listener.close());
  return { listener, at };
}

async function shake(at: { host: string; port: number }): Promise<TLSSocket> {
  // One that stays when the other side has said that it is done.
  const socket = connectTcp({ ...at, allowHalfOpen: true });
  const secure = connect({ socket, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  secure.on('error', () => {});
  await once(secure, 'secureConnect');
  return secure;
}

const closeOf = (secure: TLSSocket): Promise<void> =>
  new Promise((resolve) => secure.once('close', () => resolve()));

for (const path of [LINK_PATH, '/elsewhere']) {
  test(`a stranger who asks for ${path} and stays is let go of`, async (t) => {
    const { at } = await startListener(t);
    const secure = await shake(at);
    secure.resume();
    secure.write(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
        `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ${LINK_PROTOCOL}\r\n\r\n`,
    );
    const closed = closeOf(secure);
    // Somebody who is not there answers none of this.
    const timer = setInterval(() => secure.write('x'), 50);
    t.after(() => clearInterval(timer));
    await closed;
  });
}

test('a stranger who asks for a link with a body writes nothing into the log', async (t) => {
  const { at } = await startListener(t);
  const warn = t.mock.method(server.running.app.log, 'warn', () => {});
  const secure = await shake(at);
  const closed = closeOf(secure);
  let heard = '';
  secure.on('data', (data: Buffer) => {
    heard += data.toString();
  });
  secure.write(
    `GET ${LINK_PATH} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\n`,
  );
  secure.once('end', () => secure.end());
  await closed;
  assert.match(heard, /^HTTP\/1\.1 400 /);
  assert.equal(warn.mock.callCount(), 0);
});

test('of too many strangers the oldest gives way', async (t) => {
  const newcomers = new Newcomers(3);
  const { at } = await startListener(t, newcomers);
  const oldest = await shake(at);
  const closed = closeOf(oldest);
  oldest.resume();
  oldest.once('end', () => oldest.end());
  const others = [await shake(at), await shake(at)];
  assert.equal(newcomers.count, 3);
  others.push(await shake(at));
  await closed;
  assert.equal(newcomers.count, 3);
  assert.ok(others.every(({ destroyed }) => !destroyed));
  for (const one of others) one.destroy();
});

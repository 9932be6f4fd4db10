// Sessions of a server that is a process of its own: it is killed while bytes flow, and strangers keep its proxy busy.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  allClosed,
  askEcho,
  authorizeSession,
  echoTo,
  listenFor,
  makeTarget,
  openStream,
  readSessionWhen,
  untilClosed,
} from '../support/carried.ts';
import { readHello } from '../support/client-hellos.ts';
import { freePort } from '../support/free-port.ts';
import { newDirectory } from '../support/node-process.ts';
import { startProgram } from '../support/program.ts';
import { AUTH_METHOD, type Call } from '../support/seeded-broker.ts';
import { callOver } from '../support/server.ts';

/** A development server at a place; `admin` calls it. */
async function startDev(t: TestContext, data: string, proxy: number) {
  const program = await startProgram(t, [
    ...['dev', '-data', data, '-listen', '127.0.0.1:0'],
    ...['-proxy-listen', `127.0.0.1:${proxy}`],
  ]);
  const call = callOver(program.url.origin, '');
  const login = { attributes: { login_name: 'admin', password: 'password' } };
  const path = `auth-methods/${AUTH_METHOD}:authenticate`;
  const token = (await call('POST', path, login)).textAt('attributes.token');
  const admin: Call = (method, where, body) =>
    call(method, where, body, { headers: { authorization: `Bearer ${token}` } });
  return { program, admin };
}

test('a server that is killed while bytes flow closes what it carried when it is there again, and the session goes on', async (t) => {
  const [data, proxy] = [join(newDirectory(t), 'data'), await freePort()];
  const { program, admin } = await startDev(t, data, proxy);
  const echo = await listenFor(t, echoTo);
  const session = await authorizeSession(admin, await makeTarget(admin, echo));
  const opened = await Promise.all(Array.from({ length: 5 }, () => openStream(session)));
  for (const one of opened) assert.equal(await askEcho(one, 'hello'), 'hello');
  const closed = Promise.all(opened.map(untilClosed));
  for (const { stream } of opened) stream.write(Buffer.alloc(1 << 20));
  program.signal('SIGKILL');
  await closed;
  const again = await startDev(t, data, proxy);
  const { status, connections } = await readSessionWhen(again.admin, session.session_id, allClosed);
  assert.equal(status, 'active');
  assert.deepEqual(
    connections.map(({ closed_reason }) => closed_reason),
    Array(5).fill('system error'),
  );
  const back = await openStream(session);
  assert.equal(await askEcho(back, 'again'), 'again');
  back.stream.destroy();
});

/** Milliseconds in which an echo came back, sorted. */
async function timeEchoes(opened: Awaited<ReturnType<typeof openStream>>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < 200; n++) {
    const begun = performance.now();
    await askEcho(opened, 'are you there');
    times.push(performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return times.sort((a, b) => a - b);
}

test('300 strangers who begin TLS and never end it leave a session as quick as it was, and go after a while', async (t) => {
  const proxy = await freePort();
  const { admin } = await startDev(t, join(newDirectory(t), 'data'), proxy);
  const echo = await listenFor(t, echoTo);
  const session = await authorizeSession(admin, await makeTarget(admin, echo));
  const opened = await openStream(session);
  await timeEchoes(opened);
  const before = await timeEchoes(opened);
  const hello = readHello('go');
  const strangers: Socket[] = [];
  t.after(() => {
    for (const socket of strangers) socket.destroy();
  });
  const says = [Buffer.alloc(0), hello.subarray(0, 40), hello];
  for (let n = 0; n < 300; n++) {
    const localAddress = `127.0.0.${2 + (n % 50)}`;
    const socket = connect({ host: '127.0.0.1', port: proxy, localAddress });
    strangers.push(socket.on('error', () => {}).resume());
    await once(socket, 'connect');
    socket.write(says[n % says.length] ?? '');
  }
  const drip = setInterval(() => {
    for (const socket of strangers) if (!socket.destroyed) socket.write('x');
  }, 500);
  t.after(() => clearInterval(drip));
  const beside = await timeEchoes(opened);
  const at = (times: number[], share: number): number =>
    times[Math.floor(times.length * share)] ?? 0;
  // A machine that is busy just now has pauses of its own.
  assert.ok(at(beside, 0.9) < 5 * at(before, 0.9) + 5, `${at(before, 0.9)} ${at(beside, 0.9)}`);
  const another = await openStream(session);
  assert.equal(await askEcho(another, 'still served'), 'still served');
  await Promise.all(strangers.map((socket) => socket.destroyed || once(socket, 'close')));
  opened.stream.destroy();
  another.stream.destroy();
});

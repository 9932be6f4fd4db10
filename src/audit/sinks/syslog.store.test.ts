import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Sink } from './sink.ts';
import { openSocketSink, openSyslogSink } from './syslog.store.ts';

const recordOf = (seq: number) => ({
  node: 'a',
  seq,
  time_ms: 0,
  record: '{}',
  prev_hash: new Uint8Array(32),
  hash: new Uint8Array(32),
});

/** Collects what comes until the text is there. */
async function receive(socket: Socket, wanted: RegExp): Promise<string> {
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) {
    text += String(chunk);
    if (wanted.test(text)) return text;
  }
  return text;
}

async function listen(server: Server, at: { port: number; host: string } | string) {
  server.listen(at);
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

async function until(find: () => unknown): Promise<void> {
  while (!(await find())) await setImmediate();
}

const header = { facility: 'auth', tag: 'gatehouse' };

test('over TCP messages are framed by their length', async (t) => {
  const server = createServer();
  t.after(() => server.close());
  const port = await listen(server, { port: 0, host: '127.0.0.1' });
  const sink = openSyslogSink({ ...header, address: `tcp://127.0.0.1:${port}` });
  const arrival = once(server, 'connection');
  await sink.put([recordOf(1)]);
  const [socket]: Socket[] = await arrival;
  assert.ok(socket);
  const text = await receive(socket, /"record":\{\}\}$/);
  const [, length, message] = /^(\d+) (.*)$/s.exec(text) ?? [];
  assert.equal(Number(length), Buffer.byteLength(message ?? ''));
  await sink.close();
  socket.destroy();
});

test('over UDP a port where nobody listens is told at the next look, once, and nothing counts as read', async () => {
  const nobody = createSocket('udp4').bind(0, '127.0.0.1');
  await once(nobody, 'listening');
  const { port } = nobody.address();
  nobody.close();
  const sink = openSyslogSink({ ...header, address: `udp://127.0.0.1:${port}` });
  await sink.put([recordOf(1)]);
  await until(() => sink.reading?.findBreak());
  assert.equal(sink.reading?.findBreak(), undefined);
  assert.equal(sink.reading?.sure(), undefined);
  await sink.put([recordOf(1)]);
  // Told between two of them, it stops the next.
  await until(() => sink.put([recordOf(2)]).then(() => undefined, String));
  await sink.close();
});

test('over UDP each record is a datagram', async (t) => {
  const server = createSocket('udp4');
  t.after(() => server.close());
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  const sink = openSyslogSink({ ...header, address: `udp://127.0.0.1:${server.address().port}` });
  const arrival = once(server, 'message');
  await sink.put([recordOf(7)]);
  const [message] = await arrival;
  assert.match(
    String(message),
    /^<38>1 1970-01-01T00:00:00\.000Z .* audit - \{"node":"a","seq":7,/,
  );
  await sink.close();
});

test('a unix stream takes a record a line; where nobody listens it is refused', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-sink-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'log');
  const sink = openSocketSink({ path });
  await assert.rejects(sink.put([recordOf(1)]), { code: 'ENOENT' });
  const server = createServer();
  t.after(() => server.close());
  await listen(server, path);
  const arrival = once(server, 'connection');
  await sink.put([recordOf(1), recordOf(2)]);
  const [socket]: Socket[] = await arrival;
  assert.ok(socket);
  assert.equal((await receive(socket, /\n.*\n/s)).split('\n').length, 3);
  await sink.close();
  socket.destroy();
});

const CLOSED_EARLY: [what: string, open: (port: number, path: string) => Sink][] = [
  ['a socket', (port) => openSocketSink({ host: '127.0.0.1', port })],
  ['a socket of a name', (port) => openSocketSink({ host: 'localhost', port })],
  ['a unix socket', (_port, path) => openSocketSink({ path })],
  ['syslog', (port) => openSyslogSink({ ...header, address: `tcp://127.0.0.1:${port}` })],
  ['local syslog', (_port, path) => openSyslogSink({ ...header, address: `unix://${path}` })],
  ['UDP', (port) => openSyslogSink({ ...header, address: `udp://127.0.0.1:${port}` })],
  ['UDP of a name', (port) => openSyslogSink({ ...header, address: `udp://localhost:${port}` })],
];
for (const [what, open] of CLOSED_EARLY) {
  test(`${what}: closed while it connects, or before, it sends nothing; else it does`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'gatehouse-sink-'));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const path = join(directory, 'log');
    const [server, local, datagrams] = [createServer(), createServer(), createSocket('udp4')];
    const port = await listen(server, { port: 0, host: '127.0.0.1' });
    await listen(local, path);
    datagrams.bind(port, '127.0.0.1');
    await once(datagrams, 'listening');
    t.after(() => [server, local, datagrams].map((each) => each.close()));
    const came = new Promise<string>((resolve) => {
      // One that was closed early may have been connected, with nothing on it.
      const take = async (socket: Socket): Promise<void> => {
        const text = await receive(socket, /"seq":\d+/).catch(() => '');
        if (text !== '') resolve(text);
      };
      for (const each of [server, local]) {
        each.on('connection', (socket) => {
          socket.on('error', () => {});
          take(socket);
        });
      }
      datagrams.on('message', (message) => resolve(String(message)));
    });
    const closed = open(port, path);
    const putting = closed.put([recordOf(1)]);
    const refused = assert.rejects(putting);
    await closed.close();
    await refused;
    await assert.rejects(closed.put([recordOf(2)]), { name: 'AbortError' });
    const sink = open(port, path);
    await sink.put([recordOf(3)]);
    assert.match(await came, /"seq":3/);
    await sink.close();
  });
}

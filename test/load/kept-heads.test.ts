/** Whole heads of requests that wait, for their bodies or for their turn. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headOf, openTalk, type Talk, until } from '../support/raw-talk.ts';
import { type Client, startTestServer } from '../support/server.ts';

/** Some 170 KiB of memory in 5 KiB. */
const MANY_PAIRS = `?${'a&'.repeat(2600)}`;

const logIn = (client: Client, { query = '', fields = ['a: b'] }): string =>
  headOf(client, `POST /v1/auth/up/login/x${query}`, ['Content-Length: 9', ...fields]);

async function sendAll(client: Client, heads: readonly string[]): Promise<Talk[]> {
  const talks = await Promise.all(heads.map(() => openTalk(client, '127.0.0.1')));
  for (const [at, { socket }] of talks.entries()) socket.write(heads[at] ?? '');
  return talks;
}

test('queries are counted by their pairs while their bodies are awaited, and given up for others', async (t) => {
  const server = await startTestServer(t);
  await server.call('POST', 'sys/auth/up', { type: 'userpass' });
  const heads = Array.from({ length: 250 }, () => logIn(server, { query: MANY_PAIRS }));
  const talks = await sendAll(server, heads);
  try {
    // Of 42 MiB one address may have 32.
    await until(() => talks.filter(({ socket }) => socket.closed).length >= 40);
    assert.ok(talks.filter(({ socket }) => !socket.closed).length >= 150);
    const other = await openTalk(server, '127.0.0.2');
    other.socket.write(`${logIn(server, {})}{"a":"b"}`);
    await other.answers(1);
    other.socket.destroy();
  } finally {
    for (const { socket } of talks) socket.destroy();
  }
});

test('usual heads are not counted, and long ones are only until they are answered', async (t) => {
  const server = await startTestServer(t);
  await server.call('POST', 'sys/auth/up', { type: 'userpass' });
  const usual = Array.from({ length: 300 }, () =>
    logIn(server, { fields: [`cookie: ${'x'.repeat(2000)}`] }),
  );
  const talks = await sendAll(server, usual);
  for (let round = 0; round < 3; round++) {
    // Each round alone fits.
    talks.push(
      ...(await sendAll(
        server,
        Array.from({ length: 80 }, () => logIn(server, { query: MANY_PAIRS })),
      )),
    );
    for (const { socket } of talks.slice(-80)) socket.write('{"a":"b"}');
    await Promise.all(talks.slice(-80).map((talk) => talk.answers(1)));
  }
  for (const { socket } of talks.slice(0, 300)) socket.write('{"a":"b"}');
  await Promise.all(talks.map((talk) => talk.answers(1)));
  for (const { socket } of talks) socket.destroy();
});

test('a request of two hundred fields is refused, in its head or behind its body', async (t) => {
  const server = await startTestServer(t);
  const fields = (count: number): string[] => Array.from({ length: count }, (_, at) => `f${at}: x`);
  for (const [count, status] of [
    [150, 403],
    [250, 431],
    [2000, 431],
  ] as const) {
    const talk = await openTalk(server, '127.0.0.1');
    talk.socket.write(`${logIn(server, { fields: fields(count) })}{"a":"b"}`);
    await talk.answers(1);
    assert.match(talk.text(), new RegExp(`^HTTP/1.1 ${status} `), `${count}`);
    talk.socket.destroy();
  }
  const head = headOf(server, 'POST /v1/auth/up/login/x', ['Transfer-Encoding: chunked']);
  const body = '9\r\n{"a":"b"}\r\n0\r\n';
  for (const [count, status] of [
    [100, 403],
    [400, 431],
  ] as const) {
    const talk = await openTalk(server, '127.0.0.1');
    talk.socket.write(`${head}${body}${fields(count).join('\r\n')}\r\n\r\n`);
    await talk.answers(1);
    assert.match(talk.text(), new RegExp(`^HTTP/1.1 ${status} `), `${count} trailers`);
    talk.socket.destroy();
  }
});

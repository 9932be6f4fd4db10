/** Whole heads of requests that wait, for their bodies or for their turn. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTalk, type Talk, until } from '../support/raw-talk.ts';
import { type Client, startTestServer } from '../support/server.ts';

/** Some 280 KiB of memory in 15 KiB. */
const MANY_FIELDS = Array.from({ length: 2700 }, (_, at) => `${at.toString(36)}:`).join('\r\n');

const headOf = (client: Client, fields: string): string =>
  `POST /v1/auth/up/login/x HTTP/1.1\r\nHost: ${new URL(client.url).host}\r\nContent-Length: 9\r\n${fields}\r\n\r\n`;

async function sendAll(client: Client, heads: readonly string[]): Promise<Talk[]> {
  const talks = await Promise.all(heads.map(() => openTalk(client, '127.0.0.1')));
  for (const [at, { socket }] of talks.entries()) socket.write(heads[at] ?? '');
  return talks;
}

test('the fields of heads are counted while their bodies are awaited, and given up for others', async (t) => {
  const server = await startTestServer(t);
  await server.call('POST', 'sys/auth/up', { type: 'userpass' });
  const heads = Array.from({ length: 200 }, () => headOf(server, MANY_FIELDS));
  const talks = await sendAll(server, heads);
  try {
    // Of 55 MiB one address may have 32.
    await until(() => talks.filter(({ socket }) => socket.closed).length >= 70);
    assert.ok(talks.filter(({ socket }) => !socket.closed).length >= 90);
    const other = await openTalk(server, '127.0.0.2');
    other.socket.write(`${headOf(server, 'a: b')}{"a":"b"}`);
    await other.answers(1);
    other.socket.destroy();
  } finally {
    for (const { socket } of talks) socket.destroy();
  }
});

test('usual heads are not counted, and long ones are only until they are answered', async (t) => {
  const server = await startTestServer(t);
  await server.call('POST', 'sys/auth/up', { type: 'userpass' });
  const usual = Array.from({ length: 300 }, () => headOf(server, `cookie: ${'x'.repeat(2000)}`));
  const talks = await sendAll(server, usual);
  for (let round = 0; round < 3; round++) {
    // Each round alone fits.
    talks.push(
      ...(await sendAll(
        server,
        Array.from({ length: 80 }, () => headOf(server, MANY_FIELDS)),
      )),
    );
    for (const { socket } of talks.slice(-80)) socket.write('{"a":"b"}');
    await Promise.all(talks.slice(-80).map((talk) => talk.answers(1)));
  }
  for (const { socket } of talks.slice(0, 300)) socket.write('{"a":"b"}');
  await Promise.all(talks.map((talk) => talk.answers(1)));
  for (const { socket } of talks) socket.destroy();
});

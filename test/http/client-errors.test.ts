import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { startTestServer } from '../support/server.ts';

/** What comes back for bytes as they are, until the server hangs up. */
function send(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}

const HOST = 'Host: localhost\r\nConnection: close\r\n';
const CASES: [name: string, bytes: string, status: number, error: RegExp][] = [
  ['an unknown verb', `SCAN /v1/sys/health HTTP/1.1\r\n${HOST}\r\n`, 405, /unsupported operation/],
  ['no HTTP', 'hello\r\n\r\n', 405, /unsupported operation/],
  [
    'two lengths',
    `POST /v1/sys/unseal HTTP/1.1\r\n${HOST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    400,
    /not valid HTTP/,
  ],
  [
    'headers without end',
    `GET /v1/sys/health HTTP/1.1\r\n${HOST}x: ${'y'.repeat(17_000)}\r\n\r\n`,
    431,
    /too long/,
  ],
];

test('what the parser refuses is answered in the form of every other refusal', async (t) => {
  const { running } = await startTestServer(t);
  for (const [name, bytes, status, error] of CASES) {
    const text = await send(running.address.port, bytes);
    assert.match(text, new RegExp(`^HTTP/1.1 ${status} `), name);
    const body: unknown = JSON.parse(text.slice(text.indexOf('\r\n\r\n')));
    assert.ok(typeof body === 'object' && body && 'errors' in body && Array.isArray(body.errors));
    assert.match(String(body.errors[0]), error, name);
  }
});

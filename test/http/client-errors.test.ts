import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import net from 'node:net';
import { after, describe, test } from 'node:test';
import { refuseInTurns } from '../../src/http/client-error.ts';
import { FeedTurns } from '../../src/sockets/feed.ts';
import { startTestServer } from '../support/server.ts';

/**
 * What comes back for bytes as they are, until the server hangs up.
 *
 * @param goOn what to send once this has come
 */
function send(
  port: number,
  bytes: string,
  goOn?: (heard: string) => string | undefined,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      text += chunk;
      const more = goOn?.(text);
      if (more !== undefined) socket.write(more);
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}

const HOST = 'Host: localhost\r\nConnection: close\r\n';
const GET = 'GET /v1/sys/health HTTP/1.1\r\n';
const POST = 'POST /v1/sys/unseal HTTP/1.1\r\n';
const CASES: [name: string, bytes: string, status: number, error: RegExp][] = [
  ['an unknown verb', `SCAN /v1/sys/health HTTP/1.1\r\n${HOST}\r\n`, 405, /unsupported operation/],
  ['no HTTP', 'hello\r\n\r\n', 405, /unsupported operation/],
  [
    'two lengths',
    `${POST}${HOST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    400,
    /not valid HTTP/,
  ],
  [
    'a length and chunks',
    `${POST}${HOST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
    /not valid HTTP/,
  ],
  ['headers without end', `${GET}${HOST}x: ${'y'.repeat(17_000)}\r\n\r\n`, 431, /too long/],
  ['a path without end', `GET /v1/${'y'.repeat(17_000)} HTTP/1.1\r\n${HOST}\r\n`, 431, /too long/],
  [
    'chunk extensions without end',
    `${POST}${HOST}Transfer-Encoding: chunked\r\n\r\n2;x=${'y'.repeat(17_000)}\r\n{}\r\n0\r\n\r\n`,
    413,
    /chunk extensions/,
  ],
  ['no Host', `${GET}\r\n`, 400, /no Host header/],
  ['an empty Host', `${GET}Host:\r\n\r\n`, 400, /names no host/],
  ['two Hosts', `${GET}Host: localhost\r\nHost: localhost\r\n\r\n`, 400, /more than one Host/],
  [
    'two Hosts, the second after a hundred others',
    `${GET}Host: localhost\r\n${'a:\r\n'.repeat(190)}Host: evil.test\r\n\r\n`,
    400,
    /more than one Host/,
  ],
  [
    'two Hosts, the second after a thousand others',
    `${GET}Host: localhost\r\n${'a:\r\n'.repeat(2000)}Host: evil.test\r\n\r\n`,
    431,
    /too long, or too many/,
  ],
  ['two Hosts in HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n', 400, /more than one/],
  ['a Host that is none', `${GET}Host: user@localhost\r\n\r\n`, 400, /names no host/],
  ['no Host for nothing of ours', 'GET / HTTP/1.1\r\n\r\n', 400, /no Host header/],
  ['an expectation that nobody knows', `${GET}Host: localhost\r\nExpect: x\r\n\r\n`, 417, /100-c/],
  ['no Host, and an expectation', `${POST}Expect: 100-continue\r\n\r\n`, 400, /no Host header/],
];

const server = await startTestServer({ after });
const { port } = server.running.address;

describe('what is no request is answered in the form and with the headers of every other refusal', () => {
  for (const [name, bytes, status, error] of CASES) {
    test(name, async () => {
      const text = await send(port, bytes);
      assert.match(text, new RegExp(`^HTTP/1.1 ${status} `));
      const [head = '', rest = ''] = text.split('\r\n\r\n');
      const body: unknown = JSON.parse(rest);
      assert.ok(typeof body === 'object' && body && 'errors' in body && Array.isArray(body.errors));
      assert.match(String(body.errors[0]), error);
      assert.match(head, /^x-content-type-options: nosniff$/im);
      assert.match(head, /^cache-control: no-store$/im);
      assert.match(head, /^strict-transport-security: max-age=/im);
      assert.match(head, /^connection: close$/im);
    });
  }

  test('on the broker’s paths in the form of that API', async () => {
    const text = await send(port, 'GET /v1/scopes HTTP/1.1\r\n\r\n');
    assert.match(text, /^HTTP\/1.1 400 /);
    assert.match(text, /"kind":"InvalidArgument"/);
  });

  test('what does not arrive in time', async (t) => {
    const connections = { ...server.running.app.config.connections, header_ms: 50, request_ms: 50 };
    const slow = await startTestServer(t, { config: { connections } });
    const text = await send(slow.running.address.port, `${GET}x: `);
    assert.match(text, /^HTTP\/1.1 408 /);
    assert.match(text, /^x-content-type-options: nosniff\r$/im);
    assert.match(text, /^cache-control: no-store\r$/im);
    assert.match(text, /^connection: close\r$/im);
  });

  test('an error in accepting somebody is nobody else’s', async (t) => {
    const { running } = await startTestServer(t, { on_one: 'the listener is looked into' });
    const { http, address } = running;
    http.server.emit('error', Object.assign(new Error('accept ENOBUFS'), { code: 'ENOBUFS' }));
    const text = await send(address.port, `${GET}${HOST}\r\n`);
    assert.match(text, /^HTTP\/1.1 200 /);
  });

  test('HTTP/1.0 without a Host is answered where no names are given', async (t) => {
    const open = await startTestServer(t, { config: { allowed_hosts: undefined } });
    const text = await send(open.running.address.port, 'GET /v1/sys/health HTTP/1.0\r\n\r\n');
    assert.match(text, /^HTTP\/1.1 200 /);
  });

  test('nothing is put into the middle of an answer that is on its way', () => {
    const written = (begun: boolean): string => {
      let text = '';
      const socket = new net.Socket().on('error', () => {});
      const response = new ServerResponse(new IncomingMessage(socket));
      if (begun) response.writeHead(200);
      const write = (piece: string): boolean => {
        text += piece;
        return true;
      };
      const refuse = refuseInTurns(new FeedTurns());
      refuse(new Error('broken'), Object.assign(socket, { write, _httpMessage: response }));
      assert.ok(socket.destroyed);
      return text;
    };
    assert.match(written(false), /^HTTP\/1.1 400 /);
    assert.equal(written(true), '');
  });
});

describe('a body that waits to be asked for', () => {
  const post = (path: string, more = '') =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n${more}\r\n`;
  const AS_ROOT = 'X-Vault-Token: root\r\n';

  const refused: [name: string, bytes: string, status: number][] = [
    ['without a token', post('/v1/sys/mounts/x'), 403],
    ['without a token to the broker', post('/v1/users'), 401],
    ['for a path that is not there', post('/v1/nowhere/at/all', AS_ROOT), 404],
    ['by the wrong verb', post('/v1/sys/seal-status', AS_ROOT), 405],
    ['for nothing of ours', post('/index.html', AS_ROOT), 404],
    ['under two names', post('/v1/sys/mounts/x', `${AS_ROOT}Host: localhost\r\n`), 400],
    [
      'with more than is taken',
      post('/v1/sys/mounts/x', AS_ROOT).replace('Length: 2', 'Length: 99999999'),
      413,
    ],
  ];
  for (const [name, bytes, status] of refused) {
    test(`is not asked for when it is offered ${name}, and the connection ends`, async () => {
      const text = await send(port, bytes);
      assert.match(text, new RegExp(`^HTTP/1.1 ${status} `));
      assert.match(text, /^connection: close\r$/im);
      assert.match(text, /^x-content-type-options: nosniff\r$/im);
    });
  }

  test('is asked for when it is wanted, and the connection goes on', async () => {
    const body = '{}';
    const text = await send(port, post('/v1/sys/wrapping/wrap', AS_ROOT), (heard) =>
      heard === 'HTTP/1.1 100 Continue\r\n\r\n'
        ? `${body}GET /v1/sys/health HTTP/1.1\r\n${HOST}\r\n`
        : undefined,
    );
    const heads = text.match(/HTTP\/1\.1 \d+/g);
    assert.deepEqual(heads, ['HTTP/1.1 100', 'HTTP/1.1 400', 'HTTP/1.1 200']);
  });
});

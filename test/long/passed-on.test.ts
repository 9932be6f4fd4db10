import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { CONNECTION_DEFAULTS } from '../../src/config/connections.ts';
import { type Client, startTestServer } from '../support/server.ts';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-passed-on-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const tls = { cert_file: join(directory, 'cert.pem'), key_file: join(directory, 'key.pem') };
execFileSync('openssl', [
  ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
  ...['-keyout', tls.key_file, '-out', tls.cert_file, '-subj', '/CN=localhost', '-days', '2'],
]);

const V4 = 'PROXY TCP4 198.51.100.7 192.0.2.1 4711 443\r\n';
const V2 = Buffer.from('0d0a0d0a000d0a515549540a2111000cc6336407c00002011f9001bb', 'hex').toString(
  'latin1',
);
const LOCAL = Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex').toString('latin1');

const behind = (trusted: string, secure: boolean): Promise<Client> =>
  startTestServer(
    { after },
    {
      config: {
        connections: {
          ...CONNECTION_DEFAULTS,
          trusted_proxies: [trusted],
          proxy_protocol: true,
          header_ms: 1_000,
        },
        tls: secure ? tls : undefined,
      },
    },
  );

/** A token that only 198.51.100.0/24 may use. */
async function boundToken({ running }: Client): Promise<string> {
  const headers = { 'x-vault-token': 'root' };
  const role = JSON.stringify({
    token_bound_cidrs: '198.51.100.0/24',
    allowed_policies: 'default',
  });
  await ask(
    running.address.port,
    false,
    `${LOCAL}`,
    'POST',
    'auth/token/roles/near',
    headers,
    role,
  );
  const made = await ask(
    running.address.port,
    false,
    LOCAL,
    'POST',
    'auth/token/create/near',
    headers,
    '{}',
  );
  return /"client_token":"([^"]+)"/.exec(made)?.[1] ?? '';
}

/** @param pieces of how many bytes what is sent comes; 0: at once */
async function ask(
  port: number,
  secure: boolean,
  begin: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body = '',
  pieces = 0,
): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  const lines = Object.entries({ host: 'localhost', connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const request = `${method} /v1/${path} HTTP/1.1\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n${body}`;
  if (!secure) {
    await write(socket, Buffer.from(begin + request, 'latin1'), pieces);
    return readAll(socket);
  }
  await write(socket, Buffer.from(begin, 'latin1'), pieces);
  const over = connectTls({ socket, rejectUnauthorized: false });
  over.write(request);
  return readAll(over);
}

async function write(socket: Socket, bytes: Buffer, pieces: number): Promise<void> {
  const size = pieces === 0 ? bytes.length : pieces;
  for (let at = 0; at < bytes.length; at += size) {
    socket.write(bytes.subarray(at, at + size));
    if (pieces > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function readAll(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of socket) pieces.push(piece as Buffer);
  } catch (error) {
    pieces.push(Buffer.from(String(error)));
  }
  return Buffer.concat(pieces).toString('latin1');
}

const LOOKUP = 'auth/token/lookup-self';
const plain = await behind('127.0.0.1', false);
const secured = await behind('127.0.0.1', true);
const untrusting = await behind('192.0.2.0/24', false);
const near = await boundToken(plain);

const ROWS: [why: string, begin: string, status: string][] = [
  ['version 1', V4, 'HTTP/1.1 200'],
  ['version 2', V2, 'HTTP/1.1 200'],
  ['of the proxy itself', LOCAL, 'HTTP/1.1 403'],
  ['of somebody else', V4.replace('198.51.100.7', '203.0.113.9'), 'HTTP/1.1 403'],
  ['of an unknown client', 'PROXY UNKNOWN\r\n', 'HTTP/1.1 403'],
];
for (const [why, begin, status] of ROWS) {
  for (const pieces of [0, 1, 7]) {
    test(`a connection that is passed on, ${why}, in pieces of ${pieces}: ${status}`, async () => {
      const headers = { 'x-vault-token': near };
      const { port } = plain.running.address;
      const answered = await ask(port, false, begin, 'GET', LOOKUP, headers, '', pieces);
      assert.ok(answered.startsWith(status), answered.slice(0, 200));
    });
  }
}

test('over TLS the client is who the proxy says, and its verb LIST is known', async () => {
  const { port } = secured.running.address;
  for (const begin of [V4, V2]) {
    for (const pieces of [0, 1]) {
      const listed = await ask(
        port,
        true,
        begin,
        'LIST',
        'sys/policies/acl',
        {
          'x-vault-token': 'root',
        },
        '',
        pieces,
      );
      assert.ok(listed.startsWith('HTTP/1.1 200'), listed.slice(0, 200));
    }
  }
  const role = { token_bound_cidrs: '198.51.100.0/24', allowed_policies: 'default' };
  const root = { 'x-vault-token': 'root' };
  await ask(port, true, V4, 'POST', 'auth/token/roles/near', root, JSON.stringify(role));
  const made = await ask(port, true, V4, 'POST', 'auth/token/create/near', root, '{}');
  const token = /"client_token":"([^"]+)"/.exec(made)?.[1] ?? '';
  for (const [begin, status] of [
    [V2, 'HTTP/1.1 200'],
    [LOCAL, 'HTTP/1.1 403'],
  ] as const) {
    const answered = await ask(port, true, begin, 'GET', LOOKUP, { 'x-vault-token': token });
    assert.ok(answered.startsWith(status), answered.slice(0, 200));
  }
});

test('many requests on one connection are all of the client that began it', async () => {
  const socket = connect(plain.running.address.port, '127.0.0.1');
  const one = `GET /v1/${LOOKUP} HTTP/1.1\r\nhost: localhost\r\nx-vault-token: ${near}\r\n\r\n`;
  const last = one.replace('host: localhost', 'host: localhost\r\nconnection: close');
  socket.write(V4 + one + one + last);
  const answered = await readAll(socket);
  assert.equal(answered.split('HTTP/1.1 200').length - 1, 3);
});

test('a trusted proxy that begins with no header, or with a broken one, is not answered', async () => {
  for (const begin of ['', 'PROXY TCP4 nobody 192.0.2.1 1 2\r\n', 'PROXY ']) {
    const answered = await ask(plain.running.address.port, false, begin, 'GET', 'sys/health', {});
    assert.doesNotMatch(answered, /HTTP/);
  }
});

test('a header that does not come to its end ends with the connection', async () => {
  const socket = connect(plain.running.address.port, '127.0.0.1');
  const began = performance.now();
  socket.write('PROXY TCP4 198.51');
  assert.doesNotMatch(await readAll(socket), /HTTP/);
  assert.ok(performance.now() - began > 500, 'it was waited for');
});

test('whoever is not trusted may begin with no header, and is not believed', async () => {
  const { port } = untrusting.running.address;
  const well = await ask(port, false, '', 'GET', 'sys/health', {});
  assert.match(well, /^HTTP\/1\.1 200/);
  assert.match(await ask(port, false, V4, 'GET', 'sys/health', {}), /^HTTP\/1\.1 405/);
});

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, test } from 'node:test';
import { withOpenssl } from '../../../../test/support/openssl.ts';
import { startFakeVault } from '../../../../test/support/vault.ts';
import { connectionTo } from '../../../../test/support/vault-connection.ts';
import { DEV_DEFAULTS, devConfig } from '../../../config/config.ts';
import { type VaultConnection, VaultFault, type VaultFaultKind } from './answer.ts';
import { askVault, findUnusableField, threadOf } from './client.ts';
import { SecureContexts } from './secure-contexts.client.ts';

interface Pair {
  cert: string;
  key: string;
}

/** Certificates that sign themselves: the server's, and a client's. */
const [server, client] = makePairs('vault.test', 'client.test');
assert.ok(server && client);

function makePairs(...names: readonly string[]): Pair[] {
  const pairs: Pair[] = [];
  withOpenssl(({ must, read }) => {
    for (const name of names) {
      const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
      const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
      must('req', '-x509', ...key, ...subject, '-days', '2', '-keyout', 'k', '-out', 'c');
      const textOf = (file: string): string => Buffer.from(read(file)).toString('utf8');
      pairs.push({ cert: textOf('c'), key: textOf('k') });
    }
  });
  return pairs;
}

const plain: VaultConnection = connectionTo('');

const lookup = { method: 'GET', path: 'auth/token/lookup-self' } as const;

const locks: (() => void)[] = [];
const development = {
  config: devConfig(DEV_DEFAULTS),
  log: { warn() {} },
  barrier: { sealed: false, onSeal: (listener: () => void) => void locks.push(listener) },
  onClose: () => {},
};
const production = {
  ...development,
  config: {
    ...development.config,
    credential_stores: { ...development.config.credential_stores, allow_loopback: false },
  },
};

async function kindOf(
  connection: VaultConnection,
  app = development,
): Promise<VaultFaultKind | 'answer'> {
  try {
    await askVault(app, connection, lookup);
    return 'answer';
  } catch (error) {
    assert.ok(error instanceof VaultFault, String(error));
    assert.doesNotMatch(error.message, /good/);
    return error.kind;
  }
}

const vault = await startFakeVault(server);
after(() => vault.stop());

const secured: [why: string, change: Partial<VaultConnection>, kind: VaultFaultKind | 'answer'][] =
  [
    [
      'its certificate and its name',
      { ca_cert: server.cert, tls_server_name: 'vault.test' },
      'answer',
    ],
    ['no certificate', { tls_server_name: 'vault.test' }, 'untrusted'],
    ['another certificate', { ca_cert: client.cert, tls_server_name: 'vault.test' }, 'untrusted'],
    ['its certificate and no name', { ca_cert: server.cert }, 'misnamed'],
    [
      'its certificate and another name',
      { ca_cert: server.cert, tls_server_name: 'a.test' },
      'misnamed',
    ],
    ['trust in anything', { tls_skip_verify: true }, 'answer'],
  ];

test('this machine is not asked by an address of one of its interfaces', async () => {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const forms = all.flatMap(({ address, family }) =>
    family === 'IPv4'
      ? [address, `[::ffff:${address}]`, `[64:ff9b::${address}]`]
      : [`[${address}]`],
  );
  assert.ok(forms.length > 0);
  for (const form of forms) {
    assert.equal(
      await kindOf({ ...plain, address: `http://${form}:1` }, production),
      'barred',
      form,
    );
  }
});

for (const [why, change, kind] of secured) {
  test(`a server reached with ${why}: ${kind}`, async () => {
    assert.equal(await kindOf({ ...plain, address: vault.url, ...change }), kind);
  });
}

/** The address of a server that answers so; stopped with the file. */
async function serve(listener: RequestListener, tls?: object): Promise<string> {
  const made = tls ? createTlsServer(tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  after(() => {
    made.closeAllConnections();
    made.close();
  });
  const { port } = made.address() as AddressInfo;
  return `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
}

test('a server that wants a client certificate gets the one that is given', async () => {
  const tls = { ...server, ca: client.cert, requestCert: true, rejectUnauthorized: true };
  const address = await serve((_request, response) => response.end('{}'), tls);
  const trusting = { ...plain, address, ca_cert: server.cert, tls_server_name: 'vault.test' };
  const own = { client_certificate: client.cert, client_certificate_key: client.key };
  assert.equal(await kindOf({ ...trusting, ...own }), 'answer');
  assert.notEqual(await kindOf(trusting), 'answer');
});

test('an answer that is no JSON, too long, or elsewhere is none', async () => {
  const html = await serve((_request, response) => response.end('<html>'));
  assert.equal(await kindOf({ ...plain, address: html }), 'malformed');
  const long = await serve((_request, response) => response.end(`"${'x'.repeat(2 << 20)}"`));
  assert.equal(await kindOf({ ...plain, address: long }), 'malformed');
  const crumbs = await serve((_request, response) => {
    response.flushHeaders();
    response.socket?.write('1\r\n \r\n'.repeat(10_000));
  });
  assert.equal(await kindOf({ ...plain, address: crumbs }), 'malformed');
  const moved = await serve((_request, response) => {
    response.writeHead(307, { location: html }).end();
  });
  assert.equal(await kindOf({ ...plain, address: moved }), 'status');
  const cut = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{');
    setImmediate(() => response.destroy());
  });
  assert.equal(await kindOf({ ...plain, address: cut }), 'unreachable');
  assert.equal(await kindOf({ ...plain, address: 'http://127.0.0.1:1' }), 'unreachable');
});

test('certificates that cannot be used are named before anybody is asked', () => {
  const own = { client_certificate: client.cert, client_certificate_key: client.key };
  assert.equal(findUnusableField({ ...plain, ca_cert: server.cert, ...own }), undefined);
  assert.equal(findUnusableField({ ...plain, ca_cert: 'junk' }), 'ca_cert');
  const foreign = { ...own, client_certificate_key: server.key };
  assert.equal(findUnusableField({ ...plain, ...foreign }), 'client_certificate');
  const keyless = { ...own, client_certificate_key: '' };
  assert.equal(findUnusableField({ ...plain, ...keyless }), 'client_certificate');
  const bare = { ...own, client_certificate: '' };
  assert.equal(findUnusableField({ ...plain, ...bare }), 'client_certificate');
});

const inwards = [
  '127.0.0.1',
  'localhost',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
];

for (const host of inwards) {
  test(`a server at ${host} is asked in development alone, and nothing is sent to it elsewhere`, async () => {
    const asked: string[] = [];
    const local = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end('{"data":{}}');
    });
    await new Promise<void>((resolve) => local.listen(0, '::', resolve));
    try {
      const { port } = local.address() as AddressInfo;
      const there = { ...plain, address: `http://${host}:${port}` };
      assert.equal(await kindOf(there, production), 'barred');
      assert.deepEqual(asked, []);
      assert.equal(await kindOf(there), 'answer');
    } finally {
      await new Promise((resolve) => local.close(resolve));
    }
  });
}

for (const host of ['169.254.169.254', '[fd00:ec2::254]', '0.0.0.0', '0', '[::]', '2852039166']) {
  test(`a server at ${host} is never asked`, async () => {
    assert.equal(await kindOf({ ...plain, address: `http://${host}:1` }), 'barred');
  });
}

const bodies: [why: string, change: Partial<VaultConnection>, isSame: boolean][] = [
  ['the same certificates, another server and token', { address: 'https://b', token: 'b' }, true],
  ['another certificate of a CA', { ca_cert: client.cert }, false],
  ['none of a CA', { ca_cert: '' }, false],
  ['no certificate of its own', { client_certificate: '', client_certificate_key: '' }, false],
];

for (const [why, change, isSame] of bodies) {
  test(`what secures connections is ${isSame ? 'made once' : 'another one'}: ${why}`, () => {
    const contexts = new SecureContexts();
    const own = { client_certificate: client.cert, client_certificate_key: client.key };
    const connection = { ...plain, ca_cert: server.cert, ...own };
    const first = contexts.get(connection);
    assert.equal(contexts.get({ ...connection }), first);
    assert.equal(contexts.get({ ...connection, ...change }) === first, isSame);
  });
}

test('with another key nothing is secured by what was made for the right one', () => {
  const contexts = new SecureContexts();
  const own = { client_certificate: client.cert, client_certificate_key: client.key };
  contexts.get({ ...plain, ...own });
  assert.throws(() => contexts.get({ ...plain, ...own, client_certificate_key: server.key }));
});

test('private keys for Vault servers are forgotten when this server is sealed', async () => {
  const connection = { ...plain, address: vault.url, ca_cert: server.cert };
  const secured = { ...connection, tls_server_name: 'vault.test' };
  await askVault(development, secured, lookup);
  const thread = threadOf(development);
  assert.ok(thread.isRunning);
  for (const lock of locks) lock();
  assert.ok(!thread.isRunning, 'they were in its memory alone');
  assert.ok(!threadOf(development).isRunning);
  await askVault(development, secured, lookup);
  assert.ok(threadOf(development).isRunning);
});

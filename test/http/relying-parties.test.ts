import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pkiRoutes } from '../../src/pki/routes.ts';
import { PUBLIC_LISTENER } from '../support/public-listener.ts';
import { callOver, startTestServer } from '../support/server.ts';

const server = await startTestServer(
  { after },
  {
    config: {
      public_listener: PUBLIC_LISTENER,
    },
  },
);
const open = callOver(`http://127.0.0.1:${server.running.public_address?.port}`, '');

await server.call('POST', 'sys/mounts/pki', { type: 'pki' });
const root = await server.call('POST', 'pki/root/generate/internal', {
  common_name: 'Example Root',
  key_type: 'ec',
  issuer_name: 'one',
});
const id = root.textAt('data.issuer_id');
const serial = root.textAt('data.serial_number');

/** The paths of what relying parties read, apart from OCSP, which are the same bytes at both listeners. */
const SERVED = [
  'pki/ca',
  'pki/ca/pem',
  'pki/ca_chain',
  'pki/cert/ca',
  'pki/cert/ca/raw',
  'pki/cert/ca/raw/pem',
  'pki/cert/ca_chain',
  'pki/cert/ca_chain/raw',
  'pki/cert/ca_chain/raw/pem',
  'pki/crl',
  'pki/crl/pem',
  'pki/crl/delta',
  'pki/crl/delta/pem',
  'pki/cert/delta-crl',
  'pki/issuer/one/crl/delta/der',
  'pki/cert/crl',
  'pki/cert/crl/raw',
  'pki/cert/crl/raw/pem',
  'pki/issuer/one/crl',
  `pki/issuer/${id}/crl/der`,
  'pki/issuer/default/crl/pem',
  'pki/crl/shard/all',
  'pki/crl/shard/all/pem',
  'pki/issuer/one/crl/shard/all',
  'pki/issuer/one/crl/shard/all/der',
  'pki/issuer/one/der',
  'pki/issuer/one/pem',
  'pki/issuer/one/json',
];
for (const path of SERVED) {
  test(`${path} is served without TLS as it is by the API`, async () => {
    const [here, there] = [await open('GET', path), await server.call('GET', path)];
    assert.equal(here.status, 200);
    assert.equal(here.headers.get('content-type'), there.headers.get('content-type'));
    const dataOf = (reply: typeof here) => reply.field('data') ?? reply.bytes;
    assert.deepEqual(dataOf(here), dataOf(there));
  });
}

test('OCSP is answered without TLS', async () => {
  assert.equal((await open('POST', 'pki/ocsp', new Uint8Array([1]))).status, 400);
  assert.equal((await open('GET', 'pki/ocsp/AAAA')).status, 400);
  const type = (await open('GET', 'pki/ocsp')).headers.get('content-type');
  assert.equal(type, 'application/ocsp-response');
});

const REFUSED: readonly [method: string, path: string][] = [
  ['GET', 'sys/health'],
  ['GET', 'sys/seal-status'],
  ['POST', 'sys/unseal'],
  ['POST', 'sys/init'],
  ['GET', 'sys/mounts'],
  ['GET', 'auth/token/lookup-self'],
  ['POST', 'auth/userpass/login/a'],
  ['LIST', 'pki/issuers'],
  ['GET', `pki/cert/${serial}`],
  ['GET', `pki/cert/${serial}/raw`],
  ['LIST', 'pki/certs'],
  ['GET', 'pki/issuer/one'],
  ['GET', 'pki/crl/rotate'],
  ['POST', 'pki/issue/web'],
  ['POST', 'pki/revoke'],
  ['POST', 'pki/crl'],
  ['DELETE', 'pki/issuer/one/crl'],
  ['GET', 'pki/ca?help=1'],
  ['GET', 'scopes'],
  ['POST', 'auth-methods/ampw_1234567890:authenticate'],
  ['GET', 'nomount/ca'],
];
for (const [method, path] of REFUSED) {
  for (const token of ['', 'root', 'nobody']) {
    test(`${method} ${path} is not there without TLS, with the token "${token}"`, async () => {
      const reply = await open(method, path, undefined, {
        token,
        headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      });
      assert.equal(reply.status, 404);
      assert.match(reply.text, /no handler for route/);
    });
  }
}

test('nothing of the API or of the page is beside it', async () => {
  const { port } = server.running.public_address ?? {};
  for (const path of ['/health', '/', '/ui/', '/v1', '/metrics']) {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`);
    assert.equal(reply.status, 404, path);
  }
});

test('a token, a namespace and a wish for wrapping are not looked at', async () => {
  const reply = await open('GET', 'pki/cert/ca', undefined, {
    token: 'root',
    headers: {
      'x-vault-namespace': 'other',
      'x-vault-wrap-ttl': '60',
      authorization: 'Bearer other',
    },
  });
  assert.equal(reply.status, 200);
  assert.equal(reply.field('wrap_info'), null);
  assert.match(reply.textAt('data.certificate'), /BEGIN CERTIFICATE/);
});

test('what is served to relying parties is public, and read or asked', () => {
  const served = pkiRoutes.filter(({ relying_parties }) => relying_parties);
  assert.ok(served.length >= SERVED.length);
  for (const { id: route, access, method, path } of served) {
    assert.equal(access, 'public', route);
    assert.ok(method === 'GET' || /\/(?:unified-)?ocsp$/.test(path), route);
  }
  // Whatever else of the engine is public tells of certificates that are not a CA's, or of its issuers' names.
  const others = pkiRoutes.filter((route) => route.access === 'public' && !route.relying_parties);
  assert.deepEqual(others.map(({ path }) => path).sort(), [
    '/v1/{mount}/cert/{serial}',
    '/v1/{mount}/cert/{serial}/raw',
    '/v1/{mount}/cert/{serial}/raw/pem',
    '/v1/{mount}/issuers',
  ]);
});

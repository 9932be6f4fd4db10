import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';
import { after, describe, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const { running, call } = await startTestServer({ after });
const { port } = running.address;
await call('POST', 'demo/root/generate/internal', { common_name: 'Root', key_type: 'ec' });

interface Heard {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

/** As `fetch` would, but for the `Host` header, which it does not let anybody set. */
function ask(
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
  to = port,
): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port: to, path, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}

const ANSWERS: [what: string, method: string, path: string, status: number][] = [
  ['a health check', 'GET', '/v1/sys/health', 200],
  ['a health check without a body', 'HEAD', '/v1/sys/health', 200],
  ['the other health check', 'GET', '/health', 200],
  ['a health check by another verb', 'POST', '/health', 405],
  ['a certificate', 'GET', '/v1/demo/ca', 200],
  ['a certificate in PEM', 'GET', '/v1/demo/ca/pem', 200],
  ['a CRL', 'GET', '/v1/demo/crl', 200],
  ['an OCSP request that is none', 'GET', '/v1/demo/ocsp/AAAA', 400],
  ['a refusal', 'GET', '/v1/sys/mounts', 403],
  ['a path that cannot be read', 'GET', '/v1/%zz', 400],
  ['no path of ours', 'GET', '/', 404],
  ['no path of ours either', 'GET', '/index.html', 404],
  ['a list of the broker', 'GET', '/v1/scopes?scope_id=global', 200],
  ['a refusal of the broker', 'GET', '/v1/users?scope_id=global', 401],
  ['a bare refusal of the broker', 'PATCH', '/v1/scopes', 405],
  ['a page of another origin', 'GET', '/v1/scopes', 403],
  ['a verb that nobody knows', 'SEARCH', '/v1/sys/health', 405],
];

describe('every answer says that it is what it says, is kept by nobody, and is for TLS', () => {
  for (const [what, method, path, status] of ANSWERS) {
    test(`${what}: ${method} ${path}`, async () => {
      const origin = what.includes('origin') ? { origin: 'http://evil.test' } : {};
      const { headers, status: answered } = await ask(path, { method, headers: origin });
      assert.equal(answered, status);
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['cache-control'], 'no-store');
      assert.match(headers['strict-transport-security'] ?? '', /max-age=31536000/);
    });
  }
});

const TARGETS = ['/v1/sys/health', '/health', '/v1/scopes', '/v1/demo/ca', '/', '/v1/sys/mounts'];

describe('a development server answers only to hosts that are its own', () => {
  for (const path of TARGETS) {
    test(`nobody hears anything of ${path} under another name`, async () => {
      const headers = { host: `evil.test:${port}`, 'x-vault-token': 'root' };
      const heard = await ask(path, { headers });
      assert.equal(heard.status, 421, heard.text);
      assert.doesNotMatch(heard.text, /initialized|scope|MII|accessor/);
      assert.notEqual((await ask(path)).status, 421);
    });
  }

  test('a page whose name was made to lead here is none of the same origin', async () => {
    const host = `evil.test:${port}`;
    const headers = { host, origin: `http://${host}`, authorization: 'Bearer root' };
    const heard = await ask('/v1/scopes?scope_id=global', { headers });
    assert.equal(heard.status, 421);
    assert.deepEqual(JSON.parse(heard.text).kind, 'InvalidArgument');
    const own = await ask('/v1/scopes?scope_id=global', {
      headers: { origin: `http://127.0.0.1:${port}` },
    });
    assert.equal(own.status, 200);
    const nowhere = await ask('/v1/scopes', { headers: { origin: 'null' } });
    assert.equal(nowhere.status, 403);
  });

  test('the refusal is in the form of the API that the path belongs to', async () => {
    const headers = { host: 'evil.test' };
    const vault = JSON.parse((await ask('/v1/sys/health', { headers })).text);
    assert.match(vault.errors[0], /Host header/);
    const broker = JSON.parse((await ask('/v1/scopes', { headers })).text);
    assert.match(broker.message, /Host header/);
  });
});

test('names that were named are answered, and a server without names answers to all', async (t) => {
  const named = await startTestServer(t, { config: { allowed_hosts: ['gatehouse.test'] } });
  const { port: other } = named.running.address;
  const under = (host: string) => ask('/v1/sys/health', { headers: { host } }, other);
  assert.equal((await under('gatehouse.test:1')).status, 200);
  assert.equal((await under('localhost')).status, 200);
  assert.equal((await under('evil.test')).status, 421);
  const open = await startTestServer(t, { config: { allowed_hosts: undefined } });
  const heard = await ask(
    '/v1/sys/health',
    { headers: { host: 'evil.test' } },
    open.running.address.port,
  );
  assert.equal(heard.status, 200);
});

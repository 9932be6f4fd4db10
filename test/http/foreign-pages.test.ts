import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { declaredRoutes } from '../../src/start/routes.ts';
import { startTestServer } from '../support/server.ts';

// As a production server that names no hosts.
const { call, url } = await startTestServer({ after }, { config: { allowed_hosts: undefined } });

/** Endpoints that change something and need no token, with their mounts in place. */
const open: { method: string; path: string }[] = [];
const { system, secret, auth } = declaredRoutes;
for (const [mount, routes] of [['', system], ...Object.entries({ ...secret, ...auth })] as const) {
  for (const { access, method, path, body } of routes) {
    if (access !== 'public' || method === 'GET' || method === 'LIST') continue;
    if (body === 'bytes') continue;
    const filled = path.replace('{mount}', mount).replaceAll(/\{[^}]*\}/g, 'x');
    open.push({ method, path: filled.replace('/v1/', '') });
  }
}
for (const type of Object.keys(auth)) {
  if (type !== 'token') await call('POST', `sys/auth/${type}`, { type });
}

const FOREIGN: readonly Record<string, string>[] = [
  { origin: 'http://evil.test' },
  { origin: 'https://127.0.0.1' },
  { origin: 'null' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' },
];

const OWN: readonly Record<string, string>[] = [
  {},
  { origin: url },
  { origin: url, 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'none' },
];

test('the endpoints that need no token are known', () => {
  const paths = open.map(({ path }) => path);
  for (const path of [
    'sys/init',
    'sys/unseal',
    'sys/rekey/init',
    'sys/rekey-recovery-key/update',
    'sys/generate-root/attempt',
    'auth/userpass/login/x',
    'auth/approle/login',
  ]) {
    assert.ok(paths.includes(path), path);
  }
});

for (const { method, path } of open) {
  test(`${method} ${path} is refused to pages of other origins, and to nobody else for that`, async () => {
    for (const headers of FOREIGN) {
      const { status, text } = await call(method, path, {}, { token: '', headers });
      assert.equal(status, 403, JSON.stringify(headers));
      assert.match(text, /origin not allowed/);
    }
    for (const headers of OWN) {
      const { text } = await call(method, path, {}, { token: '', headers });
      assert.doesNotMatch(text, /origin not allowed/, JSON.stringify(headers));
    }
  });
}

test('what is only read, and what needs a token, is answered to pages as ever', async () => {
  const headers = { origin: 'http://evil.test', 'sec-fetch-site': 'cross-site' };
  assert.equal(
    (await call('GET', 'sys/seal-status', undefined, { token: '', headers })).status,
    200,
  );
  const written = await call(
    'POST',
    'sys/policies/acl/p',
    { policy: 'path "a" { capabilities = ["read"] }' },
    { headers },
  );
  assert.equal(written.status, 204);
  const asked = await call('POST', 'demo/ocsp', {}, { token: '', headers });
  assert.notEqual(asked.status, 403);
});

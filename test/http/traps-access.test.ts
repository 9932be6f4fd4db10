/** Who may do what, over the wire. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

let serial = '';

const { call } = await startTestServer({ after });
before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  await call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  for (const role of ['web', 'other']) {
    await call('POST', `pki/roles/${role}`, { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  }
  const issued = await call('POST', 'pki/issue/web', { common_name: 'a.test' });
  serial = issued.textAt('data.serial_number');
});

let policies = 0;
/** A token that may do what the policy says, and nothing else. */
async function tokenOf(policy: string): Promise<string> {
  policies += 1;
  const name = `p${policies}`;
  const written = await call('POST', `sys/policies/acl/${name}`, { policy });
  assert.equal(written.status, 204, written.text);
  const made = await call('POST', 'auth/token/create', {
    policies: [name],
    no_default_policy: true,
  });
  return made.textAt('auth.client_token');
}

const grant = (path: string, ...capabilities: string[]): string =>
  `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }\n`;

test('what relying parties need is served without a token, and with a wrong one', async () => {
  const open: [method: string, path: string][] = [
    ['GET', 'ca'],
    ['GET', 'ca/pem'],
    ['GET', 'ca_chain'],
    ['GET', 'crl'],
    ['GET', 'crl/pem'],
    ['GET', `cert/${serial}`],
    ['GET', `cert/${serial}/raw`],
    ['GET', `cert/${serial}/raw/pem`],
    ['GET', 'cert/ca'],
    ['GET', 'cert/ca/raw'],
    ['GET', 'cert/ca/raw/pem'],
    ['GET', 'cert/ca_chain'],
    ['GET', 'cert/crl'],
    ['GET', 'cert/crl/raw'],
    ['GET', 'cert/crl/raw/pem'],
    ['GET', 'issuer/default/json'],
    ['GET', 'issuer/default/der'],
    ['GET', 'issuer/default/pem'],
    ['GET', 'issuer/default/crl'],
    ['GET', 'issuer/default/crl/der'],
    ['GET', 'issuer/default/crl/pem'],
    ['GET', 'issuer/default/crl/delta'],
    ['GET', 'issuer/default/crl/delta/der'],
    ['GET', 'issuer/default/crl/delta/pem'],
    ['GET', 'crl/delta'],
    ['GET', 'crl/delta/pem'],
    ['GET', 'cert/delta-crl'],
    ['GET', 'cert/delta-crl/raw'],
    ['GET', 'cert/delta-crl/raw/pem'],
    ['LIST', 'issuers'],
  ];
  for (const token of ['', 'hvs.nobody']) {
    for (const [method, path] of open) {
      const answer = await call(method, `pki/${path}`, undefined, { token });
      assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    }
    const ocsp = await call('POST', 'pki/ocsp', new Uint8Array(3), { token });
    assert.equal(ocsp.status, 400, 'heard, and found malformed');
    assert.equal(ocsp.headers.get('content-type'), 'application/ocsp-response');
  }
});

test('what tells about the CA itself is not served without a token', async () => {
  const closed: [method: string, path: string][] = [
    ['LIST', 'certs'],
    ['LIST', 'certs/revoked'],
    ['LIST', 'certs/revocation-queue'],
    ['GET', 'certs/search'],
    ['GET', 'issuer/default'],
    ['LIST', 'keys'],
    ['GET', 'key/default'],
    ['GET', 'crl/rotate'],
    ['GET', 'crl/rotate-delta'],
    ['LIST', 'roles'],
    ['GET', 'roles/web'],
    ['GET', 'config/crl'],
    ['GET', 'config/urls'],
    ['GET', 'config/issuers'],
    ['GET', 'config/keys'],
    ['POST', 'issue/web'],
    ['POST', 'sign/web'],
    ['POST', 'revoke'],
    ['POST', 'revoke-with-key'],
    ['POST', 'root/generate/internal'],
    ['DELETE', 'root'],
    ['POST', 'issuer/default'],
    ['DELETE', 'issuer/default'],
    ['POST', 'acme/new-eab'],
  ];
  for (const token of ['', 'hvs.nobody']) {
    for (const [method, path] of closed) {
      const answer = await call(method, `pki/${path}`, method === 'POST' ? {} : undefined, {
        token,
      });
      assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`);
      assert.match(answer.text, /permission denied/);
    }
  }
});

test('removing every issuer and key needs sudo besides the capability', async () => {
  await call('POST', 'sys/mounts/gone', { type: 'pki' });
  const all = ['create', 'read', 'update', 'patch', 'delete', 'list'];
  const plain = await tokenOf(grant('gone/*', ...all));
  assert.equal((await call('DELETE', 'gone/root', undefined, { token: plain })).status, 403);
  const onlySudo = await tokenOf(grant('gone/root', 'sudo'));
  assert.equal((await call('DELETE', 'gone/root', undefined, { token: onlySudo })).status, 403);
  const both = await tokenOf(grant('gone/*', ...all, 'sudo'));
  const done = await call('DELETE', 'gone/root', undefined, { token: both });
  assert.equal(done.status, 200, done.text);
  assert.match(done.textAt('warnings'), /DELETE \/root deletes all keys and issuers/);
});

test('issuing is an update, create alone does not do', async () => {
  const body = { common_name: 'a.test' };
  const create = await tokenOf(grant('pki/issue/web', 'create'));
  assert.equal((await call('POST', 'pki/issue/web', body, { token: create })).status, 403);
  const update = await tokenOf(grant('pki/issue/web', 'update'));
  assert.equal((await call('POST', 'pki/issue/web', body, { token: update })).status, 200);
  assert.equal((await call('PUT', 'pki/issue/web', body, { token: update })).status, 200);
  assert.equal((await call('POST', 'pki/issue/other', body, { token: update })).status, 403);
});

test('a deny takes one role out of a grant on all, under whatever spelling of its path', async () => {
  const token = await tokenOf(grant('pki/issue/*', 'update') + grant('pki/issue/web', 'deny'));
  const ask = (path: string) => call('POST', path, { common_name: 'a.test' }, { token });
  assert.equal((await ask('pki/issue/other')).status, 200);
  assert.equal((await ask('pki/issue/web')).status, 403);
  for (const path of [
    'pki/issue/web/',
    'pki/issue//web',
    'pki//issue/web',
    'pki/issue/%77eb',
    'pki/issue/%2577eb',
    'pki/issue/web%2f',
    'pki/issue/web%00',
    'pki/issue/x/%2e%2e/web',
    'pki/issue/WEB',
    'PKI/issue/web',
  ]) {
    const { status } = await ask(path);
    // Decoded once and no more, some are no path of the engine at all.
    assert.ok([400, 403, 404].includes(status), `${path}: ${status}`);
  }
});

test('where parameters are listed, others are refused, and so are other values', async () => {
  const token = await tokenOf(
    `path "pki/issue/web" {
       capabilities = ["update"]
       allowed_parameters = { "common_name" = ["*.example.com"] }
     }`,
  );
  const ask = (body: Record<string, unknown>) => call('POST', 'pki/issue/web', body, { token });
  assert.equal((await ask({ common_name: 'a.example.com' })).status, 200);
  assert.equal((await ask({ common_name: 'a.example.org' })).status, 403);
  assert.equal((await ask({ common_name: 'a.example.com', ttl: '1h' })).status, 403);
  assert.equal((await ask({ common_name: 'a.example.com', TTL: '1h' })).status, 403);
});

test('PATCH needs patch, LIST needs list, rotation of the CRL needs read', async () => {
  const verbs: [capability: string, method: string, path: string, body?: unknown][] = [
    ['patch', 'PATCH', 'pki/roles/other', { ttl: '2h' }],
    ['list', 'LIST', 'pki/roles'],
    ['read', 'GET', 'pki/crl/rotate'],
    ['delete', 'DELETE', 'pki/roles/none'],
    ['update', 'POST', 'pki/roles/made', {}],
  ];
  for (const [needed, method, path, body] of verbs) {
    const others = verbs.map(([name]) => name).filter((name) => name !== needed);
    const without = await tokenOf(grant('pki/*', 'create', ...others));
    const refused = await call(method, path, body, { token: without });
    assert.equal(refused.status, 403, `${method} without ${needed}`);
    const token = await tokenOf(grant('pki/*', needed));
    const answer = await call(method, path, body, { token });
    assert.ok(answer.status < 300, `${method} with ${needed}: ${answer.text}`);
  }
});

test('capabilities are told as they would be judged', async () => {
  const token = await tokenOf(
    grant('pki/issue/*', 'update') +
      grant('pki/issue/web', 'deny') +
      grant('pki/root', 'sudo', 'delete'),
  );
  const answer = await call('POST', 'sys/capabilities', {
    token,
    paths: ['pki/issue/web', 'pki/issue/other', 'pki/root', 'pki/roles'],
  });
  assert.deepEqual(answer.field('data.pki/issue/web'), ['deny']);
  assert.deepEqual(answer.field('data.pki/issue/other'), ['update']);
  assert.deepEqual(answer.field('data.pki/root'), ['delete', 'sudo']);
  assert.deepEqual(answer.field('data.pki/roles'), ['deny']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Resource } from '../../src/broker/resource/resource.ts';
import { insertResource } from '../../src/broker/resource/store.ts';
import { RATE_LIMIT_DEFAULTS } from '../../src/config/settings.ts';
import { makeProject, repair } from '../support/broker.ts';
import { makeResource } from '../support/resources.ts';
import { startTestServer } from '../support/server.ts';

test('every answer of the broker tells of its quota, and one too many when to come again', async (t) => {
  const quotas = { total: 100, per_ip_address: 100, per_auth_token: 3 };
  const client = await startTestServer(t, {
    config: { rate_limits: { disable: false, period: 30, list: quotas, other: quotas } },
  });
  for (const remaining of [2, 1, 0]) {
    const answer = await client.call('GET', 'scopes?scope_id=global');
    assert.equal(answer.status, 200);
    const told = answer.headers.get('ratelimit') ?? '';
    assert.match(told, new RegExp(`^limit=3, remaining=${remaining}, reset=\\d+$`));
    assert.match(answer.headers.get('ratelimit-policy') ?? '', /^100;w=30;comment="total", /);
  }
  const refused = await client.call('GET', 'scopes?scope_id=global');
  assert.equal(refused.status, 429);
  assert.equal(refused.text, '');
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
  const another = await client.call('GET', 'roles?scope_id=global');
  assert.equal(another.status, 200, 'another endpoint');
  const wrong = await client.call('GET', 'roles/x');
  assert.equal(wrong.status, 400);
  assert.notEqual(wrong.headers.get('ratelimit'), null, 'refusals, too');
});

test('what is asked without a good token uses nothing up of those who have one', async (t) => {
  const quotas = { total: 2, per_ip_address: 2, per_auth_token: 2 };
  const client = await startTestServer(t, {
    config: { rate_limits: { disable: false, period: 30, list: quotas, other: quotas } },
  });
  const ask = async (headers: Record<string, string>) =>
    (await fetch(`${client.url}/v1/scopes?scope_id=global`, { headers })).status;
  const made_up = { authorization: 'Bearer at_1234567890_made-up' };
  assert.notEqual(await ask({}), 429);
  assert.notEqual(await ask(made_up), 429);
  assert.equal(await ask({}), 429);
  assert.equal(await ask(made_up), 429);
  assert.equal((await client.call('GET', 'scopes?scope_id=global')).status, 200);
  assert.equal((await client.call('GET', 'scopes?scope_id=global')).status, 200);
  assert.equal((await client.call('GET', 'scopes?scope_id=global')).status, 429);
});

test("limits are the broker's alone, and can be switched off", async (t) => {
  const client = await startTestServer(t, {
    config: { rate_limits: { ...RATE_LIMIT_DEFAULTS, disable: true } },
  });
  const answer = await client.call('GET', 'scopes?scope_id=global');
  assert.equal(answer.headers.get('ratelimit'), null);
  assert.equal((await client.call('GET', 'sys/mounts')).headers.get('ratelimit'), null);
});

test('health is told without a token', async (t) => {
  const client = await startTestServer(t);
  const answer = await fetch(`${client.url}/health`);
  assert.equal(answer.status, 200);
  assert.equal(await answer.text(), '{}');
  assert.equal((await fetch(`${client.url}/health?worker_info=1`)).status, 200);
  assert.equal((await fetch(`${client.url}/health`, { method: 'POST' })).status, 405);
  assert.equal((await fetch(`${client.url}/healthy`)).status, 404);
  await client.running.app.barrier.seal();
  assert.equal((await fetch(`${client.url}/health`)).status, 503, 'sealed');
});

test('pages of other origins may call the broker where they are allowed to', async (t) => {
  const client = await startTestServer(t, {
    config: { cors: { allowed_origins: ['https://console.test'], allowed_headers: [] } },
  });
  const from = (origin: string, method = 'GET', headers = {}) =>
    fetch(`${client.url}/v1/scopes?scope_id=global`, {
      method,
      headers: { origin, 'x-vault-token': 'root', ...headers },
    });
  const allowed = await from('https://console.test');
  assert.equal(allowed.status, 200);
  assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://console.test');
  assert.match(allowed.headers.get('access-control-expose-headers') ?? '', /RateLimit/);
  const refused = await from('https://evil.test');
  assert.equal(refused.status, 403);
  assert.equal(refused.headers.get('access-control-allow-origin'), null);
  const asked = await from('https://console.test', 'OPTIONS', {
    'access-control-request-method': 'POST',
  });
  assert.equal(asked.status, 204);
  assert.match(asked.headers.get('access-control-allow-methods') ?? '', /PATCH/);
  assert.equal((await from(client.url)).status, 200, "the server's own page");
});

test('for one user stand 64 accounts and no more, and some can be taken away then', async (t) => {
  const server = await startTestServer(t);
  const { auth_method_id } = await makeProject(server);
  const user = (await repair(server, 'users', { scope_id: 'global' })).textAt('id');
  const accountOf = (at: number, owner_id: string): Resource =>
    makeResource(`acctpw_${String(at).padStart(10, '0')}`, {
      scope_id: 'global',
      container_id: auth_method_id,
      owner_id,
      body: { login_name: `n${at}`, password_hash: '' },
    });
  const { store } = server.running.app;
  await store.commit(Array.from({ length: 64 }, (_, at) => insertResource(accountOf(at, user))));
  await store.commit([insertResource(accountOf(64, ''))]);
  const change = (verb: string, version: number, at: number) =>
    server.call('POST', `users/${user}:${verb}`, { version, account_ids: [accountOf(at, '').id] });
  const refused = await change('add-accounts', 1, 64);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /At most 64 can be there altogether; there would be 65/);
  assert.equal((await change('remove-accounts', 1, 0)).status, 200);
  assert.equal((await change('add-accounts', 2, 64)).status, 200);
});

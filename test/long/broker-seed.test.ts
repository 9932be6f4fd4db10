import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SEED_DEFAULTS, type SeedSettings } from '../../src/config/seed.ts';
import { makeRecoveryToken } from '../support/recovery-token.ts';
import { type Client, startTestServer } from '../support/server.ts';

type Test = Parameters<typeof startTestServer>[0];

const seeded = (
  t: Test,
  change: Partial<SeedSettings> = {},
  options: Parameters<typeof startTestServer>[1] = {},
): Promise<Client> =>
  startTestServer(t, {
    ...options,
    config: { seed: { ...SEED_DEFAULTS, ...change }, ...options.config },
  });

async function logIn(
  client: Client,
  login_name: string,
  password = 'password',
  method = 'ampw_1234567890',
): Promise<string> {
  const answer = await client.call(
    'POST',
    `auth-methods/${method}:authenticate`,
    { attributes: { login_name, password } },
    { token: '' },
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.textAt('attributes.token');
}

const as = (client: Client, token: string) => (path: string) =>
  client.call('GET', path, undefined, { token: '', headers: { authorization: `Bearer ${token}` } });

const names = (items: unknown): string[] =>
  Array.isArray(items) ? items.map((item: { name: string }) => item.name).sort() : [];

test('a development server has the people, scopes, hosts, targets and aliases of the original', async (t) => {
  const client = await seeded(t);
  const admin = as(client, await logIn(client, 'admin'));
  for (const [path, field, value] of [
    ['users/u_1234567890', 'name', 'admin'],
    ['users/u_1234567890', 'description', 'Initial admin user within the "global" scope'],
    ['users/u_1234567890', 'primary_account_id', 'acctpw_1234567890'],
    ['users/u_0987654321', 'primary_account_id', 'acctpw_0987654321'],
    ['accounts/acctpw_1234567890', 'attributes.login_name', 'admin'],
    ['accounts/acctpw_0987654321', 'attributes.login_name', 'user'],
    ['auth-methods/ampw_1234567890', 'is_primary', 'true'],
    ['scopes/global', 'primary_auth_method_id', 'ampw_1234567890'],
    ['scopes/o_1234567890', 'scope_id', 'global'],
    ['scopes/p_1234567890', 'scope_id', 'o_1234567890'],
    ['host-catalogs/hcst_1234567890', 'scope_id', 'p_1234567890'],
    ['hosts/hst_1234567890', 'attributes.address', 'localhost'],
    ['host-sets/hsst_1234567890', 'host_ids', 'hst_1234567890'],
    ['targets/ttcp_1234567890', 'name', 'Generated target with a direct address'],
    ['targets/ttcp_1234567890', 'address', '127.0.0.1'],
    ['targets/ttcp_1234567890', 'attributes.default_port', '22'],
    ['targets/ttcp_0987654321', 'name', 'Generated target using host sources'],
    ['targets/ttcp_0987654321', 'address', ''],
    ['targets/ttcp_0987654321', 'host_source_ids', 'hsst_1234567890'],
    ['targets/ssh.boundary.dev', 'attributes.default_port', '22'],
    ['targets/postgres.boundary.dev', 'attributes.default_port', '5432'],
    ['targets/www.hashicorp.com', 'address', 'www.hashicorp.com'],
  ] as const) {
    const answer = await admin(path);
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    assert.equal(answer.textAt(field), value, `${path} ${field}`);
  }
  const postgres = await admin('targets/postgres.boundary.dev');
  const credential = await admin(
    `credentials/${postgres.textAt('brokered_credential_source_ids.0')}`,
  );
  assert.equal(credential.textAt('type'), 'username_password', credential.text);
  assert.equal(credential.textAt('attributes.username'), 'postgres');
  const targets = await admin('targets?scope_id=p_1234567890');
  assert.equal(names(targets.field('items')).length, 5);
  const scopes = await admin('scopes?scope_id=global&recursive=true');
  assert.deepEqual(names(scopes.field('items')), [
    'Generated org scope',
    'Generated project scope',
  ]);
});

test("the administrator's token has the root policy on the other API, the plain user's has not", async (t) => {
  const client = await seeded(t);
  const [admin, user] = await Promise.all([logIn(client, 'admin'), logIn(client, 'user')]);
  assert.equal((await client.call('GET', 'sys/mounts', undefined, { token: admin })).status, 200);
  assert.equal((await client.call('GET', 'sys/mounts', undefined, { token: user })).status, 403);
});

test('the plain user may list and read targets and authorize sessions, and no more', async (t) => {
  const client = await seeded(t);
  const user = as(client, await logIn(client, 'user'));
  const target = await user('targets/ttcp_1234567890');
  assert.deepEqual(target.field('authorized_actions'), ['read', 'authorize-session']);
  assert.equal((await user('targets?scope_id=p_1234567890')).status, 200);
  assert.equal((await user('roles?scope_id=global')).status, 403);
  assert.equal((await user('hosts/hst_1234567890')).status, 403);
});

test('seed data survives a restart and is not made twice', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const stops: (() => Promise<void>)[] = [];
  const hold = { after: (stop: () => Promise<void>) => stops.push(stop) };
  const count = async (client: Client): Promise<number> =>
    names(
      (await as(client, await logIn(client, 'admin'))('targets?scope_id=p_1234567890')).field(
        'items',
      ),
    ).length;
  const first = await seeded(hold, {}, { directory });
  assert.equal(await count(first), 5);
  const made = await first.call('DELETE', 'targets/ttcp_1234567890');
  assert.equal(made.status, 204);
  await stops.pop()?.();
  const second = await seeded(hold, {}, { directory });
  assert.equal(second.running.notice, undefined);
  assert.equal(await count(second), 4, 'what was deleted stays so');
  await stops.pop()?.();
  const third = await seeded(hold, { password: 'another-one' }, { directory });
  assert.match(third.running.notice ?? '', /made once.*\n?.*-password/s);
  assert.doesNotMatch(third.running.notice ?? '', /another-one/);
  assert.equal(await count(third), 4, 'with the password of the first start');
  await stops.pop()?.();
});

test('ids, names and passwords are as the flags have them', async (t) => {
  const client = await seeded(t, {
    id_suffix: 'AbCdEf0123',
    login_name: 'root.admin',
    password: 'correct horse',
    unprivileged_login_name: '',
  });
  const token = await logIn(client, 'root.admin', 'correct horse', 'ampw_AbCdEf0123');
  const admin = as(client, token);
  assert.equal((await admin('targets/ttcp_3210fEdCbA')).status, 200);
  assert.equal((await admin('users/u_AbCdEf0123')).status, 200);
  assert.equal((await admin('users/u_3210fEdCbA')).status, 404, 'there is no plain user');
  assert.equal((await admin('targets/ttcp_1234567890')).status, 404);
});

test('outside development mode there is none of it', async (t) => {
  const client = await startTestServer(t);
  assert.equal((await client.call('GET', 'users/u_1234567890')).status, 404);
});

test('a recovery token is good once, for whoever has the key', async (t) => {
  const recovery_key = randomBytes(32);
  const client = await seeded(t, {}, { config: { recovery_key } });
  const created_ms = Date.now();
  const token = makeRecoveryToken(recovery_key, { created_ms });
  const read = await as(client, token)('roles?scope_id=global');
  assert.equal(read.status, 200, read.text);
  assert.equal((await as(client, token)('roles?scope_id=global')).status, 401, 'the second time');
  const fresh = makeRecoveryToken(recovery_key, { created_ms });
  const made = await client.call(
    'POST',
    'scopes',
    { scope_id: 'global', name: 'made by repair' },
    { token: '', headers: { authorization: `Bearer ${fresh}` } },
  );
  assert.equal(made.status, 200, made.text);
  const strange = makeRecoveryToken(randomBytes(32), { created_ms });
  assert.equal((await as(client, strange)('roles?scope_id=global')).status, 401, 'another key');
});

test('one recovery token sent 16 times at once is taken once', async (t) => {
  const recovery_key = randomBytes(32);
  const client = await seeded(t, {}, { config: { recovery_key } });
  const token = makeRecoveryToken(recovery_key, { created_ms: Date.now() });
  const answers = await Promise.all(
    Array.from({ length: 16 }, () => as(client, token)('roles?scope_id=global')),
  );
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
});

test('without a recovery key no recovery token is taken', async (t) => {
  const client = await seeded(t);
  const token = makeRecoveryToken(randomBytes(32), { created_ms: Date.now() });
  assert.equal((await as(client, token)('roles?scope_id=global')).status, 401);
});

test('whoever has a session counts as active, in the month of the session', async (t) => {
  const client = await seeded(t);
  const [admin, user] = await Promise.all([logIn(client, 'admin'), logIn(client, 'user')]);
  for (const token of [admin, user, user]) {
    const made = await client.call(
      'POST',
      'targets/ttcp_1234567890:authorize-session',
      {},
      {
        token: '',
        headers: { authorization: `Bearer ${token}` },
      },
    );
    assert.equal(made.status, 200, made.text);
    assert.match(made.textAt('authorization_token'), /^[1-9A-Za-z]+$/);
  }
  const counted = await as(client, admin)('billing:monthly-active-users');
  assert.equal(counted.field('items.0.count'), 2);
});

test("the plain user reads and cancels sessions of their own, and nobody else's", async (t) => {
  const client = await seeded(t);
  const [admin, user] = await Promise.all([logIn(client, 'admin'), logIn(client, 'user')]);
  const post = (token: string, path: string, body: object) =>
    client.call('POST', path, body, { token: '', headers: { authorization: `Bearer ${token}` } });
  const authorize = (token: string) => post(token, 'targets/ttcp_1234567890:authorize-session', {});
  const own = (await authorize(user)).textAt('session_id');
  const other = (await authorize(admin)).textAt('session_id');
  assert.equal((await as(client, user)(`sessions/${own}`)).status, 200);
  assert.equal((await as(client, user)(`sessions/${other}`)).status, 403);
  const list = await as(client, user)('sessions?scope_id=p_1234567890');
  assert.deepEqual(
    (list.field('items') as { id: string }[]).map(({ id }) => id),
    [own],
  );
  assert.equal((await post(user, `sessions/${other}:cancel`, { version: 1 })).status, 403);
  assert.equal((await post(user, `sessions/${own}:cancel`, { version: 1 })).status, 200);
});

test('whoever repairs is allowed everything but a session', async (t) => {
  const recovery_key = randomBytes(32);
  const client = await seeded(t, {}, { config: { recovery_key } });
  const token = makeRecoveryToken(recovery_key, { created_ms: Date.now() });
  const refused = await client.call(
    'POST',
    'targets/ttcp_1234567890:authorize-session',
    {},
    {
      token: '',
      headers: { authorization: `Bearer ${token}` },
    },
  );
  assert.equal(refused.status, 403, refused.text);
});

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { AUTH_METHOD, type Person, startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const broker = await startBroker({ after });
const { admin, nobody, client, make } = broker;

const attempt = (login_name: string): Promise<Reply> =>
  nobody('POST', `auth-methods/${AUTH_METHOD}:authenticate`, {
    attributes: { login_name, password: 'password' },
  });

test('a token of the other API is not somebody because it says so', async () => {
  const policy = 'path "auth/token/create" { capabilities = ["update"] }';
  await client.call('PUT', 'sys/policies/acl/makes-tokens', { policy });
  const plain = await client.call('POST', 'auth/token/create', { policies: ['makes-tokens'] });
  const { token: theirs } = await broker.person([]);
  for (const meta of [
    { auth_token_id: tokenIdOf(broker.admin_token) },
    { auth_token_id: tokenIdOf(theirs), path: `auth-methods/${AUTH_METHOD}:authenticate` },
  ]) {
    const child = await client.call(
      'POST',
      'auth/token/create',
      { meta },
      {
        token: plain.textAt('auth.client_token'),
      },
    );
    const token = child.textAt('auth.client_token');
    assert.equal(
      (await client.call('GET', 'auth/token/lookup-self', undefined, { token })).status,
      200,
    );
    const call = broker.as(token);
    assert.equal((await call('GET', 'users?scope_id=global')).status, 401);
    assert.equal((await call('GET', `auth-tokens/${meta.auth_token_id}`)).status, 401);
    assert.equal((await call('DELETE', `auth-tokens/${meta.auth_token_id}`)).status, 401);
  }
});

const ends: [name: string, end: (person: Person) => Promise<Reply>][] = [
  ['its account is deleted', ({ account_id }) => admin('DELETE', `accounts/${account_id}`)],
  ['its user is deleted', ({ user_id }) => admin('DELETE', `users/${user_id}`)],
  [
    'its account is taken from the user',
    async ({ user_id, account_id }) => {
      const version = (await admin('GET', `users/${user_id}`)).field('version');
      const body = { version, account_ids: [account_id] };
      return admin('POST', `users/${user_id}:remove-accounts`, body);
    },
  ],
];
for (const [name, end] of ends) {
  test(`a log-in is nobody's who it was when, before it is done, ${name}`, async () => {
    const person = await broker.person([]);
    const late = [attempt(person.login_name), attempt(person.login_name)];
    const done = await end(person);
    assert.ok(done.status < 300, done.text);
    for (const reply of await Promise.all(late)) {
      if (reply.status !== 200) continue;
      // Where there still is an account, whoever owns it may be somebody new, or it came before.
      const token = reply.textAt('attributes.token');
      const own = await broker.as(token)('GET', `auth-tokens/${tokenIdOf(token)}`);
      assert.notEqual(own.field('user_id'), person.user_id);
      if (name.startsWith('its account is deleted')) assert.equal(own.status, 401);
    }
  });
}

test('who gets a login name that somebody had before is not who had it', async () => {
  const before = await broker.person([]);
  const entityOf = async (token: string): Promise<string> =>
    (await client.call('GET', 'auth/token/lookup-self', undefined, { token })).textAt(
      'data.entity_id',
    );
  const entity = await entityOf(before.token);
  assert.equal((await admin('DELETE', `accounts/${before.account_id}`)).status, 204);
  const attributes = { login_name: before.login_name, password: 'password' };
  await make('accounts', { auth_method_id: AUTH_METHOD, attributes });
  const logIn = await attempt(before.login_name);
  assert.equal(logIn.status, 200, logIn.text);
  assert.notEqual(logIn.textAt('attributes.user_id'), before.user_id);
  assert.notEqual(await entityOf(logIn.textAt('attributes.token')), entity);
});

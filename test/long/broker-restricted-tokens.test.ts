import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

// A token that was made from another has policies and no grants: on the broker's side it is
// nobody, on the Vault API it is never more than what it names.

const broker = await startBroker({ after });
const { client, admin_token } = broker;
const root = (method: string, path: string, body?: unknown) => client.call(method, path, body);
const ok = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};

/** Somebody who may read and change every user of the broker, and make tokens of any kind. */
const chief = await broker.person(['ids=*;type=*;actions=*']);
const entity_id = (
  await client.call('GET', 'auth/token/lookup-self', undefined, { token: chief.token })
).textAt('data.entity_id');
await ok(
  root('PUT', 'sys/policies/acl/maker', {
    policy: 'path "auth/token/create*" { capabilities = ["update", "sudo"] }',
  }),
);
await ok(
  root('PUT', 'sys/policies/acl/keeper', {
    policy: 'path "auth/userpass/users/*" { capabilities = ["read"] }',
  }),
);
await ok(root('POST', `identity/entity/id/${entity_id}`, { policies: ['maker', 'keeper'] }));
await ok(root('POST', 'sys/auth/userpass', { type: 'userpass' }));
await ok(root('POST', 'sys/auth/approle', { type: 'approle' }));
const mounts = (await root('GET', 'sys/auth')).field('data') as Record<
  string,
  { accessor: string }
>;
const bind = (name: string, mount: string) =>
  ok(
    root('POST', 'identity/entity-alias', {
      name,
      canonical_id: entity_id,
      mount_accessor: mounts[mount]?.accessor,
    }),
  );
await ok(
  root('POST', 'auth/userpass/users/chief', { password: 'secret phrase', policies: 'maker' }),
);
await bind('chief', 'userpass/');
await ok(root('POST', 'auth/approle/role/chief', { token_type: 'batch', role_id: 'chief-id' }));
await bind('chief-id', 'approle/');
for (const [name, rules] of [
  ['plain', {}],
  ['narrow', { allowed_policies: 'keeper' }],
  ['but', { disallowed_policies: 'maker' }],
  ['lone', { orphan: true }],
] as const) {
  await ok(root('POST', `auth/token/roles/${name}`, rules));
}

const logInByName = async (): Promise<string> =>
  (
    await client.call(
      'POST',
      'auth/userpass/login/chief',
      { password: 'secret phrase' },
      { token: '' },
    )
  ).textAt('auth.client_token');
const logInByRole = async (): Promise<string> => {
  const made = await ok(root('POST', 'auth/approle/role/chief/secret-id'));
  const halves = { role_id: 'chief-id', secret_id: made.textAt('data.secret_id') };
  const done = await client.call('POST', 'auth/approle/login', halves, { token: '' });
  return done.textAt('auth.client_token');
};
const logIns: [name: string, logIn: () => Promise<string>][] = [
  ['a log-in of the broker', async () => chief.token],
  ['a log-in by name of the same entity', logInByName],
];

const readsUsers = async (token: string): Promise<number> =>
  (await broker.as(token)('GET', `users/${chief.user_id}`)).status;
const readsNames = async (token: string): Promise<number> =>
  (await client.call('GET', 'auth/userpass/users/chief', undefined, { token })).status;

/** How a token is made, and whether it has the policies that its entity adds. */
const ways: [why: string, path: string, body: object, hasEntityPolicies: boolean][] = [
  ['with nothing asked for', 'create', {}, true],
  ['as the Terraform provider does', 'create', { ttl: '20m', renewable: false }, true],
  ['as a batch token', 'create', { type: 'batch' }, true],
  ['of a few uses', 'create', { num_uses: 5 }, true],
  ['with a period', 'create', { period: '1h' }, true],
  ['by a role without lists', 'create/plain', {}, true],
  ['with "default" named', 'create', { policies: ['default'] }, false],
  ['with a blank name', 'create', { policies: [''] }, false],
  ['as a batch token with "default"', 'create', { policies: ['default'], type: 'batch' }, false],
  ['without "default"', 'create', { no_default_policy: true }, false],
  ['by a role with allowed policies', 'create/narrow', { policies: ['default'] }, false],
  ['by a role with disallowed policies', 'create/but', { policies: ['default'] }, false],
  ['as an orphan', 'create-orphan', {}, false],
  ['as an orphan, as asked for', 'create', { no_parent: true }, false],
  ['as an orphan by a role', 'create/lone', {}, false],
];

for (const [name, logIn] of logIns) {
  test(`${name} is the broker's user, with the policies of its entity`, async () => {
    const token = await logIn();
    assert.equal(await readsUsers(token), 200);
    assert.equal(await readsNames(token), 200);
  });

  for (const [why, path, body, hasEntityPolicies] of ways) {
    test(`a token made from ${name} ${why} is no user of the broker`, async () => {
      const token = await logIn();
      const made = await ok(client.call('POST', `auth/token/${path}`, body, { token }));
      const child = made.textAt('auth.client_token');
      assert.equal(await readsUsers(child), 401);
      const set = await broker.as(child)('POST', `accounts/${chief.account_id}:set-password`, {
        version: 1,
        password: 'another password',
      });
      assert.equal(set.status, 401);
      assert.equal(await readsNames(child), hasEntityPolicies ? 200 : 403);
    });
  }
}

test('a log-in of a batch token is the same user, as it was made from no other', async () => {
  assert.equal(await readsUsers(await logInByRole()), 200);
});

test('what is made from a restricted token is restricted, also when it is renewed', async () => {
  const body = { policies: ['default', 'maker'] };
  const first = await ok(
    client.call('POST', 'auth/token/create', body, { token: await logInByName() }),
  );
  const token = first.textAt('auth.client_token');
  assert.equal(await readsNames(token), 403);
  assert.equal(first.field('auth.identity_policies'), undefined);
  const second = await ok(client.call('POST', 'auth/token/create', {}, { token }));
  const child = second.textAt('auth.client_token');
  await ok(client.call('POST', 'auth/token/renew-self', {}, { token: child }));
  const own = await client.call('GET', 'auth/token/lookup-self', undefined, { token: child });
  assert.deepEqual(own.field('data.policies'), ['default', 'maker']);
  assert.equal(own.field('data.identity_policies'), undefined);
  assert.equal(own.textAt('data.entity_id'), entity_id, 'whose it is stays known');
  assert.equal(await readsNames(child), 403);
  assert.equal(await readsUsers(child), 401);
  const asked = { token: child, paths: ['auth/userpass/users/chief'] };
  const capable = await root('POST', 'sys/capabilities', asked);
  assert.deepEqual(capable.field('capabilities'), ['deny']);
});

test('a wrapped token is restricted as one that is not', async () => {
  const headers = { 'x-vault-wrap-ttl': '60' };
  const body = { policies: ['default'] };
  const wrapped = await client.call('POST', 'auth/token/create', body, {
    token: chief.token,
    headers,
  });
  const token = wrapped.textAt('wrap_info.token');
  const taken = await ok(client.call('POST', 'sys/wrapping/unwrap', undefined, { token }));
  const child = taken.textAt('auth.client_token');
  assert.equal(await readsUsers(child), 401);
  assert.equal(await readsNames(child), 403);
});

test("a child of the administrator's token is root where it says so, and else nobody", async () => {
  const make = async (body: object): Promise<string> =>
    (await ok(client.call('POST', 'auth/token/create', body, { token: admin_token }))).textAt(
      'auth.client_token',
    );
  assert.equal(await readsUsers(await make({ ttl: '1h' })), 200, 'the root policy, whole');
  assert.equal(await readsUsers(await make({ policies: ['root'], ttl: '1h' })), 200);
  for (const policies of [['default'], ['maker'], ['default', 'keeper']]) {
    assert.equal(await readsUsers(await make({ policies })), 401, policies.join());
  }
});

test('a child may be used from where its parent may be used, and from nowhere else', async () => {
  await ok(
    root('POST', 'auth/userpass/users/bound', {
      password: 'secret phrase',
      policies: 'maker',
      token_bound_cidrs: '127.0.0.0/8',
    }),
  );
  const logIn = await client.call(
    'POST',
    'auth/userpass/login/bound',
    { password: 'secret phrase' },
    { token: '' },
  );
  const token = logIn.textAt('auth.client_token');
  for (const path of ['create', 'create/plain']) {
    const made = await ok(client.call('POST', `auth/token/${path}`, {}, { token }));
    const child = made.textAt('auth.client_token');
    const own = await client.call('GET', 'auth/token/lookup-self', undefined, { token: child });
    assert.deepEqual(own.field('data.bound_cidrs'), ['127.0.0.0/8'], path);
  }
});

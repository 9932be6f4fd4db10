// Whoever is denied something is denied it with every token that they can make.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Reply, startTestServer } from '../support/server.ts';

const server = await startTestServer({ after });
const root = (method: string, path: string, body?: unknown) => server.call(method, path, body);

const ok = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};
const policy = (name: string, text: string) =>
  ok(root('PUT', `sys/policies/acl/${name}`, { policy: text }));

await ok(root('POST', 'demo/root/generate/internal', { common_name: 'Root', key_type: 'ec' }));
for (const role of ['web', 'prod']) {
  await ok(root('POST', `demo/roles/${role}`, { allow_any_name: true, key_type: 'ec', ttl: '1h' }));
}
const MAKER = 'path "auth/token/create*" { capabilities = ["update"] }';
await policy('dev', `path "demo/*" { policy = "write" } ${MAKER}`);
await policy('no-prod', 'path "demo/issue/prod" { capabilities = ["deny"] }');
await policy(
  'not-admin',
  'path "demo/issue/web" { capabilities = ["update"] denied_parameters = { "common_name" = ["admin.*"] } }',
);
await policy(
  'banned',
  `path "demo/*" { policy = "write" } ${MAKER}
   path "demo/issue/{{identity.entity.metadata.banned}}" { capabilities = ["deny"] }`,
);
await ok(root('POST', 'auth/token/roles/lone', { orphan: true }));
await ok(root('POST', 'auth/token/roles/listed', { allowed_policies: 'dev' }));
await ok(root('POST', 'auth/token/roles/lone-listed', { allowed_policies: 'dev', orphan: true }));
await ok(root('POST', 'sys/auth/up', { type: 'userpass' }));

async function logIn(name: string, token_policies: string[]) {
  await ok(root('POST', `auth/up/users/${name}`, { password: 'correct horse', token_policies }));
  const body = { password: 'correct horse' };
  const reply = await ok(server.call('POST', `auth/up/login/${name}`, body, { token: '' }));
  return { token: reply.textAt('auth.client_token'), entity_id: reply.textAt('auth.entity_id') };
}

const issue = async (token: string, role: string, common_name = 'a.test') =>
  (await server.call('POST', `demo/issue/${role}`, { common_name }, { token })).status;

const intern = await logIn('intern', ['dev']);
await ok(
  root('POST', 'identity/group', {
    name: 'interns',
    policies: ['no-prod'],
    member_entity_ids: [intern.entity_id],
  }),
);
await ok(
  root('POST', `identity/entity/id/${intern.entity_id}`, {
    policies: ['not-admin'],
    metadata: { banned: 'prod' },
  }),
);

const makings: [name: string, path: string, body: object][] = [
  ['a child that names its policies', 'create', { policies: ['dev'] }],
  ['a batch child', 'create', { policies: ['dev'], type: 'batch' }],
  ['a child without the default policy', 'create', { no_default_policy: true }],
  ['a child that names nothing', 'create', {}],
  ['an orphan by a role', 'create/lone', {}],
  ['an orphan by a role that names its policies', 'create/lone', { policies: ['dev'] }],
  ['a batch orphan by a role', 'create/lone', { type: 'batch' }],
  ['a child by a role with a list', 'create/listed', {}],
  ['an orphan by a role with a list', 'create/lone-listed', {}],
];

const make = async (token: string, path: string, body: object): Promise<string> =>
  (await ok(server.call('POST', `auth/token/${path}`, body, { token }))).textAt(
    'auth.client_token',
  );

for (const [name, path, body] of makings) {
  test(`${name} is denied what its maker is denied by entity and group, and nothing else`, async () => {
    const child = await make(intern.token, path, body);
    const line = [child];
    // And who makes another of it.
    if (!('type' in body)) line.push(await make(child, 'create', { policies: ['dev'] }));
    for (const token of line) {
      assert.equal(await issue(token, 'prod'), 403);
      assert.equal(await issue(token, 'web'), 200);
      assert.equal(await issue(token, 'web', 'admin.test'), 403);
      const paths = ['demo/issue/prod', 'demo/issue/web'];
      const asked = await ok(root('POST', 'sys/capabilities', { token, paths }));
      const data = asked.field('data') as Record<string, string[]>;
      assert.deepEqual(data['demo/issue/prod'], ['deny']);
      assert.deepEqual(data['demo/issue/web'], ['update']);
    }
  });
}

test('a token without a policy of its maker is still denied what that denies', async () => {
  const both = await logIn('both', ['dev', 'no-prod']);
  assert.equal(await issue(both.token, 'prod'), 403);
  for (const path of ['create', 'create/lone']) {
    const child = await make(both.token, path, { policies: ['dev'] });
    assert.equal(await issue(child, 'prod'), 403);
    assert.equal(await issue(child, 'web'), 200);
  }
});

test('whoever may name any policy is not held by those that they do not name', async () => {
  await policy('any', 'path "auth/token/create*" { capabilities = ["update", "sudo"] }');
  const chief = await logIn('chief', ['any', 'no-prod']);
  const child = await make(chief.token, 'create', { policies: ['dev'] });
  assert.equal(await issue(child, 'prod'), 200);
});

test('a later denial holds for the children that are there', async () => {
  const late = await logIn('late', ['dev']);
  const child = await make(late.token, 'create', { policies: ['dev'] });
  assert.equal(await issue(child, 'prod'), 200);
  await ok(root('POST', `identity/entity/id/${late.entity_id}`, { policies: ['no-prod'] }));
  assert.equal(await issue(child, 'prod'), 403);
  assert.equal(await issue(child, 'web'), 200);
});

test('a templated denial that nothing fills denies any name, to a person and to who comes of it', async () => {
  const person = await logIn('person', ['banned']);
  const entity = `identity/entity/id/${person.entity_id}`;
  await ok(root('POST', entity, { metadata: { banned: 'prod' } }));
  const child = await make(person.token, 'create', { policies: ['banned'] });
  const orphan = await make(person.token, 'create/lone', {});
  const answers = async (role: string) => [
    await issue(person.token, role),
    await issue(child, role),
    await issue(orphan, role),
  ];
  assert.deepEqual(await answers('prod'), [403, 403, 403]);
  // An orphan is nobody, so nobody knows what it is denied.
  assert.deepEqual(await answers('web'), [200, 200, 403]);
  for (const metadata of [{ other: 'prod' }, { banned: '' }, { banned: 'a/b' }]) {
    await ok(root('POST', entity, { metadata }));
    assert.deepEqual(await answers('prod'), [403, 403, 403], JSON.stringify(metadata));
    assert.deepEqual(await answers('web'), [403, 403, 403], JSON.stringify(metadata));
  }
});

test('an orphan goes on without the entity that it comes from, and stays denied', async () => {
  const gone = await logIn('gone', ['dev']);
  await ok(root('POST', `identity/entity/id/${gone.entity_id}`, { policies: ['no-prod'] }));
  const orphan = await make(gone.token, 'create/lone', {});
  await ok(root('DELETE', `identity/entity/id/${gone.entity_id}`));
  assert.equal(await issue(gone.token, 'web'), 403);
  assert.equal(await issue(orphan, 'prod'), 403);
  assert.equal(await issue(orphan, 'web'), 200);
});

test('lookups of a restricted token name no policies of its entity', async () => {
  const child = await make(intern.token, 'create', { policies: ['dev'] });
  const self = await ok(server.call('GET', 'auth/token/lookup-self', undefined, { token: child }));
  assert.deepEqual(self.field('data.policies'), ['default', 'dev']);
  assert.equal(self.field('data.identity_policies'), undefined);
  assert.equal(self.field('data.bounds'), undefined);
});

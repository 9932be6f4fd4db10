import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Client, startTestServer } from '../support/server.ts';

/** A server with one user, and what a log-in needs. */
async function startWithUser(t: TestContext) {
  const client = await startTestServer(t);
  await client.call('POST', 'sys/auth/people', { type: 'userpass' });
  await client.call('POST', 'auth/people/users/ann', { password: 'long enough' });
  const accessor = (await client.call('GET', 'sys/auth/people')).textAt('data.accessor');
  const logIn = async (): Promise<{ token: string; entity_id: string; policies: unknown }> => {
    const reply = await client.call(
      'POST',
      'auth/people/login/ann',
      { password: 'long enough' },
      { token: '' },
    );
    assert.equal(reply.status, 200, reply.text);
    return {
      token: reply.textAt('auth.client_token'),
      entity_id: reply.textAt('auth.entity_id'),
      policies: reply.field('auth.identity_policies'),
    };
  };
  return { ...client, accessor, logIn };
}

test('a log-in makes an entity once, and comes back to it', async (t) => {
  const { call, accessor, logIn } = await startWithUser(t);
  const [first, second] = await Promise.all([logIn(), logIn()]);
  assert.match(first.entity_id, /^[0-9a-f-]{36}$/);
  assert.equal(second.entity_id, first.entity_id);
  assert.equal((await logIn()).entity_id, first.entity_id);

  const entity = await call('GET', `identity/entity/id/${first.entity_id}`);
  assert.equal(entity.status, 200, entity.text);
  assert.equal(entity.field('data.aliases.0.name'), 'ann');
  assert.equal(entity.field('data.aliases.0.mount_accessor'), accessor);
  assert.equal(entity.field('data.aliases.0.mount_path'), 'auth/people/');
  assert.equal(entity.field('data.aliases.0.mount_type'), 'userpass');
  assert.equal(entity.field('data.metadata'), null);
  assert.deepEqual(entity.field('data.policies'), []);

  const own = await call('GET', 'auth/token/lookup-self', undefined, { token: first.token });
  assert.equal(own.field('data.entity_id'), first.entity_id);
  const seen = await call('POST', 'identity/lookup/entity', {
    alias_name: 'ANN',
    alias_mount_accessor: accessor,
  });
  assert.equal(seen.field('data.id'), first.entity_id);
});

test('what an entity and its groups are granted is in force at the next request', async (t) => {
  const { call, logIn } = await startWithUser(t);
  for (const name of ['direct', 'inherited', 'own']) {
    await call('PUT', `sys/policies/acl/${name}`, {
      policy: `path "demo/roles/${name}" { capabilities = ["read"] }`,
    });
  }
  const { token, entity_id } = await logIn();
  const may = async (name: string): Promise<boolean> =>
    (await call('GET', `demo/roles/${name}`, undefined, { token })).status !== 403;
  assert.equal(await may('own'), false);

  const changed = await call('POST', `identity/entity/id/${entity_id}`, { policies: ['own'] });
  assert.equal(changed.status, 204, changed.text);
  assert.equal(await may('own'), true);
  assert.equal(await may('direct'), false);

  const team = await call('POST', 'identity/group', {
    name: 'team',
    policies: ['direct'],
    member_entity_ids: [entity_id],
  });
  assert.equal(team.status, 200, team.text);
  assert.equal(await may('direct'), true);
  assert.equal(await may('inherited'), false);
  const company = await call('POST', 'identity/group/name/company', {
    policies: ['inherited'],
    member_group_ids: [team.textAt('data.id')],
  });
  assert.equal(await may('inherited'), true);

  const own = await call('GET', 'auth/token/lookup-self', undefined, { token });
  assert.deepEqual(own.field('data.identity_policies'), ['direct', 'inherited', 'own']);
  assert.deepEqual(own.field('data.policies'), ['default']);
  assert.deepEqual((await logIn()).policies, ['direct', 'inherited', 'own']);
  const entity = await call('GET', `identity/entity/id/${entity_id}`);
  assert.deepEqual(entity.field('data.direct_group_ids'), [team.textAt('data.id')]);
  assert.deepEqual(entity.field('data.inherited_group_ids'), [company.textAt('data.id')]);

  await call('DELETE', 'identity/group/name/team');
  assert.equal(await may('direct'), false);
  assert.equal(await may('inherited'), false);
  assert.equal(await may('own'), true);
});

test('the token of a disabled entity is refused until it is enabled again', async (t) => {
  const { call, logIn } = await startWithUser(t);
  const { token, entity_id } = await logIn();
  const child = await call('POST', 'auth/token/create', { policies: ['default'] });
  const self = async (own: string): Promise<number> =>
    (await call('GET', 'auth/token/lookup-self', undefined, { token: own })).status;
  assert.equal(await self(token), 200);

  await call('POST', `identity/entity/id/${entity_id}`, { disabled: true });
  assert.equal(await self(token), 403);
  assert.equal(await self(child.textAt('auth.client_token')), 200, 'a token of somebody else');
  const refused = await call(
    'POST',
    'auth/people/login/ann',
    { password: 'long enough' },
    { token: '' },
  );
  assert.equal(refused.status, 400, 'as a wrong password');

  await call('POST', `identity/entity/id/${entity_id}`, { disabled: false });
  assert.equal(await self(token), 200);
  await call('DELETE', `identity/entity/id/${entity_id}`);
  assert.equal(await self(token), 403, 'what it stood for is gone');
});

test('a role template takes the metadata of the entity, and nothing without one', async (t) => {
  const { call, accessor, logIn } = await startWithUser(t);
  await call('POST', 'demo/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'demo/roles/own', {
    allowed_domains: `{{identity.entity.metadata.dom}},{{identity.entity.aliases.${accessor}.name}}.test`,
    allowed_domains_template: true,
    allowed_uri_sans: 'spiffe://example.com/{{identity.entity.name}}/*',
    allowed_uri_sans_template: true,
    allow_subdomains: true,
    key_type: 'ec',
    ttl: '1h',
  });
  await call('PUT', 'sys/policies/acl/issuing', {
    policy: 'path "demo/issue/own" { capabilities = ["update"] }',
  });
  const { token, entity_id } = await logIn();
  await call('POST', `identity/entity/id/${entity_id}`, {
    name: 'Ann',
    policies: ['issuing'],
    metadata: { dom: 'x.com' },
  });
  const issue = async (body: object, as: string): Promise<number> =>
    (await call('POST', 'demo/issue/own', body, { token: as })).status;
  assert.equal(await issue({ common_name: 'a.x.com' }, token), 200);
  assert.equal(await issue({ common_name: 'a.ann.test' }, token), 200);
  assert.equal(await issue({ common_name: 'a.y.com' }, token), 400);
  assert.equal(await issue({ common_name: 'a.x.com' }, 'root'), 400, 'root has no entity');
  const uri = (name: string) => ({
    common_name: 'a.x.com',
    uri_sans: `spiffe://example.com/${name}/web`,
  });
  assert.equal(await issue(uri('Ann'), token), 200);
  assert.equal(await issue(uri('Bob'), token), 400);
});

test('a role template takes what it names of a group, as it is, and of those alone who are in it', async (t) => {
  const { call, logIn } = await startWithUser(t);
  await call('POST', 'demo/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'demo/roles/team', {
    allowed_domains: '{{identity.groups.names.web.metadata.dom}}',
    allowed_domains_template: true,
    allow_bare_domains: true,
    key_type: 'ec',
    ttl: '1h',
  });
  await call('PUT', 'sys/policies/acl/issuing', {
    policy: 'path "demo/+/team" { capabilities = ["update"] }',
  });
  const { token, entity_id } = await logIn();
  await call('POST', `identity/entity/id/${entity_id}`, { policies: ['issuing'] });
  const issue = async (common_name: string): Promise<number> =>
    (await call('POST', 'demo/issue/team', { common_name }, { token })).status;
  const web = { name: 'web', metadata: { dom: 'x.com', other: 'y.com' } };
  await call('POST', 'identity/group', web);
  assert.equal(await issue('x.com'), 400, 'not a member yet');
  await call('POST', 'identity/group', { ...web, member_entity_ids: [entity_id] });
  for (let turn = 0; turn < 2; turn++) {
    assert.equal(await issue('x.com'), 200);
    assert.equal(await issue('y.com'), 400);
  }
  await call('POST', 'identity/group', { name: 'web', metadata: { dom: 'y.com' } });
  assert.equal(await issue('x.com'), 400);
  assert.equal(await issue('y.com'), 200);
});

test('who may write groups without policies locks nobody out by long metadata', async (t) => {
  const { call, logIn } = await startWithUser(t);
  await call('PUT', 'sys/policies/acl/team', {
    policy:
      'path "identity/group" { capabilities = ["create", "update"]\n denied_parameters = { "policies" = [] } }',
  });
  const team = await call('POST', 'auth/token/create', { policies: ['team'] });
  const { token, entity_id } = await logIn();
  const long = (at: number) => [`k${at}`.padEnd(128, 'k'), 'v'.repeat(512)];
  const metadata = Object.fromEntries(Array.from({ length: 64 }, (_, at) => long(at)));
  for (let at = 0; at < 30; at++) {
    const group = { name: `g${at}`, metadata, member_entity_ids: [entity_id] };
    const made = await call('POST', 'identity/group', group, {
      token: team.textAt('auth.client_token'),
    });
    assert.equal(made.status, 200, made.text);
  }
  assert.equal((await call('GET', 'auth/token/lookup-self', undefined, { token })).status, 200);
  assert.equal((await logIn()).entity_id, entity_id);
});

test('a policy path takes the name of the entity', async (t) => {
  const { call, logIn } = await startWithUser(t);
  const { token, entity_id } = await logIn();
  const read = async (path: string): Promise<number> =>
    (await call('GET', path, undefined, { token })).status;
  assert.equal(await read(`identity/entity/id/${entity_id}`), 200, 'the default policy');
  const other = await call('POST', 'identity/entity', { name: 'other' });
  assert.equal(await read(`identity/entity/id/${other.textAt('data.id')}`), 403);
  await call('POST', `identity/entity/id/${entity_id}`, { name: 'Ann Example' });
  assert.equal(await read('identity/entity/name/Ann%20Example'), 200);
  assert.equal(await read('identity/entity/name/other'), 403);
});

test('entities are made, changed in part, listed, and found by name in any case', async (t) => {
  const { call } = await startTestServer(t);
  assert.equal((await call('LIST', 'identity/entity/id')).status, 404);
  const made = await call('POST', 'identity/entity', {
    name: 'Bob',
    metadata: { team: 'web' },
    policies: ['B', 'a', 'b'],
  });
  assert.equal(made.status, 200, made.text);
  const id = made.textAt('data.id');
  assert.deepEqual(made.field('data'), { id, name: 'Bob', aliases: null });
  assert.equal((await call('POST', 'identity/entity/name/bob', { disabled: true })).status, 204);
  const read = await call('GET', 'identity/entity/name/BOB');
  assert.equal(read.field('data.id'), id);
  assert.equal(read.field('data.disabled'), true);
  assert.deepEqual(read.field('data.policies'), ['a', 'b']);
  assert.deepEqual(read.field('data.metadata'), { team: 'web' });
  assert.deepEqual((await call('LIST', 'identity/entity/name')).field('data.keys'), ['Bob']);
  assert.deepEqual((await call('LIST', 'identity/entity/id')).field('data.keys'), [id]);
  assert.equal((await call('DELETE', 'identity/entity/name/bob')).status, 204);
  assert.equal((await call('GET', `identity/entity/id/${id}`)).status, 404);
});

test('aliases join log-ins of several mounts into one entity', async (t) => {
  const { call, accessor, logIn } = await startWithUser(t);
  const made = await call('POST', 'identity/entity', { name: 'ann' });
  const canonical_id = made.textAt('data.id');
  const alias = await call('POST', 'identity/entity-alias', {
    name: 'ann',
    mount_accessor: accessor,
    canonical_id,
    custom_metadata: { floor: '3' },
  });
  assert.equal(alias.status, 200, alias.text);
  assert.equal((await logIn()).entity_id, canonical_id);
  const read = await call('GET', `identity/entity-alias/id/${alias.textAt('data.id')}`);
  assert.deepEqual(read.field('data.custom_metadata'), { floor: '3' });
  assert.equal(read.field('data.canonical_id'), canonical_id);
  const second = await call('POST', 'identity/entity-alias', {
    name: 'annie',
    mount_accessor: accessor,
    canonical_id,
  });
  assert.equal(second.status, 400, 'one alias a mount');
  await call('DELETE', `identity/entity-alias/id/${alias.textAt('data.id')}`);
  assert.notEqual((await logIn()).entity_id, canonical_id);
});

test('what a mount called somebody is forgotten with the mount', async (t) => {
  const { call, logIn } = await startWithUser(t);
  const { entity_id } = await logIn();
  assert.equal((await call('DELETE', 'sys/auth/people')).status, 204);
  const entity = await call('GET', `identity/entity/id/${entity_id}`);
  assert.deepEqual(entity.field('data.aliases'), []);
});

test('a child of a token stands for the same entity, an orphan for none', async (t) => {
  const { call, logIn } = await startWithUser(t);
  await call('PUT', 'sys/policies/acl/making', {
    policy: 'path "auth/token/create*" { capabilities = ["update", "sudo"] }',
  });
  await call('POST', 'auth/people/users/ann', { token_policies: ['making'] });
  const { token, entity_id } = await logIn();
  const make = (path: string) => call('POST', `auth/token/${path}`, {}, { token });
  const child = await make('create');
  assert.equal(child.field('auth.entity_id'), entity_id, child.text);
  const orphan = await make('create-orphan');
  assert.equal(orphan.field('auth.entity_id'), '', orphan.text);
  await call('POST', `identity/entity/id/${entity_id}`, { disabled: true });
  const self = async (made: string): Promise<number> =>
    (await call('GET', 'auth/token/lookup-self', undefined, { token: made })).status;
  assert.equal(await self(child.textAt('auth.client_token')), 403);
  assert.equal(await self(orphan.textAt('auth.client_token')), 200);
});

const refusals: [path: string, body: object, text: RegExp][] = [
  ['entity', { name: 'x', policies: ['root'] }, /policies cannot contain root/],
  ['entity', { id: 'none' }, /there is no entity "none"/],
  ['entity', { name: 'a/b' }, /name must be/],
  ['entity-alias', { name: 'x', mount_accessor: 'none' }, /invalid mount accessor "none"/],
  ['entity-alias', { name: 'x' }, /missing mount_accessor/],
  ['group', { name: 'g', policies: ['Root'] }, /policies cannot contain root/],
  ['group', { name: 'g', member_entity_ids: ['none'] }, /there is no entity "none"/],
  ['group', { name: 'g', member_group_ids: ['none'] }, /there is no group "none"/],
  ['group', { name: 'g', type: 'other' }, /"internal", "external"/],
  ['group', { name: 'g', type: 'external', member_entity_ids: ['e'] }, /external groups/],
  ['lookup/entity', {}, /exactly one of/],
  ['lookup/entity', { alias_name: 'x' }, /needed together/],
];
test('what cannot be is refused by name', async (t) => {
  const { call } = await startTestServer(t);
  for (const [path, body, text] of refusals) {
    const reply = await call('POST', `identity/${path}`, body);
    assert.equal(reply.status, 400, `${path} ${JSON.stringify(body)}: ${reply.text}`);
    assert.match(reply.text.replaceAll('\\"', '"'), text);
  }
});

test('a group never becomes a member of itself, however far around', async (t) => {
  const { call } = await startTestServer(t);
  const group = async (name: string, members: string[]): Promise<string> => {
    const reply = await call('POST', 'identity/group', { name, member_group_ids: members });
    return reply.status === 200 ? reply.textAt('data.id') : reply.text;
  };
  const a = await group('a', []);
  const b = await group('b', [a]);
  const c = await group('c', [b]);
  assert.match(await group('a', [c]), /cyclic/);
  assert.match(await group('a', [a]), /cyclic/);
  assert.equal(await group('c', [a, b]), c);
});

test('the identity mount is shown, and belongs to the server', async (t) => {
  const { call }: Client = await startTestServer(t);
  const mounts = await call('GET', 'sys/mounts');
  assert.equal(typeof mounts.field('data'), 'object');
  const entry = Reflect.get(mounts.field('data') as object, 'identity/');
  assert.equal(Reflect.get(entry, 'type'), 'identity');
  assert.equal((await call('DELETE', 'sys/mounts/identity')).status, 400);
});

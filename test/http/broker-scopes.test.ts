import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listedIds, refusedFields, startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const broker = await startBroker({ after });
const { admin, nobody, project, org, make, client } = broker;

const SKIP = 'skip_admin_role_creation=true&skip_default_role_creation=true';
let made = 0;
const newOrg = (more: object = {}): Promise<string> =>
  make(`scopes?${SKIP}`, { scope_id: 'global', name: `org-${made++}`, ...more });
const newProject = (scope_id: string, more: object = {}): Promise<string> =>
  make(`scopes?${SKIP}`, { scope_id, name: `project-${made++}`, ...more });

const foreignOrg = await newOrg();
const methodHere = await make('auth-methods', { scope_id: org, type: 'password' });
const methodThere = await make('auth-methods', { scope_id: foreignOrg, type: 'password' });

const NO_VALUE = 'Missing value for scope_id.';
const uncreatable: [why: string, body: object, fields: Record<string, string>][] = [
  ['nowhere', { type: 'org' }, { scope_id: NO_VALUE }],
  ['nowhere, by an empty id', { type: 'org', scope_id: '' }, { scope_id: NO_VALUE }],
  [
    'a second global scope',
    { type: 'global', scope_id: 'global' },
    { type: 'Cannot create a global scope.' },
  ],
  [
    'an org in an org',
    { type: 'org', scope_id: org },
    { type: 'Org scopes can only be created under the global scope.' },
  ],
  [
    'a project in the global scope',
    { type: 'project', scope_id: 'global' },
    { type: 'Project scopes can only be created under an org scope.' },
  ],
  [
    'a project in a project',
    { type: 'project', scope_id: project },
    { type: 'Project scopes can only be created under an org scope.' },
  ],
  [
    'an auth method from the start',
    { scope_id: 'global', primary_auth_method_id: methodHere },
    { primary_auth_method_id: 'This can only be set once the scope exists.' },
  ],
  [
    'what the server says',
    { scope_id: 'global', id: 'o_1', version: 1 },
    {
      id: 'This is a read only field.',
      version: 'Cannot specify this field in a create request.',
    },
  ],
];

for (const [why, body, fields] of uncreatable) {
  test(`no scope is made: ${why}`, async () => {
    const answer = await admin('POST', 'scopes', body);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.textAt('message'), 'Error in provided request.');
    assert.deepEqual(refusedFields(answer), fields);
  });
}

test('a scope is never made in a project, also where no type is named', async () => {
  const answer = await admin('POST', 'scopes', { scope_id: project });
  assert.equal(answer.status, 400, answer.text);
  assert.deepEqual(refusedFields(answer), {
    type: 'Project scopes can only be created under an org scope.',
  });
});

test('a scope that would lie in one that is not there is not found', async () => {
  const answer = await admin('POST', 'scopes', { scope_id: 'o_unknown', name: 'x' });
  assert.equal(answer.status, 404);
});

test('what a scope is follows from where it lies, unless it is said', async () => {
  for (const type of [undefined, 'org']) {
    const answer = await admin('POST', 'scopes', { scope_id: 'global', type });
    assert.match(answer.textAt('id'), /^o_/);
    assert.equal(answer.textAt('type'), 'org');
    assert.equal(answer.textAt('scope_id'), 'global');
    assert.equal(answer.textAt('scope.id'), 'global');
  }
  for (const type of [undefined, 'project']) {
    const answer = await admin('POST', 'scopes', { scope_id: org, type });
    assert.match(answer.textAt('id'), /^p_/);
    assert.equal(answer.textAt('type'), 'project');
    assert.equal(answer.textAt('scope.parent_scope_id'), 'global');
    assert.equal(answer.field('version'), 1);
  }
});

test('siblings have names of their own; cousins may share one', async () => {
  const name = `shared-${made++}`;
  await newProject(org, { name });
  const again = await admin('POST', 'scopes', { scope_id: org, name });
  assert.equal(again.status, 400);
  assert.match(again.textAt('message'), /^Invalid request\. {2}Request attempted to make second/);
  await newProject(foreignOrg, { name });
});

interface Role {
  name: string;
  principal_ids: string[];
  grant_strings: string[];
  grant_scope_ids: string[];
  description: string;
}

async function rolesOf(scope_id: string): Promise<Role[]> {
  const list = await admin('GET', `roles?scope_id=${scope_id}`);
  const roles: Role[] = [];
  for (const id of listedIds(list)) {
    const role: Role = JSON.parse((await admin('GET', `roles/${id}`)).text);
    roles.push(role);
  }
  return roles.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const admin_id = (await admin('GET', `auth-tokens/${tokenIdOf(broker.admin_token)}`)).textAt(
  'user_id',
);

const flags: [query: string, level: 'org' | 'project', names: string[]][] = [
  ['', 'org', ['Administration', 'Login and Default Grants']],
  ['', 'project', ['Administration', 'Default Grants']],
  ['?skip_admin_role_creation=false', 'project', ['Administration', 'Default Grants']],
  ['?skip_admin_role_creation=true', 'org', ['Login and Default Grants']],
  ['?skip_admin_role_creation=1', 'project', ['Default Grants']],
  ['?skip_default_role_creation=true', 'org', ['Administration']],
  ['?skip_default_role_creation=T', 'project', ['Administration']],
  [`?${SKIP}`, 'org', []],
  [`?${SKIP}`, 'project', []],
];

for (const [query, level, names] of flags) {
  test(`a new ${level} made with "${query}" begins with these roles: ${names}`, async () => {
    const scope_id = level === 'org' ? 'global' : org;
    const id = await make(`scopes${query}`, { scope_id, name: `flags-${made++}` });
    const roles = await rolesOf(id);
    assert.deepEqual(
      roles.map(({ name }) => name),
      names,
    );
    for (const role of roles) {
      assert.deepEqual(role.grant_scope_ids, ['this']);
      if (role.name === 'Administration') {
        assert.deepEqual(role.principal_ids, [admin_id]);
        assert.deepEqual(role.grant_strings, ['ids=*;type=*;actions=*']);
        assert.ok(role.description.includes(id) && role.description.includes(admin_id));
      } else {
        assert.deepEqual(role.principal_ids, [level === 'org' ? 'u_anon' : 'u_auth']);
      }
    }
  });
}

test('a flag is true or false, and a scope is not made with another one', async () => {
  const name = `flags-${made++}`;
  for (const flag of ['skip_admin_role_creation', 'skip_default_role_creation']) {
    const answer = await admin('POST', `scopes?${flag}=yes`, { scope_id: 'global', name });
    assert.equal(answer.status, 400);
    assert.deepEqual(refusedFields(answer), { [flag]: 'This must be true or false.' });
  }
  await newOrg({ name });
});

test('who may only make scopes is the administrator of what they made, and of nothing else', async () => {
  const maker = await broker.person(['ids=*;type=scope;actions=create']);
  const first = await maker.call('POST', 'scopes', { scope_id: org, name: `made-${made++}` });
  assert.equal(first.status, 200, first.text);
  const target = { name: 'x', type: 'tcp', attributes: { default_port: 1 } };
  const own = await maker.call('POST', 'targets', { ...target, scope_id: first.textAt('id') });
  assert.equal(own.status, 200, own.text);
  const other = await maker.call('POST', 'targets', { ...target, scope_id: project });
  assert.equal(other.status, 403);
});

test('whoever repairs without a log-in gets no role of their own', async () => {
  const answer = await client.call('POST', 'scopes', { scope_id: org, name: `made-${made++}` });
  assert.equal(answer.status, 200, answer.text);
  const names = (await rolesOf(answer.textAt('id'))).map(({ name }) => name);
  assert.deepEqual(names, ['Default Grants']);
});

const MALFORMED = 'Invalidly formatted scope id.';

test('an id that is none of a scope is refused by every method', async () => {
  for (const id of ['j_1234567890', 'u_1234567890', 'o_1%2023']) {
    for (const [method, body] of [
      ['GET', undefined],
      ['PATCH', { version: 1, name: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await admin(method, `scopes/${id}`, body);
      assert.equal(answer.status, 400, `${method} ${id}`);
      assert.deepEqual(refusedFields(answer), { id: MALFORMED });
    }
  }
  assert.equal((await admin('GET', 'scopes/p_unknown')).status, 404);
});

test('the scopes of a scope are listed, the global one unless another is named', async () => {
  const inner = await newProject(foreignOrg);
  const all = listedIds(await admin('GET', 'scopes'));
  assert.ok(all.includes(org) && all.includes(foreignOrg) && !all.includes(inner));
  assert.deepEqual(listedIds(await admin('GET', 'scopes?scope_id=global')), all);
  const inOrg = listedIds(await admin('GET', `scopes?scope_id=${foreignOrg}`));
  assert.ok(inOrg.includes(inner) && !inOrg.includes(project) && !inOrg.includes(foreignOrg));
  const deep = listedIds(await admin('GET', 'scopes?recursive=true'));
  for (const id of [org, project, foreignOrg, inner]) assert.ok(deep.includes(id), id);
  for (const scope_id of [project, 'u_1', 'x']) {
    const answer = await admin('GET', `scopes?scope_id=${scope_id}`);
    assert.equal(answer.status, 400);
    assert.deepEqual(refusedFields(answer), {
      scope_id: "Must be 'global' or a valid org scope id when listing.",
    });
  }
  assert.equal((await admin('GET', 'scopes?scope_id=o_unknown')).status, 404);
});

const COLLECTIONS: [scope: string, names: string[]][] = [
  [
    'global',
    [
      'aliases', 'auth-methods', 'auth-tokens', 'groups', 'policies', 'roles', 'scopes',
      'session-recordings', 'storage-buckets', 'users', 'workers',
    ],
  ],
  [
    org,
    [
      'auth-methods', 'auth-tokens', 'groups', 'policies', 'roles', 'scopes',
      'session-recordings', 'storage-buckets', 'users',
    ],
  ],
  [
    project,
    ['credential-stores', 'groups', 'host-catalogs', 'roles', 'scopes', 'sessions', 'targets'],
  ],
]; // biome-ignore format: one table

test('a scope says which of its collections the caller may use', async () => {
  const lister = await broker.person(['ids=*;type=scope;actions=read', 'type=group;actions=list']);
  for (const [id, names] of COLLECTIONS) {
    const whole = (await admin('GET', `scopes/${id}`)).field('authorized_collection_actions');
    assert.deepEqual(Object.keys(whole ?? {}).sort(), names);
    const some = (await lister.call('GET', `scopes/${id}`)).field('authorized_collection_actions');
    assert.deepEqual(Reflect.get(Object(some), 'groups'), ['list'], id);
    assert.equal(Reflect.get(Object(some), 'workers'), undefined);
  }
});

// What signs in by default

test('the auth method of a scope is one of that scope', async () => {
  const id = await newOrg();
  const own = await make('auth-methods', { scope_id: id, type: 'password' });
  const patch = (version: number, primary_auth_method_id: string | null): Promise<Reply> =>
    admin('PATCH', `scopes/${id}`, { version, primary_auth_method_id });
  const refused: [primary: string, because: string][] = [
    [methodThere, 'There is no such auth method in this scope.'],
    ['ampw_unknown', 'There is no such auth method in this scope.'],
    ['hcst_1234567890', 'Improperly formatted identifier.'],
    ['x', 'Improperly formatted identifier.'],
  ];
  for (const [primary, because] of refused) {
    const answer = await patch(1, primary);
    assert.equal(answer.status, 400, primary);
    assert.deepEqual(refusedFields(answer), { primary_auth_method_id: because });
  }
  const set = await patch(1, own);
  assert.equal(set.textAt('primary_auth_method_id'), own);
  assert.equal((await admin('GET', `auth-methods/${own}`)).field('is_primary'), true);
  const cleared = await patch(2, null);
  assert.equal(cleared.field('primary_auth_method_id'), undefined);
  assert.equal((await admin('GET', `auth-methods/${own}`)).field('is_primary'), undefined);
  const answer = await admin('PATCH', `scopes/${project}`, {
    version: 1,
    primary_auth_method_id: own,
  });
  assert.deepEqual(refusedFields(answer), {
    primary_auth_method_id: 'Projects have no auth methods.',
  });
});

test('a scope keeps its kind and place', async () => {
  const id = await newOrg();
  const answer = await admin('PATCH', `scopes/${id}`, { version: 1, scope_id: org });
  assert.deepEqual(Object.keys(refusedFields(answer)), ['update_mask']);
  const other = await admin('PATCH', `scopes/${id}`, { version: 1, type: 'project', name: 'x' });
  assert.deepEqual(refusedFields(other), { type: 'Cannot modify the resource type.' });
  const stale = await admin('PATCH', `scopes/${id}`, { version: 2, name: 'x' });
  assert.equal(stale.status, 404);
  assert.equal(
    stale.textAt('message'),
    `Scope "${id}" doesn't exist or incorrect version provided.`,
  );
});

// Deleting

test('the global scope stays', async () => {
  const answer = await admin('DELETE', 'scopes/global');
  assert.equal(answer.status, 400);
  assert.deepEqual(refusedFields(answer), { id: 'Invalid to delete the global scope.' });
});

test('with an org goes all that lies in it, at any depth, and nothing else', async () => {
  const id = await newOrg();
  const inner = await newProject(id);
  const method = await make('auth-methods', { scope_id: id, type: 'password' });
  const attributes = { login_name: 'somebody', password: 'password' };
  const account = await make('accounts', { auth_method_id: method, attributes });
  const user = await make('users', { scope_id: id });
  const linked = await admin('POST', `users/${user}:add-accounts`, {
    version: 1,
    account_ids: [account],
  });
  assert.equal(linked.status, 200);
  const role = await make('roles', { scope_id: id });
  const entered = await nobody('POST', `auth-methods/${method}:authenticate`, { attributes });
  assert.equal(entered.status, 200, entered.text);
  const token = entered.textAt('attributes.token');
  const catalog = await make('host-catalogs', { scope_id: inner, type: 'static' });
  const host = await make('hosts', {
    host_catalog_id: catalog,
    attributes: { address: '10.0.0.1' },
  });
  const target = await make('targets', {
    scope_id: inner,
    name: 'x',
    type: 'tcp',
    attributes: { default_port: 1 },
  });
  const group = await make('groups', { scope_id: 'global', name: `g-${made++}` });
  await admin('POST', `groups/${group}:add-members`, { version: 1, member_ids: [user] });
  const alias = await make('aliases', {
    scope_id: 'global',
    type: 'target',
    value: `gone${made++}.example`,
    destination_id: target,
  });
  const before = await admin('GET', 'targets?scope_id=global&recursive=true');

  assert.equal((await admin('DELETE', `scopes/${id}`)).status, 204);

  const gone: [plural: string, id: string][] = [
    ['scopes', id],
    ['scopes', inner],
    ['auth-methods', method],
    ['accounts', account],
    ['users', user],
    ['roles', role],
    ['host-catalogs', catalog],
    ['hosts', host],
    ['targets', target],
    ['auth-tokens', tokenIdOf(token)],
  ];
  for (const [plural, one] of gone) {
    assert.equal((await admin('GET', `${plural}/${one}`)).status, 404, `${plural}/${one}`);
  }
  const own = await broker.as(token)('GET', `auth-tokens/${tokenIdOf(token)}`);
  assert.ok([401, 404].includes(own.status), 'its users are nobody');
  const left = await admin('GET', `groups/${group}`);
  assert.equal(left.status, 200);
  assert.equal(left.field('member_ids'), undefined);
  const pointing = await admin('GET', `aliases/${alias}`);
  assert.equal(pointing.status, 200);
  assert.equal(pointing.field('destination_id'), undefined);
  const list_token = encodeURIComponent(before.textAt('list_token'));
  const refreshed = await admin(
    'GET',
    `targets?scope_id=global&recursive=true&list_token=${list_token}`,
  );
  assert.deepEqual(refreshed.field('removed_ids'), [target]);
  assert.equal((await admin('GET', `scopes/${project}`)).status, 200);
  assert.equal((await admin('DELETE', `scopes/${id}`)).status, 404);
});

test('what is made in a scope while it goes, goes with it or is not made', async () => {
  for (let round = 0; round < 4; round++) {
    const id = await newProject(org);
    const [, made_] = await Promise.all([
      admin('DELETE', `scopes/${id}`),
      admin('POST', 'groups', { scope_id: id, name: 'late' }),
    ]);
    if (made_.status !== 200) assert.ok([403, 404].includes(made_.status), made_.text);
    else assert.equal((await admin('GET', `groups/${made_.textAt('id')}`)).status, 404);
    assert.equal((await admin('GET', `groups?scope_id=${id}`)).status, 404);
  }
});

test('alias suffixes are of another edition', async () => {
  for (const verb of ['set-alias-suffix', 'remove-alias-suffix']) {
    const answer = await admin('POST', `scopes/${org}:${verb}`, { version: 1 });
    assert.equal(answer.status, 405, verb);
    assert.equal(answer.textAt('kind'), 'Unimplemented');
  }
});

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { refusedFields, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const broker = await startBroker({ after });
const { admin, project, org, make } = broker;

const otherOrg = await make('scopes', { scope_id: 'global', type: 'org', name: 'other' });
const otherProject = await make('scopes', { scope_id: otherOrg, name: 'other' });
const newRole = (scope_id = 'global'): Promise<string> => make('roles', { scope_id });
const verb = (id: string, action: string, version: number, body: object): Promise<Reply> =>
  admin('POST', `roles/${id}:${action}`, { version, ...body });

const READ_ONLY = 'This is a read only field.';

test('a new role has a place and perhaps a name, and reaches its own scope', async () => {
  for (const scope_id of ['global', org, project]) {
    const answer = await admin('POST', 'roles', { scope_id });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.field('grant_scope_ids'), ['this']);
    assert.equal(answer.field('grant_strings'), undefined);
    assert.equal(answer.field('principals'), undefined);
  }
  for (const scope_id of ['x', 'u_1', undefined]) {
    const answer = await admin('POST', 'roles', { scope_id });
    assert.deepEqual(refusedFields(answer), { scope_id: 'Improperly formatted field.' });
  }
});

test('what verbs give a role is neither taken when it is made nor when it is changed', async () => {
  const id = await newRole();
  const given: [field: string, value: unknown][] = [
    ['principals', [{ id: 'u_auth' }]],
    ['principal_ids', ['u_auth']],
    ['grant_strings', ['ids=*;type=*;actions=*']],
    ['grants', [{ raw: 'ids=*;type=*;actions=*' }]],
    ['grant_scope_ids', ['descendants']],
  ];
  for (const [field, value] of given) {
    const made = await admin('POST', 'roles', { scope_id: 'global', [field]: value });
    assert.equal(made.status, 400);
    assert.deepEqual(refusedFields(made), { [field]: READ_ONLY });
    const changed = await admin('PATCH', `roles/${id}`, { version: 1, name: 'x', [field]: value });
    assert.equal(changed.status, 400);
    assert.deepEqual(refusedFields(changed), { [field]: READ_ONLY });
  }
  assert.equal((await admin('GET', `roles/${id}`)).field('version'), 1);
});

// Principals

const STRANGE = 'Must only have valid user, group, and/or managed group ids.';

test('users and groups of any scope, nobody and everybody are given a role', async () => {
  const id = await newRole(project);
  const user = await make('users', { scope_id: org });
  const group = await make('groups', { scope_id: otherProject });
  const added = await verb(id, 'add-principals', 1, { principal_ids: [user, user, 'u_anon'] });
  assert.deepEqual(added.field('principal_ids'), ['u_anon', user].sort());
  assert.equal(added.field('version'), 2);
  const set = await verb(id, 'set-principals', 2, { principal_ids: [group, 'u_auth'] });
  assert.deepEqual(set.field('principals'), [
    { id: group, type: 'group', scope_id: otherProject },
    { id: 'u_auth', type: 'user', scope_id: 'global' },
  ]);
  const removed = await verb(id, 'remove-principals', 3, { principal_ids: ['u_auth', group] });
  assert.equal(removed.field('principal_ids'), undefined);
  assert.equal((await verb(id, 'set-principals', 4, {})).field('version'), 5);
});

test('principals that cannot be are named, and nothing is changed', async () => {
  const id = await newRole();
  const user = await make('users', { scope_id: 'global' });
  const other = await make('users', { scope_id: 'global' });
  await verb(id, 'add-principals', 1, { principal_ids: [user] });
  const before = await admin('GET', `roles/${id}`);
  const rows: [change: string, ids: unknown, because: string][] = [
    ['add', [], 'Must be non-empty.'],
    ['remove', undefined, 'Must be non-empty.'],
    ['add', ['u_recovery'], 'u_recovery cannot be assigned to a role'],
    ['set', ['u_recovery'], 'u_recovery cannot be assigned to a role'],
    ['remove', ['u_recovery'], 'u_recovery cannot be assigned to a role'],
    ['add', ['acctpw_1234567890'], STRANGE],
    ['set', [other, 'r_1234567890'], STRANGE],
    ['add', [''], STRANGE],
    ['add', ['u_unknown'], 'There is no principal "u_unknown".'],
    ['set', ['g_unknown'], 'There is no principal "g_unknown".'],
    ['set', [other, 'mgoidc_unknown'], 'There is no principal "mgoidc_unknown".'],
    ['add', [other, user], `"${user}" is there already.`],
    ['remove', [other], `"${other}" is not there.`],
  ];
  for (const [change, principal_ids, because] of rows) {
    const answer = await verb(id, `${change}-principals`, 2, { principal_ids });
    assert.equal(answer.status, 400, `${change} ${principal_ids}`);
    assert.equal(answer.textAt('kind'), 'InvalidArgument');
    assert.deepEqual(refusedFields(answer), { principal_ids: because });
  }
  assert.equal((await admin('GET', `roles/${id}`)).text, before.text);
});

// Grants

test('a grant is kept as it was written, and shown in its one form besides', async () => {
  const id = await newRole();
  const raw = 'type=Target;ids=*;actions=read,list';
  const answer = await verb(id, 'add-grants', 1, { grant_strings: [raw] });
  assert.deepEqual(answer.field('grant_strings'), [raw]);
  assert.deepEqual(answer.field('grants'), [
    {
      raw,
      canonical: 'ids=*;type=target;actions=list,read',
      json: { ids: ['*'], type: 'target', actions: ['read', 'list'] },
    },
  ]);
});

test('grants that mean the same are one, however they are written', async () => {
  const id = await newRole();
  const one = 'ids=*;type=target;actions=read,list';
  const same = 'type=target;actions=list,read;ids=*';
  const json = '{"ids":["*"],"type":"target","actions":["list","read"]}';
  const other = 'ids=*;type=host-set;actions=read';
  for (const grant_strings of [
    [one, one],
    [one, same],
    [json, one],
  ]) {
    for (const change of ['add', 'set']) {
      const twice = await verb(id, `${change}-grants`, 1, { grant_strings });
      assert.equal(twice.status, 400);
      assert.match(refusedFields(twice).grant_strings ?? '', /is given twice\.$/);
    }
  }
  assert.equal((await verb(id, 'add-grants', 1, { grant_strings: [one] })).status, 200);
  for (const again of [one, same, json]) {
    const answer = await verb(id, 'add-grants', 2, { grant_strings: [other, again] });
    assert.equal(answer.status, 400);
    assert.match(refusedFields(answer).grant_strings ?? '', /is there already\.$/);
  }
  assert.equal((await verb(id, 'add-grants', 2, { grant_strings: [other] })).status, 200);
  const removed = await verb(id, 'remove-grants', 3, { grant_strings: [json] });
  assert.deepEqual(removed.field('grant_strings'), [other]);
  const absent = await verb(id, 'remove-grants', 4, { grant_strings: [same] });
  assert.match(refusedFields(absent).grant_strings ?? '', /is not there\.$/);
  const set = await verb(id, 'set-grants', 4, { grant_strings: [same] });
  assert.deepEqual(set.field('grant_strings'), [same]);
  const cleared = await verb(id, 'set-grants', 5, { grant_strings: [] });
  assert.equal(cleared.field('grant_strings'), undefined);
  assert.equal(cleared.field('version'), 6);
});

const ungrantable: [text: string, because: RegExp][] = [
  ['', /^Grant strings must not be empty\.$/],
  ['nonsense', /^Improperly formatted grant "nonsense"\./],
  ['ids=*;actions=read', /^Improperly formatted grant/],
  ['ids=*,ttcp_1;type=target;actions=read', /^Improperly formatted grant/],
  ['ids=ttcp_1,hst_1;actions=read', /^Improperly formatted grant/],
  ['ids=*;type=made-up;actions=read', /^Improperly formatted grant/],
  ['ids=*;type=target;actions=made-up', /^Improperly formatted grant/],
  ['id=ttcp_1234567890;actions=read', /no longer supported: use "ids"/],
  ['id=*;type=*;actions=*', /no longer supported: use "ids"/],
];

for (const [text, because] of ungrantable) {
  test(`${JSON.stringify(text)} is no grant`, async () => {
    const id = await newRole();
    const fine = 'ids=*;type=target;actions=read';
    for (const change of ['add', 'set']) {
      const answer = await verb(id, `${change}-grants`, 1, { grant_strings: [fine, text] });
      assert.equal(answer.status, 400);
      assert.match(refusedFields(answer).grant_strings ?? '', because);
    }
    assert.equal((await admin('GET', `roles/${id}`)).field('version'), 1);
  });
}

test('an action by its former name is refused with the new one', async () => {
  const id = await newRole();
  const old = 'ids=*;type=target;actions=add-host-sets';
  const set = await verb(id, 'set-grants', 1, { grant_strings: [old] });
  assert.match(refusedFields(set).grant_strings ?? '', /"add-host-sources"/);
  const add = await verb(id, 'add-grants', 1, { grant_strings: [old] });
  assert.equal(add.status, 400);
});

test('only setting takes no grants at all', async () => {
  const id = await newRole();
  for (const change of ['add', 'remove']) {
    for (const grant_strings of [[], undefined, null]) {
      const answer = await verb(id, `${change}-grants`, 1, { grant_strings });
      assert.deepEqual(refusedFields(answer), { grant_strings: 'Must be non-empty.' });
    }
  }
  assert.equal((await verb(id, 'set-grants', 1, { grant_strings: null })).status, 200);
});

// Grant scopes: the rules are a table beside their code, this is that they hold here.

const reach: [
  scope: string,
  change: string,
  ids: string[],
  outcome: string[] | RegExp,
  why: string,
][] = [
  ['global', 'set', ['global'], ['this'], 'by its own id'],
  ['global', 'set', ['this', 'descendants'], ['descendants', 'this'], 'everything'],
  ['global', 'set', ['children', project], ['children', project], 'orgs and one project'],
  ['global', 'set', ['children', org], /covers/, 'an org twice'],
  ['global', 'set', ['descendants', 'children'], /covers/, 'both words'],
  ['global', 'set', ['descendants', project], /covers/, 'a project twice'],
  ['global', 'set', ['o_unknown'], /there is no scope/, 'a scope that is not there'],
  ['global', 'add', ['u_1'], /^Unknown grant scope/, 'what is no scope'],
  ['global', 'add', ['this'], /is there already/, 'what it has'],
  ['global', 'remove', [org], /is not there/, 'what it has not'],
  ['global', 'add', [], /^Must be non-empty\.$/, 'nothing'],
  [org, 'set', [org, 'children'], ['children', 'this'], 'an org and its projects'],
  [org, 'set', [project], [project], 'one project of its own'],
  [org, 'set', [otherProject], /no project of the role's org/, "another org's project"],
  [org, 'add', [otherProject], /no project of the role's org/, 'added as well'],
  [org, 'add', ['global'], /no project of the role's org/, 'what lies above'],
  [org, 'add', ['descendants'], /only roles in global/, 'more than its projects'],
  [project, 'set', [project], ['this'], 'itself'],
  [project, 'add', ['children'], /reaches only "this"/, 'it has no children'],
  [project, 'set', [otherProject], /reaches only "this"/, 'another project'],
];

for (const [scope, change, grant_scope_ids, outcome, why] of reach) {
  test(`a role in ${scope.slice(0, 2)}: ${change} ${why}`, async () => {
    const id = await newRole(scope);
    const answer = await verb(id, `${change}-grant-scopes`, 1, { grant_scope_ids });
    if (outcome instanceof RegExp) {
      assert.equal(answer.status, 400, answer.text);
      assert.match(refusedFields(answer).grant_scope_ids ?? '', outcome);
      assert.equal((await admin('GET', `roles/${id}`)).field('version'), 1);
    } else {
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.field('grant_scope_ids'), [...outcome].sort());
      assert.equal(answer.field('version'), 2);
    }
  });
}

test('grants hold where they reach, from the next request on', async () => {
  const person = await broker.person([]);
  const role = await newRole();
  const reads = async (scope_id: string): Promise<number> =>
    (await person.call('GET', `groups?scope_id=${scope_id}`)).status;
  await verb(role, 'set-principals', 1, { principal_ids: [person.user_id] });
  await verb(role, 'set-grants', 2, { grant_strings: ['type=group;actions=list'] });
  const steps: [ids: string[], global: number, org: number, project: number][] = [
    [['this'], 200, 403, 403],
    [['children'], 403, 200, 403],
    [['descendants'], 403, 200, 200],
    [[project], 403, 403, 200],
    [[otherOrg], 403, 403, 403],
    [[], 403, 403, 403],
  ];
  for (const [at, [grant_scope_ids, ...expected]] of steps.entries()) {
    const set = await verb(role, 'set-grant-scopes', 3 + at, { grant_scope_ids });
    assert.equal(set.status, 200, set.text);
    const found = [await reads('global'), await reads(org), await reads(project)];
    assert.deepEqual(found, expected, grant_scope_ids.join());
  }
});

test('every verb looks at the id and the version first', async () => {
  const bodies: [noun: string, body: object][] = [
    ['principals', { principal_ids: ['u_auth'] }],
    ['grants', { grant_strings: ['ids=*;type=target;actions=read'] }],
    ['grant-scopes', { grant_scope_ids: ['children'] }],
  ];
  const id = await newRole();
  for (const [noun, body] of bodies) {
    for (const change of ['add', 'set', 'remove']) {
      const malformed = await verb('j_1', `${change}-${noun}`, 0, body);
      assert.deepEqual(refusedFields(malformed), {
        id: 'Incorrectly formatted identifier.',
        version: 'Required field.',
      });
      const stale = await verb(id, `${change}-${noun}`, 2, body);
      assert.equal(stale.status, 404, `${change}-${noun}`);
      assert.equal(
        stale.textAt('message'),
        `Role "${id}" doesn't exist or incorrect version provided.`,
      );
    }
  }
  assert.equal((await admin('GET', `roles/${id}`)).field('version'), 1);
});

test('a role of a scope that goes reaches it no more', async () => {
  const role = await newRole();
  const gone = await make('scopes', { scope_id: org, name: 'to go' });
  await verb(role, 'set-grant-scopes', 1, { grant_scope_ids: ['this', gone] });
  assert.equal((await admin('DELETE', `scopes/${gone}`)).status, 204);
  const changed = await verb(role, 'remove-grant-scopes', 2, { grant_scope_ids: [gone] });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(changed.field('grant_scope_ids'), ['this']);
});

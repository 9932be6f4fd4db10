import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { refusedFields, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const broker = await startBroker({ after });
const { admin, project, org, make, auth_method } = broker;

let made = 0;
async function newAccount(auth_method_id = auth_method): Promise<string> {
  const attributes = { login_name: `account-${made++}`, password: 'password' };
  return make('accounts', { auth_method_id, attributes });
}
const newUser = (scope_id = 'global'): Promise<string> => make('users', { scope_id });
const methodOfOrg = await make('auth-methods', { scope_id: org, type: 'password' });

const link = (id: string, change: string, version: number, account_ids: unknown): Promise<Reply> =>
  admin('POST', `users/${id}:${change}-accounts`, { version, account_ids });

const ANY_USER_PLACE = "Must be 'global' or a valid org scope id.";

test('users live in the global scope and in orgs', async () => {
  for (const scope_id of ['global', org]) {
    const answer = await admin('POST', 'users', { scope_id, name: `user-${made++}` });
    assert.equal(answer.status, 200);
    assert.equal(answer.textAt('scope.id'), scope_id);
    assert.equal(answer.field('account_ids'), undefined);
  }
  for (const scope_id of [project, 'x', undefined, 'u_1']) {
    const answer = await admin('POST', 'users', { scope_id });
    assert.equal(answer.status, 400);
    assert.deepEqual(refusedFields(answer), { scope_id: ANY_USER_PLACE });
  }
  assert.equal((await admin('POST', 'users', { scope_id: 'o_unknown' })).status, 404);
});

test('the built-in users are read, and neither deleted nor given accounts', async () => {
  const account = await newAccount();
  for (const id of ['u_anon', 'u_auth', 'u_recovery']) {
    const read = await admin('GET', `users/${id}`);
    assert.equal(read.status, 200);
    assert.equal(read.textAt('id'), id);
    const gone = await admin('DELETE', `users/${id}`);
    assert.equal(gone.status, 400);
    assert.deepEqual(Object.keys(refusedFields(gone)), ['id']);
    const version = Number(read.field('version'));
    for (const change of ['add', 'set']) {
      const answer = await link(id, change, version, [account]);
      assert.equal(answer.status, 400);
      assert.deepEqual(Object.keys(refusedFields(answer)), ['id']);
    }
    assert.equal((await admin('GET', `users/${id}`)).text, read.text);
  }
});

test('accounts are added once, replaced and taken away, one version at a time', async () => {
  const id = await newUser();
  const [a, b] = [await newAccount(), await newAccount()];
  const added = await link(id, 'add', 1, [a, a]);
  assert.deepEqual(added.field('account_ids'), [a]);
  assert.deepEqual(added.field('accounts'), [{ id: a, scope_id: 'global' }]);
  assert.equal(added.field('version'), 2);
  assert.equal(added.textAt('primary_account_id'), a);
  assert.match(added.textAt('login_name'), /^account-/);
  const set = await link(id, 'set', 2, [b]);
  assert.deepEqual(set.field('account_ids'), [b]);
  const same = await link(id, 'set', 3, [b]);
  assert.equal(same.field('version'), 4, 'to what it was is a change');
  const removed = await link(id, 'remove', 4, [b]);
  assert.equal(removed.field('account_ids'), undefined);
  assert.equal(removed.field('login_name'), undefined);
  assert.equal((await link(id, 'set', 5, [])).field('version'), 6);
});

const FORM = 'Values must be valid account ids.';
const EMPTY = 'Must be non-empty.';

test('accounts that cannot be a user’s are named, and nothing is changed', async () => {
  const id = await newUser();
  const [own, free, taken, foreign] = [
    await newAccount(),
    await newAccount(),
    await newAccount(),
    await newAccount(methodOfOrg),
  ];
  assert.equal((await link(await newUser(), 'add', 1, [taken])).status, 200);
  assert.equal((await link(id, 'add', 1, [own])).status, 200);
  const before = await admin('GET', `users/${id}`);
  const rows: [change: string, ids: unknown, because: string][] = [
    ['add', [], EMPTY],
    ['add', undefined, EMPTY],
    ['remove', [], EMPTY],
    ['remove', null, EMPTY],
    ['add', ['u_1234567890'], FORM],
    ['set', [free, 'x'], FORM],
    ['remove', [''], FORM],
    ['add', [own], `"${own}" is there already.`],
    ['remove', [free], `"${free}" is not there.`],
    ['remove', [own, free], `"${free}" is not there.`],
    ...['add', 'set'].flatMap((change): [string, unknown, string][] => [
      [change, [taken], `Account "${taken}" stands for another user already.`],
      [change, [free, taken], `Account "${taken}" stands for another user already.`],
      [change, [foreign], `There is no account "${foreign}" in the user's scope.`],
      [change, ['acctpw_unknown'], `There is no account "acctpw_unknown" in the user's scope.`],
    ]),
  ];
  for (const [change, ids, because] of rows) {
    const answer = await link(id, change, 2, ids);
    assert.equal(answer.status, 400, `${change} ${ids}`);
    assert.equal(answer.textAt('kind'), 'InvalidArgument');
    assert.equal(answer.textAt('message'), 'Errors in provided fields.');
    assert.deepEqual(refusedFields(answer), { account_ids: because }, `${change} ${ids}`);
  }
  assert.equal((await admin('GET', `users/${id}`)).text, before.text);
  assert.equal((await link(id, 'add', 2, [free])).status, 200, 'what is free can be had');
});

test('a user of an org has accounts of that org', async () => {
  const id = await newUser(org);
  const own = await newAccount(methodOfOrg);
  const foreign = await newAccount();
  for (const change of ['add', 'set']) {
    const answer = await link(id, change, 1, [foreign]);
    assert.deepEqual(Object.keys(refusedFields(answer)), ['account_ids'], change);
  }
  const done = await link(id, 'set', 1, [own]);
  assert.deepEqual(done.field('accounts'), [{ id: own, scope_id: org }]);
});

test('the id and the version are looked at first', async () => {
  const account = await newAccount();
  for (const change of ['add', 'set', 'remove']) {
    const malformed = await admin('POST', `users/j_1:${change}-accounts`, {});
    assert.equal(refusedFields(malformed).id, 'Incorrectly formatted identifier.');
    assert.equal(refusedFields(malformed).version, 'Required field.');
    const id = await newUser();
    const stale = await link(id, change, 2, [account]);
    assert.equal(stale.status, 404);
    assert.equal(
      stale.textAt('message'),
      `User "${id}" doesn't exist or incorrect version provided.`,
    );
    assert.equal((await link('u_unknown', change, 1, [account])).status, 404);
  }
});

test('of two users that want one account at the same time one gets it', async () => {
  for (let round = 0; round < 6; round++) {
    const account = await newAccount();
    const users = await Promise.all([newUser(), newUser(), newUser()]);
    const answers = await Promise.all(users.map((id) => link(id, 'add', 1, [account])));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers) {
      if (answer.status === 200) continue;
      assert.equal(answer.status, 400, answer.text);
      assert.deepEqual(Object.keys(refusedFields(answer)), ['account_ids']);
    }
    const found = await Promise.all(users.map((id) => admin('GET', `users/${id}`)));
    assert.equal(found.filter((user) => user.field('account_ids') !== undefined).length, 1);
  }
});

test('whoever logged in through an account that is taken away is that user no more', async () => {
  const person = await broker.person(['ids=*;type=target;actions=list,read']);
  const list = `targets?scope_id=${project}`;
  assert.equal((await person.call('GET', list)).status, 200);
  const { version } = JSON.parse((await admin('GET', `users/${person.user_id}`)).text);
  assert.equal((await link(person.user_id, 'remove', version, [person.account_id])).status, 200);
  assert.equal((await person.call('GET', list)).status, 401);
});

test('a deleted user leaves their accounts free for another', async () => {
  const id = await newUser();
  const account = await newAccount();
  await link(id, 'add', 1, [account]);
  assert.equal((await admin('DELETE', `users/${id}`)).status, 204);
  assert.equal((await admin('GET', `accounts/${account}`)).status, 200);
  assert.equal((await link(await newUser(), 'add', 1, [account])).status, 200);
});

// Groups

const member = (id: string, change: string, version: number, member_ids: unknown): Promise<Reply> =>
  admin('POST', `groups/${id}:${change}-members`, { version, member_ids });

test('groups live in every scope, with users of any', async () => {
  const here = await newUser();
  const there = await newUser(org);
  for (const scope_id of ['global', org, project]) {
    const id = await make('groups', { scope_id });
    const answer = await member(id, 'add', 1, [here, there, here]);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.field('member_ids'), [here, there].sort());
    assert.equal(answer.field('version'), 2);
    const set = await member(id, 'set', 2, [there]);
    assert.deepEqual(set.field('members'), [{ id: there, scope_id: org }]);
    const none = await member(id, 'remove', 3, [there]);
    assert.equal(none.field('member_ids'), undefined);
  }
  for (const scope_id of ['x', 'u_1', undefined]) {
    const answer = await admin('POST', 'groups', { scope_id });
    assert.deepEqual(refusedFields(answer), { scope_id: 'Improperly formatted field.' });
  }
});

test('what is no user is no member', async () => {
  const id = await make('groups', { scope_id: org });
  const user = await newUser();
  const other = await newUser();
  assert.equal((await member(id, 'add', 1, [user])).status, 200);
  const before = await admin('GET', `groups/${id}`);
  const rows: [change: string, ids: unknown, because: string][] = [
    ['add', [], EMPTY],
    ['remove', undefined, EMPTY],
    ['add', ['u_recovery'], 'u_recovery cannot be a member of a group.'],
    ['set', [user, 'u_recovery'], 'u_recovery cannot be a member of a group.'],
    ['add', ['g_1234567890'], 'Must only have valid user ids.'],
    ['set', ['x'], 'Must only have valid user ids.'],
    ['add', ['u_unknown'], 'There is no user "u_unknown".'],
    ['set', [other, 'u_unknown'], 'There is no user "u_unknown".'],
    ['add', [user], `"${user}" is there already.`],
    ['remove', [other], `"${other}" is not there.`],
  ];
  for (const [change, ids, because] of rows) {
    const answer = await member(id, change, 2, ids);
    assert.equal(answer.status, 400, `${change} ${ids}`);
    assert.deepEqual(refusedFields(answer), { member_ids: because });
  }
  for (const change of ['add', 'set', 'remove']) {
    assert.equal((await member(id, change, 1, [other])).status, 404);
  }
  assert.equal((await admin('GET', `groups/${id}`)).text, before.text);
});

test('what a group may do its members may, until they leave or it goes', async () => {
  const person = await broker.person([]);
  const group = await make('groups', { scope_id: 'global' });
  const role = await make('roles', { scope_id: 'global' });
  const grants = { version: 1, grant_strings: ['ids=*;type=group;actions=read'] };
  await admin('POST', `roles/${role}:set-grants`, grants);
  await admin('POST', `roles/${role}:set-principals`, { version: 2, principal_ids: [group] });
  const allowed = async (): Promise<number> => (await person.call('GET', `groups/${group}`)).status;
  assert.equal(await allowed(), 403);
  await member(group, 'add', 1, [person.user_id]);
  assert.equal(await allowed(), 200);
  await member(group, 'remove', 2, [person.user_id]);
  assert.equal(await allowed(), 403);
  await member(group, 'set', 3, [person.user_id]);
  assert.equal(await allowed(), 200);
  const other = await make('groups', { scope_id: 'global' });
  assert.equal((await person.call('GET', `groups/${other}`)).status, 200);
  assert.equal((await admin('DELETE', `groups/${group}`)).status, 204);
  assert.equal((await person.call('GET', `groups/${other}`)).status, 403);
  assert.equal((await admin('GET', `roles/${role}`)).field('principal_ids'), undefined);
});

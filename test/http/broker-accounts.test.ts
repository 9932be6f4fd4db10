/** Auth methods, their accounts and the log-ins that came of them, as clients make and read them. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listedIds, refusedFields, startBroker } from '../support/seeded-broker.ts';

const broker = await startBroker({ after });
const { admin, nobody, make, org, project } = broker;

test('an auth method lies in global or an org, has lengths of its own, and is primary once it is chosen', async () => {
  const made = await admin('POST', 'auth-methods', { scope_id: org, type: 'password' });
  assert.equal(made.status, 200, made.text);
  const id = made.textAt('id');
  assert.match(id, /^ampw_[A-Za-z0-9]{10}$/);
  assert.deepEqual(made.field('attributes'), { min_login_name_length: 3, min_password_length: 8 });
  assert.deepEqual(made.field('authorized_collection_actions'), { accounts: ['create', 'list'] });
  assert.equal(made.field('is_primary'), undefined);
  const version = (await admin('GET', `scopes/${org}`)).field('version');
  const choose = (primary_auth_method_id: unknown, at: unknown) =>
    admin('PATCH', `scopes/${org}`, { version: at, primary_auth_method_id });
  assert.equal((await choose(id, version)).status, 200);
  assert.equal((await admin('GET', `auth-methods/${id}`)).field('is_primary'), true);
  const changed = await admin('PATCH', `auth-methods/${id}`, {
    version: 1,
    attributes: { min_password_length: 12 },
  });
  assert.equal(changed.field('attributes.min_password_length'), 12);
  assert.equal(changed.field('attributes.min_login_name_length'), 3);

  for (const [body, fields] of [
    [{ scope_id: project, type: 'password' }, ['scope_id']],
    [{ scope_id: org }, ['type']],
    [{ scope_id: org, type: 'made-up' }, ['type']],
    [{ scope_id: org, type: 'ldap' }, ['type']],
    [
      { scope_id: org, type: 'password', attributes: { min_password_length: 0 } },
      ['attributes.min_password_length'],
    ],
  ] as const) {
    const refused = await admin('POST', 'auth-methods', body);
    assert.equal(refused.status, 400, refused.text);
    assert.deepEqual(Object.keys(refusedFields(refused)), fields);
  }
});

test('an account has a login name of its method alone, and shows no password', async () => {
  const auth_method_id = await make('auth-methods', { scope_id: 'global', type: 'password' });
  const other = await make('auth-methods', { scope_id: 'global', type: 'password' });
  const create = (attributes: unknown, method = auth_method_id) =>
    admin('POST', 'accounts', { auth_method_id: method, attributes });
  const made = await create({ login_name: 'ann.b-1', password: 'long enough' });
  assert.equal(made.status, 200, made.text);
  assert.match(made.textAt('id'), /^acctpw_[A-Za-z0-9]{10}$/);
  assert.deepEqual(made.field('attributes'), { login_name: 'ann.b-1' });
  assert.equal((await create({ login_name: 'ann.b-1' }, other)).status, 200);

  for (const [attributes, fields] of [
    [{}, ['attributes.login_name']],
    [{ login_name: 'Ann' }, ['attributes.login_name']],
    [{ login_name: 'an' }, ['attributes.login_name']],
    [{ login_name: 'ann b' }, ['attributes.login_name']],
    [{ login_name: 'bob', password: 'short' }, ['attributes.password']],
    [{ login_name: 'ann.b-1' }, []],
  ] as const) {
    const refused = await create(attributes);
    assert.equal(refused.status, 400, refused.text);
    assert.deepEqual(Object.keys(refusedFields(refused)), fields);
  }
  const list = await admin('GET', `accounts?auth_method_id=${auth_method_id}`);
  assert.deepEqual(listedIds(list), [made.textAt('id')]);
});

test('people read and delete their own log-ins, and see no token of them', async () => {
  const person = await broker.person(['ids=*;type=auth-token;actions=list,read:self,delete:self']);
  const other = await broker.person([]);
  const own = person.token.split('_').slice(0, 2).join('_');
  const foreign = other.token.split('_').slice(0, 2).join('_');
  const read = await person.call('GET', `auth-tokens/${own}`);
  assert.equal(read.textAt('user_id'), person.user_id);
  assert.equal(read.field('token'), undefined);
  assert.ok(!read.text.includes(person.token));
  assert.equal((await person.call('GET', `auth-tokens/${foreign}`)).status, 403);
  assert.equal((await person.call('DELETE', `auth-tokens/${foreign}`)).status, 403);
  assert.deepEqual(listedIds(await person.call('GET', 'auth-tokens?scope_id=global')), [own]);
  assert.equal((await nobody('GET', `auth-tokens/${own}`)).status, 401);
  assert.equal((await person.call('DELETE', `auth-tokens/${own}`)).status, 204);
  assert.equal((await person.call('GET', `auth-tokens/${own}`)).status, 404);
});

// However many of a kind a scope, a catalog or an auth method holds, no write set is larger for it, and
// when its removal is answered all of them are gone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { PAGE } from '../../src/broker/resource/ending.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import { countAll, rowsOf, SetSizes } from '../support/set-sizes.ts';

const COUNT = 3 * PAGE + 7;

interface Container {
  /** Path of what is removed. */
  path: string;
  /** The first of many that go with it. */
  first: string;
}

async function inOrg({ make }: Broker, plural: string, fields: object): Promise<Container> {
  const scope_id = await make('scopes', { scope_id: 'global' });
  return { path: `scopes/${scope_id}`, first: await make(plural, { scope_id, ...fields }) };
}

async function inProject(
  { make, org }: Broker,
  plural: string,
  fields: object,
): Promise<Container> {
  const scope_id = await make('scopes', { scope_id: org });
  return { path: `scopes/${scope_id}`, first: await make(plural, { scope_id, ...fields }) };
}

const PASSWORD = { type: 'password' };
const STATIC = { type: 'static' };

const REMOVALS: [what: string, type: string, make: (broker: Broker) => Promise<Container>][] = [
  ['users of a scope', 'user', (broker) => inOrg(broker, 'users', {})],
  ['groups of a scope', 'group', (broker) => inOrg(broker, 'groups', {})],
  ['roles of a scope', 'role', (broker) => inOrg(broker, 'roles', {})],
  ['auth methods of a scope', 'auth-method', (broker) => inOrg(broker, 'auth-methods', PASSWORD)],
  [
    'credential stores of a scope',
    'credential-store',
    (broker) => inProject(broker, 'credential-stores', STATIC),
  ],
  [
    'host catalogs of a scope',
    'host-catalog',
    (broker) => inProject(broker, 'host-catalogs', STATIC),
  ],
  [
    'host sets of a catalog',
    'host-set',
    async ({ make, project }) => {
      const host_catalog_id = await make('host-catalogs', { scope_id: project, ...STATIC });
      const first = await make('host-sets', { host_catalog_id, ...STATIC });
      return { path: `host-catalogs/${host_catalog_id}`, first };
    },
  ],
  [
    'hosts of a catalog',
    'host',
    async ({ make, project }) => {
      const host_catalog_id = await make('host-catalogs', { scope_id: project, ...STATIC });
      const attributes = { address: '10.0.0.5' };
      const first = await make('hosts', { host_catalog_id, ...STATIC, attributes });
      return { path: `host-catalogs/${host_catalog_id}`, first };
    },
  ],
  [
    'accounts of an auth method',
    'account',
    async ({ make, org }) => {
      const auth_method_id = await make('auth-methods', { scope_id: org, ...PASSWORD });
      const attributes = { login_name: 'many', password: 'long enough' };
      const first = await make('accounts', { auth_method_id, ...PASSWORD, attributes });
      return { path: `auth-methods/${auth_method_id}`, first };
    },
  ],
];

eachPlace('a removal of what holds more than a page', (newPlace) => {
  for (const [what, type, makeIn] of REMOVALS) {
    test(`${what}: is made of small write sets, and leaves none of them`, async (t) => {
      const sizes = new SetSizes();
      const broker = await startBroker(t, { place: await newPlace(), store: sizes.watch });
      const { store, db } = broker.client.running.app;
      const { path, first } = await makeIn(broker);
      const before = await countAll(db, { all: rowsOf('resource', sql`type = ${type}`) });
      await copyRow(store, 'resource', {
        of: { id: first },
        copies: COUNT,
        changes: { id: numbered('id'), name: sql`null`, unique_key: sql`null` },
      });
      const counts = { all: rowsOf('resource', sql`type = ${type}`) };
      sizes.begin(counts);
      const removed = await broker.admin('DELETE', path);
      assert.equal(removed.status, 204, removed.text);
      const { all = 0 } = await countAll(db, counts);
      assert.ok(all < (before.all ?? 0), `${all} of ${before.all} are left`);
      const { most, sets } = sizes.of('all');
      assert.ok(most <= PAGE && sets > 3, `${most} in one of ${sets}`);
    });
  }

  test('ends by whoever is permitted as one of them: their own user, account, groups and auth method', async (t) => {
    const broker = await startBroker(t, { place: await newPlace() });
    const { make, admin, as, client } = broker;
    const { store, db } = client.running.app;
    const scope_id = await make('scopes', { scope_id: 'global' });
    const auth_method_id = await make('auth-methods', { scope_id, ...PASSWORD });
    const attributes = { login_name: 'own', password: 'long enough' };
    const account = await make('accounts', { auth_method_id, ...PASSWORD, attributes });
    const user = await make('users', { scope_id });
    const group = await make('groups', { scope_id });
    const role = await make('roles', { scope_id: 'global' });
    const must = async (path: string, body: object): Promise<void> => {
      const reply = await admin('POST', path, body);
      assert.equal(reply.status, 200, reply.text);
    };
    await must(`users/${user}:add-accounts`, { version: 1, account_ids: [account] });
    await must(`groups/${group}:add-members`, { version: 1, member_ids: [user] });
    const grant_strings = [`ids=${scope_id};type=scope;actions=delete`];
    await must(`roles/${role}:add-grants`, { version: 1, grant_strings });
    await must(`roles/${role}:add-principals`, { version: 2, principal_ids: [group] });
    const in_path = `auth-methods/${auth_method_id}:authenticate`;
    const came = await broker.nobody('POST', in_path, { attributes });
    assert.equal(came.status, 200, came.text);

    for (const id of [user, group, account, auth_method_id]) {
      const changes = { id: numbered('id'), name: sql`null`, unique_key: sql`null` };
      await copyRow(store, 'resource', { of: { id }, copies: COUNT, changes });
    }
    const removed = await as(came.textAt('attributes.token'))('DELETE', `scopes/${scope_id}`);
    assert.equal(removed.status, 204, removed.text);
    const left = rowsOf('resource', sql`scope_id = ${scope_id} or id = ${scope_id}`);
    assert.deepEqual(await countAll(db, { left }), { left: 0 });
  });
});

// However often somebody has logged in, and however many sessions stand on a token: no write set that ends them
// is larger for it, when that is answered all of them have ended, and no others.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type RawBuilder, sql } from 'kysely';
import { insertLease } from '../../src/access/leases/store.ts';
import { tidyTokens } from '../../src/access/tokens/expiration.operations.ts';
import { tokenId } from '../../src/access/tokens/minting.operations.ts';
import { VAULT_LEASE } from '../../src/broker/vault/leases/lease.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';
import { countAll, rowsOf, SetSizes } from '../support/set-sizes.ts';

const MOST = 500;
/** More than three pages of each. */
const COUNT = 3 * MOST + 7;

interface Person {
  id: string;
  token: string;
  alias_id: string;
  entity_id: string;
}

interface Served extends Broker {
  sizes: SetSizes;
  ann: Person;
  robot: Person;
  /** Who is left alone. */
  bob: Person;
  post(path: string, body?: object, token?: string): Promise<Reply>;
}

async function serve(t: TestContext, place: Place): Promise<Served> {
  const sizes = new SetSizes();
  const broker = await startBroker(t, { place, store: sizes.watch });
  const { call, running } = broker.client;
  const post: Served['post'] = async (path, body = {}, token = 'root') => {
    const reply = await call('POST', path, body, { token });
    assert.ok(reply.status < 300, `${path}: ${reply.text}`);
    return reply;
  };
  await post('sys/auth/up', { type: 'userpass' });
  const logIn = async (name: string): Promise<Person> => {
    await post(`auth/up/users/${name}`, { password: 'password' });
    return personOf(await post(`auth/up/login/${name}`, { password: 'password' }, ''));
  };
  const personOf = async (reply: Reply): Promise<Person> => {
    const token = reply.textAt('auth.client_token');
    const id = tokenId(running.app, token);
    const row = await running.app.db
      .selectFrom('token')
      .select('alias_id')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    return { id, token, entity_id: reply.textAt('auth.entity_id'), alias_id: row.alias_id };
  };
  await post('sys/auth/approle', { type: 'approle' });
  await post('auth/approle/role/r');
  const role_id = (await call('GET', 'auth/approle/role/r/role-id')).textAt('data.role_id');
  const { secret_id } = Object((await post('auth/approle/role/r/secret-id')).field('data'));
  const robot = await personOf(await post('auth/approle/login', { role_id, secret_id }, ''));
  return { ...broker, sizes, post, robot, ann: await logIn('ann'), bob: await logIn('bob') };
}

const living = ({ alias_id }: Person): RawBuilder<number> =>
  rowsOf('token', sql`expires_at > 0 and alias_id = ${alias_id}`);

async function makeLogIns({ client }: Served, { id }: Person): Promise<void> {
  const changes = { id: numbered('id'), accessor: numbered('accessor') };
  await copyRow(client.running.app.store, 'token', { of: { id }, copies: COUNT - 1, changes });
}

const leased = ({ alias_id }: Person): RawBuilder<number> =>
  rowsOf('lease', sql`alias_id = ${alias_id}`);

/** Leases of log-ins by batch tokens, of what a Vault server gave to a token that is gone. */
async function makeLeases({ client }: Served, { id: name, alias_id }: Person): Promise<void> {
  const { store } = client.running.app;
  const id = `leases/${name}`;
  const data = { lease_id: 'a', token_id: 'gone', token_mac: 'gone', renew_at: 1, until: 2 };
  const of = { id, alias_id, token_id: undefined, mount_id: '', kind: VAULT_LEASE, data };
  const times = { issued_at: 1, expires_at: 2 ** 32, renewed_at: undefined, renewable: false };
  await store.commit([insertLease({ ...of, ...times })]);
  await copyRow(store, 'lease', { of: { id }, copies: COUNT - 1, changes: { id: numbered('id') } });
}

const going = (column: 'token_id' | 'target_id', id: string): RawBuilder<number> =>
  rowsOf('session', sql`status = 'pending' and ${sql.ref(column)} = ${id}`);

/** Sessions that were authorized by a token of the Vault API, or that belong to an entity's user. */
async function makeSessions(served: Served, { id }: Person, entity_id = ''): Promise<string> {
  const { store, db } = served.client.running.app;
  const target = await served.make('targets', {
    scope_id: served.project,
    name: `t-${id}`,
    type: 'tcp',
    address: '10.0.0.5',
    attributes: { default_port: 22 },
  });
  const person = await served.person(['ids=*;type=target;actions=authorize-session']);
  const made = await person.call('POST', `targets/${target}:authorize-session`, {});
  const session = { of: { id: made.textAt('session_id') }, copies: COUNT };
  const changes = { id: numbered('id') };
  await copyRow(store, 'resource', { ...session, changes });
  const auth_mount_id = sql`(select mount_id from token where token.id = ${id})`;
  const token = { token_id: sql.lit(id), auth_token_id: sql.lit(''), auth_mount_id };
  const by = entity_id === '' ? token : {};
  await copyRow(store, 'session', { ...session, changes: { ...changes, ...by } });
  if (entity_id !== '') {
    const user = build.updateTable('resource').set({ unique_key: `entity:${entity_id}` });
    await store.commit([write(user.where('id', '=', person.user_id), { rows: 1 })]);
  }
  assert.equal((await db.selectFrom('session').select('id').execute()).length >= COUNT, true);
  return target;
}

type Ending = (served: Served) => Promise<number>;

const removed = async ({ client }: Served, path: string): Promise<number> =>
  (await client.call('DELETE', path)).status;

const LOG_INS: [what: string, end: Ending, who?: 'robot'][] = [
  ['whose user is removed', (served) => removed(served, 'auth/up/users/ann')],
  [
    'whose entity is removed',
    (served) => removed(served, `identity/entity/id/${served.ann.entity_id}`),
  ],
  [
    'whose alias is removed',
    (served) => removed(served, `identity/entity-alias/id/${served.ann.alias_id}`),
  ],
  ['whose role is removed', (served) => removed(served, 'auth/approle/role/r'), 'robot'],
  [
    'whose role gets another ID',
    async ({ post }) => (await post('auth/approle/role/r/role-id', { role_id: 'another' })).status,
    'robot',
  ],
  [
    'whose alias gets another name',
    async ({ post, ann }) => {
      await post(`identity/entity-alias/id/${ann.alias_id}`, { name: 'other' });
      return 204;
    },
  ],
  [
    'whose entity is removed with others',
    async ({ client, ann }) => {
      const entity_ids = [ann.entity_id];
      return (await client.call('POST', 'identity/entity/batch-delete', { entity_ids })).status;
    },
  ],
];

eachPlace('many log-ins', (newPlace) => {
  for (const [what, end, who = 'ann'] of LOG_INS) {
    test(`log-ins of somebody ${what} end in small write sets, and no others`, async (t) => {
      const served = await serve(t, await newPlace());
      const { sizes, bob, client, [who]: gone } = served;
      for (const person of [gone, bob]) await makeLogIns(served, person);
      const counts = { left: living(gone), others: living(bob) };
      assert.deepEqual(await countAll(client.running.app.db, counts), {
        left: COUNT,
        others: COUNT,
      });
      sizes.begin(counts);
      assert.equal(await end(served), 204);
      assert.deepEqual(await countAll(client.running.app.db, counts), { left: 0, others: COUNT });
      // What a request may take is not left to the jobs, of no page.
      const rows = rowsOf('token', sql`alias_id = ${gone.alias_id}`);
      assert.deepEqual(await countAll(client.running.app.db, { rows }), { rows: 0 });
      const { most, sets } = sizes.of('left');
      assert.ok(most <= MOST && sets > 3, `${most} in one of ${sets}`);
      const self = await client.call('GET', 'auth/token/lookup-self', undefined, {
        token: gone.token,
      });
      assert.equal(self.status, 403);
      const other = await client.call('GET', 'auth/token/lookup-self', undefined, {
        token: bob.token,
      });
      assert.equal(other.status, 200);
    });
  }

  for (const [what, end, who = 'ann'] of LOG_INS) {
    test(`leases of log-ins of somebody ${what} let go of them in small write sets, and no others do`, async (t) => {
      const served = await serve(t, await newPlace());
      const { sizes, bob, client, [who]: gone } = served;
      for (const person of [gone, bob]) await makeLeases(served, person);
      sizes.begin({ left: leased(gone) });
      assert.equal(await end(served), 204);
      const counts = { left: leased(gone), others: leased(bob) };
      assert.deepEqual(await countAll(client.running.app.db, counts), { left: 0, others: COUNT });
      const { most, sets } = sizes.of('left');
      assert.ok(most <= MOST && sets > 3, `${most} in one of ${sets}`);
    });
  }

  test('who removes himself, with many log-ins, ends himself last', async (t) => {
    const served = await serve(t, await newPlace());
    const { ann, client, post } = served;
    await makeLogIns(served, ann);
    const policy = `path "identity/entity/id/${ann.entity_id}" { capabilities = ["delete"] }`;
    await post('sys/policies/acl/removes', { policy });
    await post(`identity/entity/id/${ann.entity_id}`, { policies: ['removes'] });
    const path = `identity/entity/id/${ann.entity_id}`;
    const reply = await client.call('DELETE', path, undefined, { token: ann.token });
    assert.equal(reply.status, 204, reply.text);
    const counts = { left: living(ann) };
    assert.deepEqual(await countAll(client.running.app.db, counts), { left: 0 });
  });

  const SESSIONS: [what: string, end: Ending][] = [
    [
      'a token that is revoked',
      async ({ post, ann }) => (await post('auth/token/revoke', { token: ann.token })).status,
    ],
    [
      'a token that revokes itself',
      async ({ post, ann }) => (await post('auth/token/revoke-self', {}, ann.token)).status,
    ],
    ['a token whose user is removed', (served) => removed(served, 'auth/up/users/ann')],
    [
      'a token that has run out',
      async ({ client, ann }) => {
        const { app } = client.running;
        const out = build.updateTable('token').set({ expires_at: 1 }).where('id', '=', ann.id);
        await app.store.commit([write(out, { rows: 1 })]);
        await tidyTokens(app, { commit: app.store.commit, stopping: false });
        return 204;
      },
    ],
  ];
  for (const [what, end] of SESSIONS) {
    test(`sessions that were authorized by ${what} end in small write sets, and no others`, async (t) => {
      const served = await serve(t, await newPlace());
      const { sizes, ann, bob, client } = served;
      const target = await makeSessions(served, ann);
      await makeSessions(served, bob);
      const left = rowsOf('session', sql`status = 'pending' and target_id = ${target}`);
      const counts = { left, others: going('token_id', bob.id) };
      sizes.begin(counts);
      assert.equal(await end(served), 204);
      // The one that was copied is another's.
      assert.deepEqual(await countAll(client.running.app.db, counts), { left: 1, others: COUNT });
      const { most, sets } = sizes.of('left');
      assert.ok(most <= MOST && sets > 3, `${most} in one of ${sets}`);
    });
  }

  test('sessions that were authorized by a mount that is removed end in small write sets, and no others', async (t) => {
    const served = await serve(t, await newPlace());
    const { sizes, ann, robot, client } = served;
    const { app } = client.running;
    const target = await makeSessions(served, ann);
    // Each by another log-in, and the last one by a batch token.
    await makeLogIns(served, ann);
    const each = build
      .updateTable('session')
      .set({ token_id: sql`substr(id, 1, 8) || ${ann.id}` })
      .where('token_id', '=', ann.id);
    const batch = build
      .updateTable('session')
      .set({ token_id: '', alias_id: ann.alias_id })
      .where('token_id', '=', `${1_000_000 + COUNT}-${ann.id}`);
    await app.store.commit([write(each, { rows: COUNT }), write(batch, { rows: 1 })]);
    await makeSessions(served, robot);
    const left = rowsOf('session', sql`status = 'pending' and target_id = ${target}`);
    const counts = { left, others: going('token_id', robot.id) };
    sizes.begin(counts);
    assert.equal(await removed(served, 'sys/auth/up'), 204);
    // The one that was copied is another's.
    assert.deepEqual(await countAll(app.db, counts), { left: 1, others: COUNT });
    const { most, sets } = sizes.of('left');
    assert.ok(most <= MOST && sets > 3, `${most} in one of ${sets}`);
  });

  test('sessions of whoever is an entity that is disabled end in small write sets, and stay theirs', async (t) => {
    const served = await serve(t, await newPlace());
    const { sizes, ann, bob, client, post } = served;
    const { app } = client.running;
    const target = await makeSessions(served, ann, ann.entity_id);
    const other = await makeSessions(served, bob, bob.entity_id);
    const own = sql`select resource.id from resource join session on session.id = resource.id
      where target_id = ${target} and owner_id <> ''`;
    const counts = {
      left: going('target_id', target),
      others: going('target_id', other),
      theirs: rowsOf('session', sql`id in (${own})`),
    };
    sizes.begin(counts);
    await post(`identity/entity/id/${ann.entity_id}`, { disabled: true });
    assert.deepEqual(await countAll(app.db, counts), {
      left: 0,
      others: COUNT + 1,
      theirs: COUNT + 1,
    });
    const { most, sets } = sizes.of('left');
    assert.ok(most <= MOST && sets > 3, `${most} in one of ${sets}`);
  });

  test('sessions of whoever is an entity that is removed end in small write sets', async (t) => {
    const served = await serve(t, await newPlace());
    const { sizes, ann, client } = served;
    const target = await makeSessions(served, ann, ann.entity_id);
    const counts = { left: going('target_id', target) };
    sizes.begin(counts);
    assert.equal(await removed(served, `identity/entity/id/${ann.entity_id}`), 204);
    assert.deepEqual(await countAll(client.running.app.db, counts), { left: 0 });
    const { most, sets } = sizes.of('left');
    assert.ok(most <= MOST && sets > 3, `${most} in one of ${sets}`);
  });
});

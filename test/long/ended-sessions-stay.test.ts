// Whoever a user of the broker was may go, and the user stays: sessions that go on end, and those that had
// ended stay as they are, however many.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { build } from '../../src/store/database.ts';
import { bumpPermissionVersion } from '../../src/store/permission-version.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import { countAll, rowsOf, SetSizes } from '../support/set-sizes.ts';

const TARGET = 'targets/ttcp_1234567890:authorize-session';
const GRANTS = ['ids=*;type=target;actions=authorize-session', 'ids=*;type=*;actions=delete'];
/** Rows of a kind in one write set, at most. */
const MOST = 500;

interface Row {
  status: string;
  owner_id: string;
}

eachPlace('sessions that have ended', (newPlace) => {
  async function open(t: { after(stop: () => Promise<void>): void }, ended: number) {
    const sizes = new SetSizes();
    const broker = await startBroker(t, { place: await newPlace(), store: sizes.watch });
    const { client } = broker;
    const { store, db } = client.running.app;
    const person = await broker.person(GRANTS);
    const made = await person.call('POST', TARGET, {});
    const of = { id: made.textAt('session_id') };
    const changes = { id: numbered('id') };
    await copyRow(store, 'resource', { of, copies: ended, changes });
    await copyRow(store, 'session', {
      of,
      copies: ended,
      changes: { ...changes, status: sql.lit('terminated') },
    });
    const self = await client.call('GET', 'auth/token/lookup-self', undefined, {
      token: person.token,
    });
    const sessions = (): Promise<Row[]> =>
      db
        .selectFrom('session')
        .innerJoin('resource', 'resource.id', 'session.id')
        .select(['session.status', 'resource.owner_id'])
        .orderBy('session.id')
        .execute();
    const before = await sessions();
    assert.equal(before.filter(({ status }) => status === 'pending').length, 1);
    assert.equal(before.length, ended + 1);
    const entity_id = self.textAt('data.entity_id');
    return { broker, client, person, entity_id, sessions, before, sizes };
  }
  type Opened = Awaited<ReturnType<typeof open>>;

  const GONE: Record<string, (opened: Opened) => Promise<number>> = {
    'the entity that the user is': async ({ client, entity_id }) =>
      (await client.call('DELETE', `identity/entity/id/${entity_id}`)).status,
    'the entity, with others': async ({ client, entity_id }) =>
      (await client.call('POST', 'identity/entity/batch-delete', { entity_ids: [entity_id] }))
        .status,
    'the alias by which an entity is the user': async ({ client, entity_id }) => {
      const { id } = Object(
        (await client.call('GET', `identity/entity/id/${entity_id}`)).field('data.aliases.0'),
      );
      return (await client.call('DELETE', `identity/entity-alias/id/${id}`)).status;
    },
  };

  for (const [what, end] of Object.entries(GONE)) {
    for (const ended of [8, 1508]) {
      test(`stay the user's once ${what} is removed: ${ended} of them`, async (t) => {
        const opened = await open(t, ended);
        const { broker, person, before, sessions } = opened;
        assert.equal(await end(opened), 204);
        assert.equal((await broker.admin('GET', `users/${person.user_id}`)).status, 200);
        const after = await sessions();
        assert.equal(after.length, before.length);
        for (const { status, owner_id } of after) {
          assert.equal(owner_id, person.user_id);
          // The one that went on, which a job ends for good.
          assert.match(status, /^(canceling|terminated)$/);
        }
      });
    }
  }

  for (const ended of [8, 1508]) {
    test(`are nobody's once the user is removed: ${ended} of them`, async (t) => {
      const { broker, person, sessions } = await open(t, ended);
      assert.equal((await broker.admin('DELETE', `users/${person.user_id}`)).status, 204);
      const owners = new Set((await sessions()).map(({ owner_id }) => owner_id));
      assert.deepEqual([...owners], ['']);
    });
  }

  const THEMSELVES: Record<string, (opened: Opened) => string> = {
    user: ({ person }) => `users/${person.user_id}`,
    account: ({ person }) => `accounts/${person.account_id}`,
    'log-in': ({ person }) => `auth-tokens/${person.token.split('_').slice(0, 2).join('_')}`,
  };
  for (const [what, pathOf] of Object.entries(THEMSELVES)) {
    test(`are left to nobody in small write sets by whoever removes the ${what} that they came by`, async (t) => {
      const opened = await open(t, 1508);
      const { person, sizes } = opened;
      sizes.begin({ named: rowsOf('session', sql`auth_token_id <> ''`) });
      assert.equal((await person.call('DELETE', pathOf(opened))).status, 204);
      const { most, sets } = sizes.of('named');
      assert.ok(most <= MOST && sets > 3, `${most} in one of ${sets}`);
    });
  }

  test('and log-ins end in small write sets by whoever removes the auth method that they often came by', async (t) => {
    const { broker, client, person, sizes } = await open(t, 1);
    const id = tokenIdOf(person.token);
    const { store } = client.running.app;
    const changes = { id: numbered('id'), unique_key: numbered('unique_key') };
    await copyRow(store, 'resource', { of: { id }, copies: 1508, changes });
    const link = { of: { from_id: id }, copies: 1508, changes: { from_id: numbered('from_id') } };
    await copyRow(store, 'resource_link', link);
    const log_ins = rowsOf('resource', sql`type = 'auth-token' and owner_id = ${person.user_id}`);
    sizes.begin({ log_ins });
    const path = `auth-methods/${broker.auth_method}`;
    assert.equal((await person.call('DELETE', path)).status, 204);
    assert.deepEqual(await countAll(client.running.app.db, { log_ins }), { log_ins: 0 });
    const { most, sets } = sizes.of('log_ins');
    assert.ok(most <= MOST && sets > 3, `${most} in one of ${sets}`);
  });

  test('in other scopes are left to nobody in small write sets by a user who removes the scope that they lie in', async (t) => {
    const { broker, client, person, sizes } = await open(t, 1508);
    const { store } = client.running.app;
    const org = await broker.make('scopes', { scope_id: 'global', name: 'their-own' });
    const inOrg = build.updateTable('resource').set({ scope_id: org, container_id: org });
    const before = build.updateTable('session').set({ auth_token_id: '' });
    await store.commit([
      write(inOrg.where('id', '=', person.user_id), { rows: 1 }),
      write(before.where('status', '=', 'terminated'), { rows: 1508 }),
      bumpConfigVersion(),
      ...bumpPermissionVersion(),
    ]);
    const owned = rowsOf('resource', sql`type = 'session' and owner_id = ${person.user_id}`);
    sizes.begin({ owned });
    const removed = await person.call('DELETE', `scopes/${org}`);
    assert.equal(removed.status, 204, removed.text);
    assert.deepEqual(await countAll(client.running.app.db, { owned }), { owned: 0 });
    const { most, sets } = sizes.of('owned');
    assert.ok(most <= MOST && sets > 3, `${most} in one of ${sets}`);
  });
});

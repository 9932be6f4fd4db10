// However much stands on what is removed, no write set is larger for it, and when the removal is
// answered all of it has ended.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGE } from '../../src/broker/resource/ending.ts';
import type { Db } from '../../src/store/database.ts';
import type { Store } from '../../src/store/store.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Broker, type Person, startBroker, tokenIdOf } from '../support/seeded-broker.ts';

const COUNT = 3 * PAGE + 7;

interface World {
  broker: Broker;
  user: Person;
  target: string;
  host: string;
  host_set: string;
  host_catalog: string;
  /** Sessions that go on, and resources, each set has ended. */
  sizes: { sessions: number; resources: number }[];
}

async function countRows(db: Db): Promise<{ sessions: number; resources: number }> {
  const sessions = db.selectFrom('session').select((row) => row.fn.countAll<number>().as('n'));
  const live = await sessions.where('status', 'in', ['pending', 'active']).executeTakeFirst();
  const resources = db.selectFrom('resource').select((row) => row.fn.countAll<number>().as('n'));
  return { sessions: Number(live?.n), resources: Number((await resources.executeTakeFirst())?.n) };
}

/** A person with many log-ins, and as many sessions through a host. */
async function openWorld(
  t: { after(stop: () => Promise<void>): void },
  place: Place,
): Promise<World> {
  const sizes: World['sizes'] = [];
  let watching = false;
  let last: Promise<unknown> = Promise.resolve();
  const watched = (real: Store): Store => ({
    ...real,
    async commit(effects) {
      if (!watching) return real.commit(effects);
      // One at a time: jobs write, too.
      const done = last.then(async () => {
        const before = await countRows(real.db);
        await real.commit(effects);
        const after = await countRows(real.db);
        sizes.push({
          sessions: before.sessions - after.sessions,
          resources: before.resources - after.resources,
        });
      });
      last = done.catch(() => {});
      return done;
    },
  });
  const broker = await startBroker(t, { place, store: watched });
  const { make, admin, project } = broker;
  const { store } = broker.client.running.app;
  const user = await broker.person(['ids=*;type=target;actions=authorize-session']);
  const host_catalog = await make('host-catalogs', { scope_id: project, type: 'static' });
  const inCatalog = { host_catalog_id: host_catalog };
  const host = await make('hosts', {
    ...inCatalog,
    type: 'static',
    attributes: { address: '10.0.0.5' },
  });
  const host_set = await make('host-sets', { ...inCatalog, type: 'static' });
  const fields = { type: 'tcp', attributes: { default_port: 22 } };
  const target = await make('targets', { scope_id: project, name: 't', ...fields });
  await admin('POST', `host-sets/${host_set}:add-hosts`, { version: 1, host_ids: [host] });
  const sources = { version: 1, host_source_ids: [host_set] };
  await admin('POST', `targets/${target}:add-host-sources`, sources);
  const made = await user.call('POST', `targets/${target}:authorize-session`, {});
  assert.equal(made.status, 200, made.text);

  const changes = { id: numbered('id'), unique_key: numbered('unique_key') };
  const session = { of: { id: made.textAt('session_id') }, copies: COUNT };
  await copyRow(store, 'resource', { ...session, changes });
  await copyRow(store, 'session', { ...session, changes: { id: numbered('id') } });
  const id = tokenIdOf(user.token);
  await copyRow(store, 'resource', { of: { id }, copies: COUNT, changes });
  await copyRow(store, 'resource_link', {
    of: { from_id: id },
    copies: COUNT,
    changes: { from_id: numbered('from_id') },
  });
  watching = true;
  return { broker, user, target, host, host_set, host_catalog, sizes };
}

const REMOVALS: [what: string, path: (world: World) => string, log_ins: boolean][] = [
  ['user', ({ user }) => `users/${user.user_id}`, true],
  ['account', ({ user }) => `accounts/${user.account_id}`, true],
  ['log-in', ({ user }) => `auth-tokens/${tokenIdOf(user.token)}`, false],
  ['target', ({ target }) => `targets/${target}`, false],
  ['host', ({ host }) => `hosts/${host}`, false],
  ['host set', ({ host_set }) => `host-sets/${host_set}`, false],
  ['host catalog', ({ host_catalog }) => `host-catalogs/${host_catalog}`, false],
  ['project', ({ broker }) => `scopes/${broker.project}`, false],
  ['org', ({ broker }) => `scopes/${broker.org}`, false],
  ['auth method', ({ broker }) => `auth-methods/${broker.auth_method}`, true],
];

eachPlace('a removal that ends more than a page', (newPlace) => {
  for (const [what, path, log_ins] of REMOVALS) {
    test(`of a ${what} is made of small write sets, and leaves nothing when it is answered`, async (t) => {
      const world = await openWorld(t, await newPlace());
      const { broker, user, sizes } = world;
      const removed = await broker.admin('DELETE', path(world));
      assert.equal(removed.status, 204, removed.text);
      const { db } = broker.client.running.app;
      assert.equal((await countRows(db)).sessions, 0);
      const left = await db
        .selectFrom('resource')
        .select('id')
        .where('type', '=', 'auth-token')
        .where('owner_id', '=', user.user_id)
        .execute();
      assert.equal(left.length > 1, !log_ins);
      for (const { sessions, resources } of sizes) {
        assert.ok(sessions <= PAGE && resources <= PAGE + 100, `${sessions}, ${resources}`);
      }
      assert.ok(sizes.filter(({ sessions }) => sessions > 0).length > 3);
    });
  }
});

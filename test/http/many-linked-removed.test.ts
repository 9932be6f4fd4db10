// However much leads to what is removed, no write set takes more of it than one request could have named.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { compiled } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import { countAll, rowsOf, SetSizes } from '../support/set-sizes.ts';

/** Links of one write set, at most. */
const LINKS = 2_000;
const STATIC = { type: 'static' };

/** What is removed, and what leads to it or to what it contains: from some resources, by a kind. */
interface Linked {
  path: string;
  to: string;
  from: string;
  kind: string;
  /** Copies of either, each of which is linked to each. */
  copies: { from: number; to: number };
}

const target = ({ make, project }: Broker): Promise<string> =>
  make('targets', {
    type: 'tcp',
    scope_id: project,
    name: 'first',
    attributes: { default_port: 22 },
  });

async function credential({ make, project }: Broker): Promise<[store: string, id: string]> {
  const store = await make('credential-stores', { scope_id: project, ...STATIC });
  const attributes = { username: 'u', password: 'p' };
  const of = { credential_store_id: store, type: 'username_password', attributes };
  return [store, await make('credentials', of)];
}

const CASES: [what: string, make: (broker: Broker) => Promise<Linked>][] = [
  [
    'a credential of many targets',
    async (broker) => {
      const [, to] = await credential(broker);
      const copies = { from: 5_000, to: 0 };
      const from = await target(broker);
      return { path: `credentials/${to}`, to, from, kind: 'target-brokered', copies };
    },
  ],
  [
    'a store of credentials of many targets',
    async (broker) => {
      const [store, to] = await credential(broker);
      const copies = { from: 200, to: 29 };
      const from = await target(broker);
      return { path: `credential-stores/${store}`, to, from, kind: 'target-brokered', copies };
    },
  ],
  [
    'a host set of many targets',
    async (broker) => {
      const { make, project } = broker;
      const host_catalog_id = await make('host-catalogs', { scope_id: project, ...STATIC });
      const to = await make('host-sets', { host_catalog_id, ...STATIC });
      const copies = { from: 5_000, to: 0 };
      const from = await target(broker);
      return { path: `host-sets/${to}`, to, from, kind: 'target-host-source', copies };
    },
  ],
  [
    'a scope with users in many groups elsewhere',
    async ({ make }) => {
      const scope_id = await make('scopes', { scope_id: 'global' });
      const to = await make('users', { scope_id });
      const from = await make('groups', { scope_id: 'global' });
      const copies = { from: 10, to: 520 };
      return { path: `scopes/${scope_id}`, to, from, kind: 'group-member', copies };
    },
  ],
];

eachPlace('a removal of what much leads to', (newPlace) => {
  for (const [what, make] of CASES) {
    test(`${what}: takes some at a time, and leaves none`, async (t) => {
      const sizes = new SetSizes();
      const broker = await startBroker(t, { place: await newPlace(), store: sizes.watch });
      const { store, db } = broker.client.running.app;
      const { path, to, from, kind, copies } = await make(broker);
      for (const [id, count] of [
        [from, copies.from],
        [to, copies.to],
      ] as const) {
        if (count === 0) continue;
        const changes = { id: numbered('id'), name: sql`null`, unique_key: sql`null` };
        await copyRow(store, 'resource', { of: { id }, copies: count, changes });
      }
      const like = (id: string) => sql`like ${`%${id}`}`;
      const insert = sql`insert into resource_link (from_id, kind, to_id)
        select f.id, ${kind}, t.id from resource f, resource t
        where f.id ${like(from)} and t.id ${like(to)}`;
      const all = (copies.from + 1) * (copies.to + 1);
      await store.commit([write(compiled(insert), { rows: all })]);
      const links = rowsOf('resource_link', sql`to_id ${like(to)} and kind = ${kind}`);
      assert.deepEqual(await countAll(db, { links }), { links: all });
      sizes.begin({ links });
      const removed = await broker.admin('DELETE', path);
      assert.equal(removed.status, 204, removed.text);
      assert.deepEqual(await countAll(db, { links }), { links: 0 });
      const { most, sets } = sizes.of('links');
      assert.ok(most <= LINKS && sets >= 3, `${most} in one of ${sets}`);
    });
  }
});

// However many things a group, a role or host sets lead to, no write set of their removal takes many links away, and
// whoever is permitted by one of these links may do it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { eachPlace } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import { countAll, rowsOf, SetSizes } from '../support/set-sizes.ts';

const LINKS = 2_000;
const COUNT = 2 * LINKS + 7;

/** What leads to something that is copied, and what is removed with it. */
interface Linked {
  from_ids: readonly string[];
  to_id: string;
  path: string;
}

async function must(broker: Broker, path: string, body: object): Promise<void> {
  const reply = await broker.admin('POST', path, body);
  assert.equal(reply.status, 200, reply.text);
}

async function sets(broker: Broker, count: number): Promise<Omit<Linked, 'path'> & { in: string }> {
  const { make, project: scope_id } = broker;
  const host_catalog_id = await make('host-catalogs', { scope_id, type: 'static' });
  const attributes = { address: '10.1.1.1' };
  const to_id = await make('hosts', { host_catalog_id, type: 'static', attributes });
  const from_ids: string[] = [];
  for (let at = 0; at < count; at++) {
    const id = await make('host-sets', { host_catalog_id, type: 'static' });
    await must(broker, `host-sets/${id}:add-hosts`, { version: 1, host_ids: [to_id] });
    from_ids.push(id);
  }
  return { from_ids, to_id, in: host_catalog_id };
}

const KINDS: [what: string, make: (broker: Broker) => Promise<Linked>][] = [
  [
    'members of a group',
    async (broker) => {
      const to_id = await broker.make('users', { scope_id: 'global' });
      const id = await broker.make('groups', { scope_id: 'global' });
      await must(broker, `groups/${id}:add-members`, { version: 1, member_ids: [to_id] });
      return { from_ids: [id], to_id, path: `groups/${id}` };
    },
  ],
  [
    'principals of a role',
    async (broker) => {
      const to_id = await broker.make('users', { scope_id: 'global' });
      const id = await broker.make('roles', { scope_id: 'global' });
      await must(broker, `roles/${id}:add-principals`, { version: 1, principal_ids: [to_id] });
      return { from_ids: [id], to_id, path: `roles/${id}` };
    },
  ],
  [
    'hosts of a set',
    async (broker) => {
      const { from_ids, to_id } = await sets(broker, 1);
      return { from_ids, to_id, path: `host-sets/${from_ids[0]}` };
    },
  ],
  [
    'hosts of the sets of a catalog',
    async (broker) => {
      const { from_ids, to_id, in: catalog } = await sets(broker, 3);
      return { from_ids, to_id, path: `host-catalogs/${catalog}` };
    },
  ],
];

/** Has something lead to as many others as are copies of what it leads to. */
async function copyLinks({ client }: Broker, { from_ids, to_id }: Omit<Linked, 'path'>) {
  const { store } = client.running.app;
  const changes = { id: numbered('id'), name: sql`null`, unique_key: sql`null` };
  await copyRow(store, 'resource', { of: { id: to_id }, copies: COUNT, changes });
  for (const from_id of from_ids) {
    const of = { from_id, to_id };
    await copyRow(store, 'resource_link', {
      of,
      copies: COUNT,
      changes: { to_id: numbered('to_id') },
    });
  }
}

eachPlace('a removal of what leads to many', (newPlace) => {
  for (const [what, make] of KINDS) {
    test(`${what}: few are taken away by one write set, and none is left`, async (t) => {
      const sizes = new SetSizes();
      const broker = await startBroker(t, { place: await newPlace(), store: sizes.watch });
      const linked = await make(broker);
      await copyLinks(broker, linked);
      const { from_ids, path } = linked;
      const counts = { links: rowsOf('resource_link', sql`from_id in (${sql.join(from_ids)})`) };
      sizes.begin(counts);
      const removed = await broker.admin('DELETE', path);
      assert.equal(removed.status, 204, removed.text);
      const { db } = broker.client.running.app;
      assert.deepEqual(await countAll(db, counts), { links: 0 });
      const { most } = sizes.of('links');
      // Hosts go in pages, and their links with them: of each set one to each host of the page.
      assert.ok(most <= LINKS, `${most} in one`);
    });
  }

  test('who is permitted by the role itself removes it, whether a user or a group is its principal', async (t) => {
    const broker = await startBroker(t, { place: await newPlace() });
    for (const by of ['user', 'group'] as const) {
      const { call, user_id, role_id } = await broker.person(['ids=*;type=role;actions=*']);
      const to_id = await broker.make('users', { scope_id: 'global' });
      let principal_ids = [user_id, to_id];
      if (by === 'group') {
        const id = await broker.make('groups', { scope_id: 'global' });
        await must(broker, `groups/${id}:add-members`, { version: 1, member_ids: [user_id] });
        principal_ids = [id, to_id];
      }
      await must(broker, `roles/${role_id}:set-principals`, { version: 4, principal_ids });
      await copyLinks(broker, { from_ids: [role_id], to_id });
      const removed = await call('DELETE', `roles/${role_id}`);
      assert.equal(removed.status, 204, removed.text);
    }
  });
});

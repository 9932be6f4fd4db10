// What each holds until it is made is made for few at once, however many ask for it in the same moment.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { insertLinks, type LinkKind } from '../../src/broker/resource/links/store.ts';
import { FairTurns } from '../../src/core/fairness/fair-turns.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { countPlaces } from '../support/places.ts';
import { startBroker } from '../support/seeded-broker.ts';

const broker = await startBroker({ after });
const { client, admin, make } = broker;
const { store } = client.running.app;

test('what policies come to is put together for few at once', async (t) => {
  const places = countPlaces(t);
  assert.equal((await client.call('GET', 'sys/internal/ui/resultant-acl')).status, 200);
  assert.equal(places(), 1);
});

test('which mounts somebody sees is found out for few at once, where there are many', async (t) => {
  const policy = 'path "+/x" { capabilities = ["read"] }';
  await client.call('POST', 'sys/policies/acl/some', { policy });
  const made = await client.call('POST', 'auth/token/create', { policies: ['some'] });
  const token = made.textAt('auth.client_token');
  const seen = async (): Promise<number> => {
    const reply = await client.call('GET', 'sys/internal/ui/mounts', undefined, { token });
    assert.equal(reply.status, 200);
    return Object.keys(JSON.parse(reply.text).data.secret).length;
  };
  const few = await seen();
  await client.call('POST', 'sys/mounts/m', { type: 'pki' });
  const changes = { id: numbered('id'), path: numbered('path'), accessor: numbered('accessor') };
  await copyRow(store, 'mount', { of: { path: 'm/' }, copies: 600, changes });
  await client.call('POST', 'sys/mounts/last', { type: 'pki' });
  const places = countPlaces(t);
  assert.equal(await seen(), few + 602);
  assert.equal(places(), 1);
});

test('all workers are listed in one turn, however many pages that takes', async (t) => {
  const id = await make('workers:create:controller-led', { scope_id: 'global', name: 'w' });
  const changes = { id: numbered('id'), name: numbered('name') };
  await copyRow(store, 'resource', { of: { id }, copies: 1_500, changes });
  const { take } = FairTurns.prototype;
  let turns = 0;
  t.mock.method(FairTurns.prototype, 'take', function <
    Result,
  >(this: FairTurns, asker: Parameters<typeof take>[0], work: () => Promise<Result>): Promise<Result> {
    // Only lists are taken in turn by whether somebody is known.
    if (asker.rank !== undefined) turns += 1;
    return take.call(this, asker, work) as Promise<Result>;
  });
  const reply = await admin('GET', 'workers?scope_id=global');
  assert.equal(reply.status, 200, reply.text.slice(0, 300));
  assert.equal(JSON.parse(reply.text).items.length, 1_502);
  assert.equal(turns, 1);
});

/** What is shown with a thing, and how many of it are there at once without waiting. */
const PAGE = 1_000;
const SHOWN: [plural: string, kind: LinkKind, field: string, make: () => Promise<Shown>][] = [
  ['groups', 'group-member', 'member_ids', () => withUser('groups')],
  ['roles', 'role-principal', 'principal_ids', () => withUser('roles')],
  ['host-sets', 'host-set-host', 'host_ids', withHost],
];

interface Shown {
  from_id: string;
  linked: string;
}

async function withUser(plural: string): Promise<Shown> {
  const scope_id = 'global';
  return {
    from_id: await make(plural, { scope_id }),
    linked: await make('users', { scope_id, name: `of ${plural}` }),
  };
}

async function withHost(): Promise<Shown> {
  const type = 'static';
  const host_catalog_id = await make('host-catalogs', { scope_id: broker.project, type });
  const attributes = { address: '10.1.1.1' };
  return {
    from_id: await make('host-sets', { host_catalog_id, type }),
    linked: await make('hosts', { host_catalog_id, type, name: 'h', attributes }),
  };
}

for (const [plural, kind, field, makeShown] of SHOWN) {
  test(`to few at once is shown one of the ${plural} with more than a page of ${field}`, async (t) => {
    const { from_id, linked } = await makeShown();
    const changes = { id: sql`${sql.ref('id')} || (1000000 + n.i)`, name: numbered('name') };
    await copyRow(store, 'resource', { of: { id: linked }, copies: 2 * PAGE, changes });
    const ids = Array.from({ length: 2 * PAGE }, (_, at) => `${linked}${1_000_001 + at}`);
    const link = (to_ids: readonly string[]) =>
      store.commit(insertLinks({ from_id, kind, to_ids }));
    const places = countPlaces(t);
    const requireShown = async (count: number, waits: number): Promise<void> => {
      // Whatever else the change has others read anew is read.
      await admin('GET', `${plural}?scope_id=global`);
      const before = places();
      const reply = await admin('GET', `${plural}/${from_id}`);
      assert.equal(reply.status, 200, reply.text.slice(0, 300));
      assert.deepEqual(JSON.parse(reply.text)[field], ids.slice(0, count));
      assert.equal(places() - before, waits, `of ${count}`);
    };
    await link(ids.slice(0, PAGE));
    await requireShown(PAGE, 0);
    await link(ids.slice(PAGE, PAGE + 1));
    await requireShown(PAGE + 1, 1);
    await link(ids.slice(PAGE + 1));
    await requireShown(2 * PAGE, 1);
  });
}

// In how many identity groups somebody is, and how many are in one, others decide: of thousands few are held at once.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { replaceMembers } from '../../src/access/identity/memberships.store.ts';
import { bumpPermissionVersion } from '../../src/store/permission-version.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { countPlaces } from '../support/places.ts';
import { startTestServer } from '../support/server.ts';

const { running, call } = await startTestServer(
  { after },
  { on_one: 'what the program does is counted' },
);
const { store } = running.app;

/** As many groups, or members, are there at once without waiting. */
const PAGE = 1_000;
const MANY = 1_100;

const make = async (kind: 'entity' | 'group', body: object): Promise<string> =>
  (await call('POST', `identity/${kind}`, body)).textAt('data.id');

let groups: string[] = [];
let entities: string[] = [];

/** Some of a kind, in the order of their ids. */
async function makeMany(kind: 'entity' | 'group'): Promise<string[]> {
  const id = await make(kind, { name: `${kind} ` });
  const changes = { id: numbered('id'), name: numbered('name'), name_key: numbered('name_key') };
  await copyRow(store, `identity_${kind}`, { of: { id }, copies: MANY - 1, changes });
  const rows = await store.db.selectFrom(`identity_${kind}`).select('id').orderBy('id').execute();
  return rows.map((row) => row.id).filter((one) => one.endsWith(id));
}

before(async () => {
  groups = await makeMany('group');
  entities = await makeMany('entity');
});

/** Makes something a member of some groups, and of what else of its kind is in them nothing. */
async function join(
  kind: 'entity' | 'group',
  member_id: string,
  ids: readonly string[],
): Promise<void> {
  const writes = ids.flatMap((id) => replaceMembers(id, kind, [member_id]));
  await store.commit([...writes, ...bumpPermissionVersion()]);
}

const read = async (path: string): Promise<Record<string, string[]>> => {
  const reply = await call('GET', path);
  assert.equal(reply.status, 200, reply.text.slice(0, 300));
  return JSON.parse(reply.text).data;
};

test('of an entity in more than a page of groups, those above counted, few at once are shown', async (t) => {
  const id = await make('entity', { name: 'ann' });
  const top = await make('group', { name: 'top' });
  await join('entity', id, groups.slice(0, PAGE - 1));
  const places = countPlaces(t);
  const requireShown = async (direct: number, above: string[], waits: number): Promise<void> => {
    const before = places();
    const shown = await read(`identity/entity/id/${id}`);
    assert.deepEqual(shown.direct_group_ids, groups.slice(0, direct));
    assert.deepEqual(shown.inherited_group_ids, above);
    assert.equal(places() - before, waits, `of ${direct} and ${above.length}`);
  };
  await requireShown(PAGE - 1, [], 0);
  await join('group', groups[0] ?? '', [top]);
  await requireShown(PAGE - 1, [top], 0);
  await join('entity', id, groups.slice(PAGE - 1, PAGE));
  await requireShown(PAGE, [top], 1);
  await join('entity', id, groups.slice(PAGE));
  await requireShown(MANY, [top], 1);
});

test('of a group with more than a page of members few at once are shown', async (t) => {
  const id = await make('group', { name: 'wide' });
  const places = countPlaces(t);
  const requireShown = async (count: number, waits: number): Promise<void> => {
    const members = entities.slice(0, count);
    await store.commit([...replaceMembers(id, 'entity', members), ...bumpPermissionVersion()]);
    const before = places();
    const shown = await read(`identity/group/id/${id}`);
    assert.deepEqual(shown.member_entity_ids, members);
    assert.equal(places() - before, waits, `of ${count}`);
  };
  await requireShown(PAGE, 0);
  await requireShown(PAGE + 1, 1);
  await requireShown(MANY, 1);
});

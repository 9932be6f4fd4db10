import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../test/support/engines.ts';
import type { KeyPage } from '../core/key-list.ts';
import { build } from './database.ts';
import { keyPages, listDistinct } from './key-page.ts';
import type { Store } from './store.ts';
import { write } from './write.ts';

const MEMBERS: [group_id: string, kind: string, member_id: string][] = [
  ['a', 'entity', 'B'],
  ['a', 'entity', 'a'],
  ['a', 'entity', 'c'],
  ['a', 'group', 'g'],
  ['b', 'entity', 'b'],
  ['c', 'entity', 'a'],
];

const membersOf = keyPages('identity_group_member', 'member_id', ['group_id', 'kind']);
const groups = keyPages('identity_group_member', 'group_id');

async function seed(store: Store): Promise<void> {
  for (const id of ['a', 'b', 'c']) {
    const group = { id, name: id, name_key: id, version: 1, created_at_ms: 1, updated_at_ms: 1 };
    await store.commit([write(build.insertInto('identity_group').values({ ...group, body: '' }))]);
  }
  const rows = MEMBERS.map(([group_id, kind, member_id]) => ({ group_id, kind, member_id }));
  await store.commit([write(build.insertInto('identity_group_member').values(rows))]);
}

const PAGES: [page: KeyPage, keys: string[], why: string][] = [
  [{ after: '', limit: 9 }, ['B', 'a', 'c'], 'all of them in byte order, and none of another kind'],
  [{ after: '', limit: 2 }, ['B', 'a'], 'no more than are asked for'],
  [{ after: 'a', limit: 2 }, ['c'], 'those after a key, without it'],
  [{ after: 'b', limit: 2 }, ['c'], 'those after a key that is not there'],
  [{ after: 'c', limit: 2 }, [], 'none after the last'],
];

eachEngine('a page of keys', (open) => {
  for (const [page, keys, why] of PAGES) {
    test(`after "${page.after}", at most ${page.limit}: ${why}`, async () => {
      const store = await open();
      await seed(store);
      assert.deepEqual(await membersOf(store.db, { group_id: 'a', kind: 'entity', ...page }), keys);
    });
  }

  test('is of the whole table where nothing says within what', async () => {
    const store = await open();
    await seed(store);
    assert.deepEqual(await groups(store.db, { after: 'a', limit: 9 }), ['b', 'c']);
  });

  test('the different keys are each listed once, however many rows have them', async () => {
    const store = await open();
    assert.deepEqual(await listDistinct(store.db, groups), []);
    await seed(store);
    assert.deepEqual(await listDistinct(store.db, groups), ['a', 'b', 'c']);
  });
});

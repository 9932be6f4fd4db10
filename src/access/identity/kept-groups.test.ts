import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { heapUsed } from '../../../test/support/heap.ts';
import type { Group } from './group.ts';
import { readGroupTree } from './operations.ts';
import { insertGroup, listGroupsById } from './store.ts';

const GROUPS = 300;

const groupOf = (at: number): Group => ({
  id: `group-${at}`,
  name: `group ${at}`,
  type: 'internal',
  version: 1,
  created_at_ms: 0,
  updated_at_ms: 0,
  metadata: { text: `${at}`.padEnd(60_000, 'm') },
  policies: Array.from({ length: 60 }, (_, name) => `p${at}-${name}-`.padEnd(1000, 'p')),
});

eachEngine('groups that are kept', (open) => {
  test('of all groups it is kept which there are, not what they are', async () => {
    const { app } = await openTestApp(await open());
    for (let at = 0; at < GROUPS; at++) await app.store.commit([insertGroup(groupOf(at))]);
    const before = heapUsed();
    const { ids } = await readGroupTree(app);
    // Together they are 34 MiB.
    const grown = heapUsed() - before;
    assert.ok(grown < 10 << 20, `${grown >> 20} MiB more`);
    assert.equal(ids.size, GROUPS);
  });

  test('groups are read in the order that is asked for, without those that are not there', async () => {
    const { app } = await openTestApp(await open());
    for (let at = 0; at < 40; at++) await app.store.commit([insertGroup(groupOf(at))]);
    const ids = Array.from({ length: 42 }, (_, at) => `group-${41 - at}`);
    const groups = await listGroupsById(app.db, ids);
    assert.deepEqual(
      groups.map(({ id }) => id),
      ids.slice(2),
    );
    assert.deepEqual(groups[0], groupOf(39));
    assert.deepEqual(await listGroupsById(app.db, []), []);
  });
});

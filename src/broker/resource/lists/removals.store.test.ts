import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { eachEngine } from '../../../../test/support/engines.ts';
import { copyRow } from '../../../../test/support/many-rows.ts';
import { listRemovedIds } from '../../../../test/support/removals.ts';
import { makeResource } from '../../../../test/support/resources.ts';
import { removeResources } from '../removals.store.ts';
import { insertResource } from '../store.ts';
import {
  deleteRemovalsBefore,
  hasRemovalsBefore,
  listRemovedIn,
  PAGE,
  readRemovedSequence,
} from './removals.store.ts';

const all = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const idOf = (at: number): string => `ttcp_${String(at).padStart(4, '0')}`;

eachEngine('removals', (open) => {
  test('are numbered in the order in which they become visible, however many at once', async () => {
    const store = await open();
    const ids = all(60).map(idOf);
    const scopes = ['p_0', 'p_1'];
    await store.commit(
      ids.map((id, at) => insertResource(makeResource(id, { scope_id: `p_${at % 2}` }))),
    );
    const named: string[] = [];
    let after = await readRemovedSequence(store.db);
    const nameNew = async (): Promise<void> => {
      const upTo = await readRemovedSequence(store.db);
      named.push(...(await listRemovedIds(store.db, 'target', { after, upTo }, scopes)));
      after = upTo;
    };
    const removals = ids.map((id) => store.commit(removeResources({ id }, 1_000)));
    for (let look = 0; look < 20; look++) {
      await nameNew();
      await Promise.race(removals.slice(look * 3));
    }
    await Promise.all(removals);
    await nameNew();
    assert.equal(named.length, ids.length, 'each is named once');
    assert.deepEqual(named.sort(), ids);
  });

  test('are those of a type and a range, in the containers that are asked for', async () => {
    const store = await open();
    const placed = (id: string, scope_id: string) => insertResource(makeResource(id, { scope_id }));
    await store.commit([
      placed('ttcp_1', 'p_1'),
      placed('ttcp_2', 'p_2'),
      placed('hcst_1', 'p_1'),
      placed('p_1', 'o_1'),
    ]);
    for (const id of ['ttcp_1', 'ttcp_2', 'hcst_1', 'p_1']) {
      await store.commit(removeResources({ ids: [id] }, 1_000));
    }
    const cases: [
      type: 'target' | 'scope',
      after: number,
      upTo: number,
      of: string[],
      ids: string[],
    ][] = [
      ['target', 0, 4, ['p_1', 'p_2'], ['ttcp_1', 'ttcp_2']],
      ['target', 0, 4, ['p_1'], ['ttcp_1']],
      ['target', 0, 4, ['p_none', 'p_2'], ['ttcp_2']],
      ['target', 0, 4, [], []],
      ['target', 0, 1, ['p_1', 'p_2'], ['ttcp_1']],
      ['target', 1, 4, ['p_1', 'p_2'], ['ttcp_2']],
      ['target', 2, 4, ['p_1', 'p_2'], []],
      ['target', 2, 2, ['p_1', 'p_2'], []],
      ['scope', 0, 4, ['global', 'o_1'], ['p_1']],
      ['scope', 4, 4, ['global', 'o_1'], []],
    ];
    for (const [type, after, upTo, within, ids] of cases) {
      const found = await listRemovedIds(store.db, type, { after, upTo }, within);
      assert.deepEqual(found, ids, `${type} from ${after} to ${upTo} in ${within}`);
    }
  });

  test('are read and forgotten a page at a time, also where one removal took more than that', async () => {
    const store = await open();
    await store.commit([insertResource(makeResource('ttcp_a'))]);
    await store.commit(removeResources({ id: 'ttcp_a' }, 1_000));
    const copies = 2 * PAGE + 1;
    const changes = { id: sql`${sql.ref('id')} || n.i`, seq: sql`${sql.ref('seq')} + n.i % 2` };
    await copyRow(store, 'resource_removed', { of: { id: 'ttcp_a' }, copies, changes });
    const range = { after: 0, upTo: 2 };
    for (const containers of [['p_1'], ['p_1', 'p_2']]) {
      const ids = new Set<string>();
      for await (const page of listRemovedIn(store.db, 'target', range, containers)) {
        assert.ok(page.length <= PAGE);
        for (const { id } of page) ids.add(id);
      }
      assert.equal(ids.size, copies + 1);
    }
    let sets = 0;
    for (; await hasRemovalsBefore(store.db, 1_001); sets++) {
      await store.commit([deleteRemovalsBefore(1_001)]);
    }
    assert.equal(sets, 3);
  });
});

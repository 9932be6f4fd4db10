import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../../test/support/engines.ts';
import { makeResource } from '../../../../test/support/resources.ts';
import type { Store } from '../../../store/store.ts';
import type { Write } from '../../../store/write.ts';
import { insertResource } from '../store.ts';
import { listChangedScopes, noteScopes, readScopeState } from './store.ts';

const ORG = 'o_0000000001';
const OTHER = 'o_0000000002';
const run = (sql: string): Write => ({ sql, parameters: [] });
const scope = (id: string) => insertResource(makeResource(id, { scope_id: '', container_id: '' }));

/** Ids of the scopes that are heard of after some writes. */
async function heardOf(store: Store, ...writes: readonly Write[]): Promise<string[] | undefined> {
  const before = await readScopeState(store.db);
  await store.commit(writes);
  const after = await readScopeState(store.db);
  return (await listChangedScopes(store.db, before.change, after.change))?.sort();
}

eachEngine('a scope that changes', (open) => {
  test('is heard of whatever writes it, also beside others of which it was said', async () => {
    const store = await open();
    const cases: [writes: Write[], heard: string[]][] = [
      [
        [scope(ORG), scope(OTHER)],
        [ORG, OTHER],
      ],
      [[run(`update resource set name = 'a' where id = '${ORG}'`)], [ORG]],
      [[...noteScopes({ ids: [OTHER] })], [OTHER]],
      [
        [
          run(`update resource set name = 'b' where id = '${ORG}'`),
          ...noteScopes({ ids: [OTHER] }),
        ],
        [ORG, OTHER],
      ],
      [
        [
          ...noteScopes({ ids: [OTHER] }),
          run(`update resource set name = 'c' where id = '${ORG}'`),
        ],
        [ORG, OTHER],
      ],
      [[insertResource(makeResource('u_0000000001', { container_id: ORG, scope_id: ORG }))], []],
      [[run(`delete from resource where id = '${ORG}'`)], [ORG]],
    ];
    for (const [writes, heard] of cases) {
      assert.deepEqual(await heardOf(store, ...writes), heard, writes.at(-1)?.sql ?? '');
    }
  });
});

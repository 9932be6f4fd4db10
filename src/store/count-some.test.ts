import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../test/support/engines.ts';
import { countSome } from './count-some.ts';
import { build } from './database.ts';
import { write } from './write.ts';

const countOf = countSome('audit_sink', ['node']);

eachEngine('rows that are counted', (open) => {
  test('are those of the values asked for, up to so many', async () => {
    const store = await open();
    const rows = ['a', 'b', 'c'].map((name) => ({ name, node: 'n', seq: 0 }));
    const others = [...rows, { name: 'd', node: 'other', seq: 0 }];
    await store.commit(others.map((row) => write(build.insertInto('audit_sink').values(row))));
    for (const [most, counted] of [
      [2, 2],
      [3, 3],
      [4, 3],
    ] as const) {
      assert.equal(await countOf(store.db, { node: 'n' }, most), counted);
    }
    assert.equal(await countOf(store.db, { node: 'none' }, 4), 0);
  });
});

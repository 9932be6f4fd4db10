// What is read a page at a time is found by an index, in the order in which it is wanted: a page
// costs the same wherever it lies and however many there are.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { createDb, type Db } from '../src/store/database.ts';
import { withoutLocks } from '../src/store/holding.ts';
import { numberParameters } from '../src/store/sqlite/reader.ts';
import type { Value } from '../src/store/write.ts';
import { listMountRows, MOUNT_TABLES } from '../src/system/mounts/purge.store.ts';
import { sqlitePlace } from './support/engines.ts';
import { ROW, readsOf, writesOf } from './support/plan-cases.ts';

const place = sqlitePlace();
const store = await place.open();
assert.equal(store.place.engine, 'sqlite');
const file = store.place.engine === 'sqlite' ? store.place.file : '';
const database = new DatabaseSync(file, { readOnly: true });
after(async () => {
  database.close();
  await place.remove();
});

/** A database that answers nothing of its own, and notes how SQLite would find it. */
function noting(): { db: Db; plans: string[]; statements: string[] } {
  const plans: string[] = [];
  const statements: string[] = [];
  const all = async (text: string, parameters: readonly Value[]): Promise<unknown[]> => {
    const explain = database.prepare(`explain query plan ${numberParameters(text)}`);
    plans.push(...explain.all(...parameters).map(({ detail }) => String(detail)));
    return statements.push(text) > 2 ? [] : [ROW];
  };
  const first = async (text: string, parameters: readonly Value[]): Promise<unknown> =>
    (await all(text, parameters))[0];
  const some = async (text: string, parameters: readonly Value[]) => {
    return { rows: await all(text, parameters), bytes: 0, more: false };
  };
  return { db: createDb({ all, first, some, close: async () => {} }), plans, statements };
}

/** As many as one write set is about. */
const IDS = Array.from({ length: 500 }, (_, at) => `id-${at}`);

for (const [name, index, read] of readsOf(IDS)) {
  test(`an index finds a page of ${name}, in its order`, async () => {
    const { db, plans, statements } = noting();
    await read(db);
    assert.match(plans.join('\n'), index);
    for (const plan of plans) assert.doesNotMatch(plan, /^SCAN (?!\d)|FOR ORDER BY/);
    for (const statement of statements) {
      // Of two bounds from below SQLite begins at the first, and steps over all in between.
      const bounds = [...statement.matchAll(/(?:where|and) ("\w+") >=? /g)].map(([, one]) => one);
      assert.equal(new Set(bounds).size, bounds.length, statement);
    }
  });
}

// Those that are paged by their mount have one row of it.
for (const place of MOUNT_TABLES.filter(([, { keys }]) => keys[0] !== 'mount_id')) {
  test(`a page of what a mount left in ${place[0]} sorts no more than the page`, async () => {
    const { db, plans } = noting();
    await listMountRows(db, 'm', place, 10);
    assert.match(plans.join('\n'), /SEARCH .*mount_id=/);
    const page = plans.indexOf('SCAN page');
    const within = page < 0 ? plans : plans.slice(0, page);
    for (const step of within) assert.doesNotMatch(step, /TEMP B-TREE/);
  });
}

/** Of these there are few. */
const FEW = /USING COVERING INDEX resource_type_updated \(type=\?\)$/;

for (const [what, index, effects] of await writesOf(IDS)) {
  test(`indexes find ${what}, among all that are kept`, () => {
    const plans: string[] = [];
    for (const effect of effects) {
      assert.ok('sql' in effect);
      const { sql, parameters } = effect;
      const explain = database.prepare(`explain query plan ${numberParameters(withoutLocks(sql))}`);
      // The ways to log in, which are asked for to tell users from others, are few.
      const steps = explain.all(...parameters).map(({ detail }) => String(detail));
      const ways = parameters.filter((one) => one === 'auth-method').length;
      const wide = steps.filter((step) => /\(type=\?\)$/.test(step));
      assert.ok(wide.length <= ways && wide.every((step) => FEW.test(step)), `${sql}\n${wide}`);
      for (const step of steps)
        assert.doesNotMatch(
          step,
          /^SCAN (?!\d|CONSTANT ROW|taken|line|some|sizes|sums|json_each)/,
          sql,
        );
      for (const step of steps)
        assert.doesNotMatch(step, /\((status|mount_id|owner_id)=\?( AND role=\?)?\)$/, sql);
      plans.push(...steps);
    }
    assert.match(plans.join('\n'), index);
  });
}

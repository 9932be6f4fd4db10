import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectTo, eachEngine, eachPlace } from '../../test/support/engines.ts';
import { isConflict } from '../core/failure.ts';
import { build } from './database.ts';
import { preparedHold } from './held.ts';
import { isDeletion, isHold, withoutLocks } from './holding.ts';
import { type Write, write } from './write.ts';
import { WrittenTables } from './written-tables.ts';

const hold = preparedHold<{ name: string }>(
  (from, { name }) =>
    from.selectFrom('token_role').select('name').where('name', '=', name).forShare(),
  { rows: 1, conflict: 'the role is gone' },
);

const insert = (name: string): Write =>
  write(build.insertInto('token_role').values({ name, body: '{}' }), { rows: 1 });
const remove = (name: string): Write =>
  write(build.deleteFrom('token_role').where('name', '=', name), { rows: 1 });

eachEngine('a write set that holds a row', (open) => {
  test('is written while the row is there, and refused whole once it is not', async () => {
    const store = await open();
    await store.commit([insert('ground')]);
    await store.commit([hold({ name: 'ground' }), insert('made')]);
    await store.commit([remove('ground')]);
    await assert.rejects(store.commit([hold({ name: 'ground' }), insert('late')]), isConflict);
    const names = await store.db.selectFrom('token_role').select('name').orderBy('name').execute();
    assert.deepEqual(names, [{ name: 'made' }]);
  });
});

test('a hold does not count as a write to the table that it holds', () => {
  const tables = new WrittenTables(['token_role']);
  const written = (effect: Write) => [...tables.of([[effect]])];
  assert.deepEqual(written(hold({ name: 'ground' })), []);
  assert.deepEqual(written(remove('ground')), ['token_role']);
  assert.deepEqual(written(insert('ground')), ['token_role']);
});

eachPlace('a row that another node is about to remove', (newPlace, engine) => {
  if (engine !== 'postgres') return;

  for (const [end, refused] of [
    ['commit', true],
    ['rollback', false],
  ] as const) {
    test(`is waited for, and the set is ${refused ? 'refused' : 'written'} after its ${end}`, async (t) => {
      const place = await newPlace();
      const store = await place.open();
      await store.commit([insert('ground')]);
      const other = await connectTo(place);
      t.after(() => other.end());
      await other.query('begin');
      await other.query("delete from token_role where name = 'ground'");
      const made = store.commit([hold({ name: 'ground' }), insert('late')]);
      const outcome = made.then(
        () => false,
        (error: unknown) => isConflict(error),
      );
      await other.query(end);
      assert.equal(await outcome, refused);
    });
  }
});

const texts: [sql: string, held: boolean, without: string][] = [
  [
    'select "id" from "a" where "id" = $1 for key share',
    true,
    'select "id" from "a" where "id" = $1',
  ],
  [
    'select "id" from "a", "b" for key share of "a" for share of "b", "c"',
    true,
    'select "id" from "a", "b"',
  ],
  ['select "id" from "a" for update', true, 'select "id" from "a"'],
  ['select "id" from "a" for no key update', true, 'select "id" from "a"'],
  ['select "id" from "a"', true, 'select "id" from "a"'],
  ['update "a" set "b" = $1', false, 'update "a" set "b" = $1'],
  [
    'insert into "a" select "id" from "b" for share',
    false,
    'insert into "a" select "id" from "b" for share',
  ],
];
for (const [sql, held, without] of texts) {
  test(`${sql}: ${held ? 'holds' : 'changes'} rows`, () => {
    assert.equal(isHold(sql), held);
    assert.equal(withoutLocks(sql), without);
  });
}

const deletions: [sql: string, deletes: boolean][] = [
  ['delete from "a" where "id" = $1', true],
  ['with recursive "t"("id") as (select "id" from "a") delete from "a" where "id" in ("t")', true],
  ['with "t" as (select 1) insert into "a" select * from "t"', false],
  ['insert into "a" ("delete from") values ($1)', false],
  ['update "b" set "c" = $1', false],
];
for (const [sql, deletes] of deletions) {
  test(`${sql}: ${deletes ? 'deletes' : 'does not delete'} rows`, () => {
    assert.equal(isDeletion(sql), deletes);
  });
}

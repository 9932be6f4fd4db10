import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../../test/support/engines.ts';
import { columnTypes } from './columns.ts';
import { build } from './database.ts';
import { MIGRATIONS, planMigrations } from './migrations.ts';
import { write } from './write.ts';

test('steps are numbered upwards, none twice', () => {
  const numbers = MIGRATIONS.map(({ number }) => number);
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  );
});

test('a database gets the steps that it has not had', () => {
  assert.deepEqual(planMigrations(0), MIGRATIONS);
  assert.deepEqual(planMigrations(1), MIGRATIONS.slice(1));
  assert.deepEqual(planMigrations(MIGRATIONS.at(-1)?.number ?? 0), []);
});

test('a database that has had the highest number is up to date, wherever that stands', () => {
  const step = (number: number) => ({ number, name: `step-${number}`, up: () => [] });
  const known = [step(1), step(3), step(2)];
  assert.deepEqual(planMigrations(3, known), []);
  assert.throws(() => planMigrations(4, known), { message: /knows schemas up to 3/ });
});

test('every text column of PostgreSQL is ordered by bytes', () => {
  const statements = MIGRATIONS.flatMap((migration) => migration.up(columnTypes('postgres')));
  for (const statement of statements) {
    assert.doesNotMatch(statement, /\btext\b(?! collate "C")/i, statement);
  }
});

eachPlace('a database', (newPlace) => {
  test('keeps what it holds when it is opened again', async () => {
    const place = await newPlace();
    const first = await place.open();
    await first.commit([
      write(build.insertInto('audit_sink').values({ name: 'file', node: 'a', seq: 4 })),
    ]);
    await first.close();
    const second = await place.open();
    const rows = await second.db.selectFrom('audit_sink').selectAll().execute();
    assert.deepEqual(rows, [{ name: 'file', node: 'a', seq: 4 }]);
    await second.close();
  });

  test('of a later program is refused in one line, and left as it is', async () => {
    const place = await newPlace();
    const store = await place.open();
    await store.commit([
      { sql: "insert into schema_migration values (999, 'later', 0)", parameters: [] },
    ]);
    await store.close();
    await assert.rejects(place.open(), (error: Error) => {
      assert.match(error.message, /^the database is at schema 999 and this program knows[^\n]*$/);
      return true;
    });
  });
});

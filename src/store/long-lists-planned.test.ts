// PostgreSQL keeps a plan for what is prepared by name, and that plan knows no values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { eachEngine } from '../../test/support/engines.ts';
import { build, compiled } from './database.ts';
import type { Store } from './store.ts';
import { write } from './write.ts';

/** Statements that the server keeps, with how many parameters each has. */
const kept = sql<{ text: string; parameters: number }>`(
  select statement as text, cardinality(parameter_types) as parameters from pg_prepared_statements)`;

const idsOf = (count: number): string[] => Array.from({ length: count }, (_, at) => `id-${at}`);

/** A row with what the connection that writes has prepared. */
async function keptByWriter(store: Store, count: number): Promise<number> {
  const text = '%delete from "resource_link"%';
  await store.commit([
    write(
      compiled(sql`insert into resource_sequence (name, value)
        select ${`kept-${count}`}, count(*) from ${kept} as kept
        where text like ${text} and parameters = ${count}`),
    ),
  ]);
  const row = store.db.selectFrom('resource_sequence').select('value');
  return (await row.where('name', '=', `kept-${count}`).executeTakeFirstOrThrow()).value;
}

eachEngine('a statement', (open, engine) => {
  if (engine !== 'postgres') return;

  const COUNTS: [parameters: number, isKept: boolean][] = [
    [1, true],
    [160, true],
    [161, false],
    [500, false],
  ];
  for (const [count, isKept] of COUNTS) {
    test(`that writes is ${isKept ? 'prepared by name' : 'planned for its values'} with ${count} parameters`, async () => {
      const store = await open();
      const links = build.deleteFrom('resource_link').where('to_id', 'in', idsOf(count));
      for (let time = 0; time < 2; time++) await store.commit([write(links)]);
      assert.equal(await keptByWriter(store, count), isKept ? 1 : 0);
    });

    test(`that reads is ${isKept ? 'prepared by name' : 'planned for its values'} with ${count} parameters`, async () => {
      const store = await open();
      const links = store.db.selectFrom('resource_link').select('to_id');
      for (let time = 0; time < 2; time++) {
        await links.where('to_id', 'in', idsOf(count)).execute();
      }
      const rows = await store.db.selectFrom(kept.as('kept')).selectAll().execute();
      const found = rows.filter(({ parameters }) => Number(parameters) === count);
      assert.equal(found.length, isKept ? 1 : 0);
    });
  }
});

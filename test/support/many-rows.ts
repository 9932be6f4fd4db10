import { type RawBuilder, sql } from 'kysely';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { build } from '../../src/store/database.ts';
import type { Store } from '../../src/store/store.ts';
import type { Tables } from '../../src/store/tables.ts';
import { write } from '../../src/store/write.ts';

/** What a copy has in a column in place of what is copied: `n.i` is its number, from 1. */
export type Changes = Readonly<Record<string, RawBuilder<unknown>>>;

/** A number of seven digits in front of what is copied. */
export const numbered = (column: string): RawBuilder<unknown> =>
  sql`(1000000 + n.i) || '-' || ${sql.ref(column)}`;

/**
 * Stores copies of a row by one statement: what it takes a hundred thousand requests to make.
 *
 * @param of columns of the row that is copied
 */
export async function copyRow(
  store: Store,
  table: keyof Tables,
  { of, changes, copies }: { of: Record<string, string>; changes: Changes; copies: number },
): Promise<void> {
  const row = await store.db
    .selectFrom(table)
    .selectAll()
    .where((found) =>
      found.and(Object.entries(of).map(([column, is]) => sql<boolean>`${sql.ref(column)} = ${is}`)),
    )
    .executeTakeFirstOrThrow();
  const columns = Object.keys(row);
  const values = columns.map((column) => changes[column] ?? sql.ref(column));
  const is = Object.entries(of).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  const insert = sql`insert into ${sql.table(table)} (${sql.join(columns.map((one) => sql.ref(one)))})
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(copies)})
    select ${sql.join(values)} from ${sql.table(table)}, n where ${sql.join(is, sql` and `)}`;
  const rows = write({ compile: () => insert.compile(build) }, { rows: copies });
  await store.commit([rows, bumpConfigVersion()]);
}

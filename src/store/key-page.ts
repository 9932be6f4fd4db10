import { sql } from 'kysely';
import type { KeyPage } from '../core/key-list.ts';
import { compiled, type Db, prepared } from './database.ts';
import type { Tables } from './tables.ts';
import type { Value } from './write.ts';

/** Columns of a table that always have a text. */
type TextColumn<Name extends keyof Tables> = {
  [Column in keyof Tables[Name] & string]: Tables[Name][Column] extends string ? Column : never;
}[keyof Tables[Name] & string];

type Question = Record<string, Value> & { after: string; limit: number };

/**
 * Makes the question for a page of the keys in a column, in byte order, of the rows that agree in some other
 * columns. An index over those and then the key finds a page wherever it lies.
 *
 *     const listNames = keyPages('userpass_user', 'name', ['mount_id']);
 *     const names = await listNames(db, { mount_id, after, limit });
 */
export function keyPages<Name extends keyof Tables, Within extends TextColumn<Name> = never>(
  table: Name,
  key: Exclude<TextColumn<Name>, Within>,
  within: readonly Within[] = [],
): (db: Db, page: KeyPage & Readonly<Record<Within, string>>) => Promise<string[]> {
  const question = prepared((_from, p: Question) => {
    const same = within.map((column) => sql`${sql.ref(column)} = ${p[column]} and `);
    return compiled(sql<{ key: string }>`select ${sql.ref(key)} as "key" from ${sql.table(table)}
      where ${sql.join(same, sql``)}${sql.ref(key)} > ${p.after}
      order by ${sql.ref(key)} limit ${p.limit}`);
  });
  return async (db, page) => (await question.all(db, { ...page })).map((row) => row.key);
}

/** The different keys of a column, by as many reads of its index as there are: each may be in millions of rows. */
export async function listDistinct(
  db: Db,
  pageOf: (db: Db, page: KeyPage) => Promise<string[]>,
): Promise<string[]> {
  const keys: string[] = [];
  for (let after = ''; ; ) {
    const [next] = await pageOf(db, { after, limit: 1 });
    if (next === undefined) return keys;
    keys.push(next);
    after = next;
  }
}

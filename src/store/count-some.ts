import { sql } from 'kysely';
import { compiled, type Db, prepared } from './database.ts';
import type { Tables } from './tables.ts';

/**
 * Makes the question how many rows have some values, of which no more are looked at than are of interest.
 *
 *     const countMembers = countSome('identity_group_member', ['group_id']);
 *     const count = await countMembers(db, { group_id }, 1_000);
 */
export function countSome<Name extends keyof Tables, Key extends keyof Tables[Name] & string>(
  table: Name,
  key: readonly Key[],
): (db: Db, row: Readonly<Record<Key, string>>, most: number) => Promise<number> {
  const question = prepared((_from, p: Record<string, string | number>) => {
    const same = key.map((column) => sql`${sql.ref(column)} = ${p[column]}`);
    return compiled(sql<{ count: number | bigint }>`select count(*) as count from (
      select 1 from ${sql.table(table)} where ${sql.join(same, sql` and `)} limit ${p.most}
    ) as counted`);
  });
  return async (db, row, most) => Number((await question.first(db, { ...row, most }))?.count ?? 0);
}

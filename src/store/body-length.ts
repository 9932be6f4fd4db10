import { sql } from 'kysely';
import { compiled, type Db, prepared } from './database.ts';
import type { Tables } from './tables.ts';

/** Tables of which a row has one text of any length beside its keys. */
type WithBody = {
  [Name in keyof Tables]: 'body' extends keyof Tables[Name] ? Name : never;
}[keyof Tables];

/**
 * Makes the question how many bytes a row's body has, which is not read for that: none where there is no such row.
 *
 *     const measureUser = bodyLength('userpass_user', ['mount_id', 'name']);
 *     const bytes = await measureUser(db, { mount_id, name });
 */
export function bodyLength<Name extends WithBody, Key extends keyof Tables[Name] & string>(
  table: Name,
  key: readonly Key[],
): (db: Db, row: Readonly<Record<Key, string>>) => Promise<number> {
  const question = prepared((_from, p: Record<string, string>) =>
    compiled(sql<{ bytes: number | bigint }>`select octet_length(body) as bytes
      from ${sql.table(table)} where ${whereKey(key, p)}`),
  );
  return async (db, row) => Number((await question.first(db, { ...row }))?.bytes ?? 0);
}

/** That a row has those values of its key. */
export function whereKey(key: readonly string[], row: Readonly<Record<string, string>>) {
  const same = key.map((column) => sql`${sql.ref(column)} = ${row[column]}`);
  return sql.join(same, sql` and `);
}

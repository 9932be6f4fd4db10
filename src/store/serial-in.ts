import { type RawBuilder, sql } from 'kysely';

/**
 * Rows of a mount by their serial numbers, each looked up by the key. Asked for `serial in (…)` beside anything else,
 * SQLite would rather walk all of a mount.
 *
 * @param serials at least one
 */
export function serialIn(mount_id: string, serials: readonly string[]): RawBuilder<boolean> {
  const keys = serials.map((serial) => sql`(${mount_id}, ${serial})`);
  return sql<boolean>`(mount_id, serial) in (values ${sql.join(keys)})`;
}

/** The end of a certificate, as no index has it: a list of keys is gone by. */
export const unindexedEnd: RawBuilder<number> = sql<number>`+not_after`;

import { type RawBuilder, sql } from 'kysely';

/**
 * A column of text that is only compared with, where rows are found by some hundred ids. Asked for the column
 * as it stands, SQLite takes an index of it for the shorter way, and goes through all rows that have the value.
 */
export function aside(column: string): RawBuilder<string> {
  return sql<string>`coalesce(${sql.ref(column)}, ${sql.lit('')})`;
}

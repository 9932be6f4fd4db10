import { sql } from 'kysely';
import { build } from './database.ts';
import type { Tables } from './tables.ts';
import { type Write, write } from './write.ts';

const COUNT = sql<number>`count(*)`;

/**
 * Refuses its write set when a table has too many rows by it. It comes after `bumpConfigVersion` (docs/adr/0017).
 *
 * @param conflict what is said then
 */
export function holdRoom(table: keyof Tables, most: number, conflict: string): Write {
  const all = build.selectFrom(table).select(COUNT.as('count'));
  return write(all.having(COUNT, '<=', most), { rows: 1, conflict });
}

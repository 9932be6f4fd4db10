import { createDb, type Db } from './database.ts';

/** Where a database is, as a value that another thread of this process can be given. */
export type DatabasePlace =
  | { engine: 'sqlite'; file: string }
  | { engine: 'postgres'; url: string };

interface Reading {
  db: Db;
  close(): Promise<void>;
}

/**
 * A second way into a database that is open already, for a thread that only reads.
 *
 * @throws Error when it cannot be opened
 */
export async function openReading(place: DatabasePlace): Promise<Reading> {
  // Only what is needed is loaded: a start takes half as long without the other engine.
  if (place.engine === 'sqlite') {
    const { SqliteReader } = await import('./sqlite/reader.ts');
    const reader = new SqliteReader(place.file);
    return { db: createDb(reader), close: () => reader.close() };
  }
  const { PostgresReader } = await import('./postgres/reader.ts');
  const quiet = { info: () => {}, warn: () => {}, error: () => {} };
  const reader = new PostgresReader(place.url, 1, quiet);
  return { db: createDb(reader), close: () => reader.close() };
}

import { CompiledQuery, type Kysely } from 'kysely';
import { createDb, type Reader } from '../../src/store/database.ts';
import type { Store } from '../../src/store/store.ts';
import type { Tables } from '../../src/store/tables.ts';

type Read = () => Promise<unknown[]>;

/** The same database, with something around each question to it. */
export function readingBy(
  db: Store['db'],
  around: (text: string, read: Read) => Promise<unknown[]>,
): Store['db'] {
  // The read-only type takes no compiled query.
  const whole: Kysely<Tables> = db as never;
  const all: Reader['all'] = (text, parameters) =>
    around(text, async () => {
      const { rows } = await whole.executeQuery(CompiledQuery.raw(text, [...parameters]));
      return rows;
    });
  return createDb({
    all,
    first: async (text, parameters) => (await all(text, parameters))[0],
    some: async (text, parameters) => ({
      rows: await all(text, parameters),
      bytes: 0,
      more: false,
    }),
    close: async () => {},
  });
}

import { CompiledQuery, type Kysely } from 'kysely';
import { createDb, type Reader } from '../../src/store/database.ts';
import type { Store } from '../../src/store/store.ts';
import type { Tables } from '../../src/store/tables.ts';

/** Stands between a server and its store, and counts what is read from the database. */
export class ReadCounter {
  count = 0;

  /** Gives a server its store. */
  readonly over = (real: Store): Store => {
    // The read-only type takes no compiled query.
    const whole: Kysely<Tables> = real.db as never;
    const all: Reader['all'] = async (sql, parameters) => {
      this.count += 1;
      const query = CompiledQuery.raw(sql, [...parameters]);
      return (await whole.executeQuery(query)).rows;
    };
    const db = createDb({
      all,
      first: async (sql, parameters) => (await all(sql, parameters))[0],
      some: async (sql, parameters) => ({
        rows: await all(sql, parameters),
        bytes: 0,
        more: false,
      }),
      close: async () => {},
    });
    return { ...real, db };
  };
}

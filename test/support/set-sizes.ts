import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../src/store/database.ts';
import type { Store } from '../../src/store/store.ts';

/** What is counted: a name, and a query for how many there are. */
export type Counts = Readonly<Record<string, RawBuilder<number>>>;

/** How many of each kind each write set has taken away, from {@link SetSizes.begin} on. */
export class SetSizes {
  readonly taken: Record<string, number>[] = [];
  #counts: Counts | undefined;
  #last: Promise<unknown> = Promise.resolve();

  begin(counts: Counts): void {
    this.#counts = counts;
  }

  /** The most that one write set has taken of a kind, and how many sets have taken some of it. */
  of(kind: string): { most: number; sets: number } {
    const sizes = this.taken.map((one) => one[kind] ?? 0).filter((size) => size > 0);
    return { most: Math.max(0, ...sizes), sets: sizes.length };
  }

  /** A store whose write sets are counted, one after another: jobs write, too. */
  watch = (real: Store): Store => ({
    ...real,
    commit: async (effects) => {
      const counts = this.#counts;
      if (counts === undefined) return real.commit(effects);
      const done = this.#last.then(async () => {
        const before = await countAll(real.db, counts);
        await real.commit(effects);
        const after = await countAll(real.db, counts);
        const kinds = Object.keys(counts);
        this.taken.push(
          Object.fromEntries(kinds.map((kind) => [kind, (before[kind] ?? 0) - (after[kind] ?? 0)])),
        );
      });
      this.#last = done.catch(() => {});
      return done;
    },
  });
}

/** How many there are of each kind. */
export async function countAll(db: Db, counts: Counts): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [kind, query] of Object.entries(counts)) {
    const row = await db.selectNoFrom(query.as('n')).executeTakeFirstOrThrow();
    found[kind] = Number(row.n);
  }
  return found;
}

/** Rows of a table that fit a condition. */
export const rowsOf = (table: string, where: RawBuilder<unknown>): RawBuilder<number> =>
  sql`(select count(*) from ${sql.table(table)} where ${where})`;

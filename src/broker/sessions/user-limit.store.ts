import { sql } from 'kysely';
import { aside } from '../../store/aside.ts';
import { type Db, prepared, preparedWrite } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import type { Write } from '../../store/write.ts';
import { goesOn } from './dependents.store.ts';

interface Whose extends Record<string, string | number> {
  user_id: string;
  now: number;
}

/** How many sessions of a user go on; what has run out does not, although nobody has ended it yet. */
const countOf = (from: Pick<Db, 'selectFrom'>, { user_id, now }: Whose) =>
  from
    .selectFrom('session')
    .select((row) => row.fn.countAll<number | string>().as('count'))
    .where(goesOn)
    .where('session.user_id', '<>', sql.lit(''))
    .where('session.user_id', '=', user_id)
    .where(aside('session.user_id'), '=', user_id)
    .where('session.expires_ms', '>', now);

const count = prepared<Whose, { count: number | string }>((from, p) => countOf(from, p));

export async function countLiveSessions(db: Db, user_id: string, now: number): Promise<number> {
  return Number((await count.first(db, { user_id, now }))?.count ?? 0);
}

const holdUser = preparedHold<{ user_id: string }>(
  (from, p) =>
    from
      .selectFrom('resource')
      .select('resource.id')
      .where('resource.id', '=', p.user_id)
      .forNoKeyUpdate(),
  { rows: 1 },
);

const requireFewer = preparedWrite<Whose & { most: number }>(
  (from, p) =>
    from
      .selectFrom('resource')
      .select('resource.id')
      .where('resource.id', '=', p.user_id)
      .where((row) => row(countOf(from, p), '<', p.most)),
  { rows: 1 },
);

/**
 * Refuses one more session of a user who has as many as they may have. Two at once take turns at the
 * user's row, and the second counts what the first has made (docs/adr/0017): so it comes before
 * everything else in the write set.
 */
export function holdFewer(user_id: string, most: number, now: number): Write[] {
  return [holdUser({ user_id }), requireFewer({ user_id, now, most })];
}

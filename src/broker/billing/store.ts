import { type Db, preparedWrite } from '../../store/database.ts';
import type { Write } from '../../store/write.ts';
import { monthOf } from './months.ts';

/**
 * Counts a user as active in the month of a session. Belongs into the write set that makes the
 * session, since sessions are forgotten sooner than they are counted.
 *
 * @param now Unix milliseconds
 */
export function insertActiveUser(user_id: string, now: number): Write {
  return insert({ month: monthOf(now), user_id });
}

const insert = preparedWrite<{ month: string; user_id: string }>((into, { month, user_id }) =>
  into
    .insertInto('active_user')
    .values({ month, user_id })
    .onConflict((clash) => clash.doNothing()),
);

/** How many users were active, by month; months without one are left out. */
export async function countActiveUsers(
  db: Db,
  range: { from: string; before: string },
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('active_user')
    .select((row) => ['month', row.fn.countAll<number | string>().as('users')])
    .where('month', '>=', range.from)
    .where('month', '<', range.before)
    .groupBy('month')
    .execute();
  return new Map(rows.map((row) => [row.month, Number(row.users)]));
}

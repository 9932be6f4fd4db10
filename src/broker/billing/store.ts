import { type Db, preparedWrite } from '../../store/database.ts';
import type { Write } from '../../store/write.ts';
import { listMonths, monthOf } from './months.ts';

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

/** Users that one statement counts: others have their turn meanwhile. */
const COUNTED = 5_000;

/** How many users were active, by month; months without one are left out. */
export async function countActiveUsers(
  db: Db,
  range: { from: string; before: string },
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const month of listMonths(range)) {
    const count = await countInMonth(db, month);
    if (count > 0) counts.set(month, count);
  }
  return counts;
}

async function countInMonth(db: Db, month: string): Promise<number> {
  for (let count = 0, after = ''; ; ) {
    const last = await findNth(db, { month, after });
    if (last === undefined) return count + (await countAfter(db, { month, after }));
    count += COUNTED;
    after = last;
  }
}

/** The user that stands so far after another; undefined when there are fewer. */
async function findNth(
  db: Db,
  { month, after }: { month: string; after: string },
): Promise<string | undefined> {
  const users = db.selectFrom('active_user').select('user_id').where('month', '=', month);
  const rest = users.where('user_id', '>', after).orderBy('user_id');
  return (
    await rest
      .limit(1)
      .offset(COUNTED - 1)
      .executeTakeFirst()
  )?.user_id;
}

async function countAfter(
  db: Db,
  { month, after }: { month: string; after: string },
): Promise<number> {
  const row = await db
    .selectFrom('active_user')
    .select((row) => row.fn.countAll<number | string>().as('users'))
    .where('month', '=', month)
    .where('user_id', '>', after)
    .executeTakeFirst();
  return Number(row?.users ?? 0);
}

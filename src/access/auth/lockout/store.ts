import type { ExpressionBuilder } from 'kysely';
import { build, type Db } from '../../../store/database.ts';
import type { LoginFailureRow, Tables } from '../../../store/tables.ts';
import { type Write, write } from '../../../store/write.ts';
import type { Failures } from './lockout.ts';

export async function findFailures(db: Db, id: string): Promise<Failures | undefined> {
  return db
    .selectFrom('login_failure')
    .select(['failures', 'last_failed_at', 'unlocked'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/** What is known of the failures of a name. */
export type FailuresRow = Pick<
  LoginFailureRow,
  'id' | 'method_id' | 'name_sealed' | 'failures' | 'last_failed_at'
>;

/** Failures of all names, those that are not locked included: a page of them by their ids. */
export function listFailures(
  db: Db,
  page: { after: string; limit: number },
): Promise<FailuresRow[]> {
  return db
    .selectFrom('login_failure')
    .select(['id', 'method_id', 'name_sealed', 'failures', 'last_failed_at'])
    .where('id', '>', page.after)
    .orderBy('id')
    .limit(page.limit)
    .execute();
}

/**
 * Counts one more failure; one that follows a lock that is over, or the time after which failures are
 * forgotten, is the first again. One that began before the name was unlocked, or before it was locked, perhaps
 * on another node, changes nothing: the lock stands, and lasts no longer for it.
 *
 * @param failure.locked_since locks by failures until then are over, Unix seconds
 * @param failure.since failures before it are forgotten, Unix seconds
 * @param failure.unlocked as it was read when the check began
 */
export function addFailure(failure: {
  id: string;
  method_id: string;
  name_sealed: Uint8Array;
  now: number;
  since: number;
  locked_since: number;
  threshold: number;
  unlocked: number;
}): Write {
  const { id, method_id, name_sealed, now, unlocked } = failure;
  const isSettled = (row: ExpressionBuilder<Tables, 'login_failure'>) =>
    row.or([
      row('login_failure.unlocked', '!=', unlocked),
      row.and([
        row('login_failure.failures', '>=', failure.threshold),
        row('login_failure.last_failed_at', '>', failure.locked_since),
      ]),
    ]);
  return write(
    build
      .insertInto('login_failure')
      .values({ id, method_id, name_sealed, failures: 1, last_failed_at: now, unlocked })
      .onConflict((clash) =>
        clash.column('id').doUpdateSet((row) => ({
          last_failed_at: row
            .case()
            .when(isSettled(row))
            .then(row.ref('login_failure.last_failed_at'))
            .else(now)
            .end(),
          failures: row
            .case()
            .when(isSettled(row))
            .then(row.ref('login_failure.failures'))
            .when(
              row.or([
                row('login_failure.last_failed_at', '<=', failure.since),
                row('login_failure.failures', '>=', failure.threshold),
              ]),
            )
            .then(1)
            .else(row('login_failure.failures', '+', 1))
            .end(),
        })),
      ),
    { rows: 1 },
  );
}

/** Forgets what has failed under a name; the row stays for as long as it could count. */
export function clearFailures(id: string): Write {
  return write(build.updateTable('login_failure').set({ failures: 0 }).where('id', '=', id));
}

/** As {@link clearFailures}, for the checks too that are under way on any node. */
export function unlockName(id: string, now: number): Write {
  return write(
    build
      .updateTable('login_failure')
      .set((row) => ({ failures: 0, last_failed_at: now, unlocked: row('unlocked', '+', 1) }))
      .where('id', '=', id),
  );
}

/** Failures forgotten in one write set. */
const FORGOTTEN_AT_ONCE = 1_000;

/** Forgets some of the failures before a time. */
export function deleteFailuresBefore(time: number): Write {
  const old = build.selectFrom('login_failure').select('id').where('last_failed_at', '<', time);
  return write(
    build
      .deleteFrom('login_failure')
      // Counted again since, one stays.
      .where('last_failed_at', '<', time)
      .where('id', 'in', old.limit(FORGOTTEN_AT_ONCE)),
  );
}

export async function hasFailuresBefore(db: Db, time: number): Promise<boolean> {
  const row = await db
    .selectFrom('login_failure')
    .select('id')
    .where('last_failed_at', '<', time)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

import { build, type Db } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import type { Failures } from './lockout.ts';

export async function findFailures(db: Db, id: string): Promise<Failures | undefined> {
  return db
    .selectFrom('login_failure')
    .select(['failures', 'last_failed_at', 'unlocked'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/** A name that is locked. */
export interface LockedRow {
  id: string;
  method_id: string;
  name_sealed: Uint8Array;
}

/** Some names with so many failures, the last of them after a time, that come after one; by method. */
export async function listLocked(
  db: Db,
  page: {
    threshold: number;
    since: number;
    /** Absent: of all methods. */
    method_id: string | undefined;
    after: Pick<LockedRow, 'id' | 'method_id'>;
    limit: number;
  },
): Promise<LockedRow[]> {
  const { threshold, since, method_id, after, limit } = page;
  return db
    .selectFrom('login_failure')
    .select(['id', 'method_id', 'name_sealed'])
    .where('failures', '>=', threshold)
    .where('last_failed_at', '>', since)
    .$if(method_id !== undefined, (rows) => rows.where('method_id', '=', method_id ?? ''))
    .where((row) =>
      row.or([
        row('method_id', '>', after.method_id),
        row.and([row('method_id', '=', after.method_id), row('id', '>', after.id)]),
      ]),
    )
    .orderBy('method_id')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/**
 * Counts one more failure; one that follows a lock, or the time after which failures are
 * forgotten, is the first again. One that began before the name was unlocked does not count.
 *
 * @param failure.since failures before it are forgotten, Unix seconds
 * @param failure.unlocked as it was read when the check began
 */
export function addFailure(failure: {
  id: string;
  method_id: string;
  name_sealed: Uint8Array;
  now: number;
  since: number;
  threshold: number;
  unlocked: number;
}): Write {
  const { id, method_id, name_sealed, now, unlocked } = failure;
  return write(
    build
      .insertInto('login_failure')
      .values({ id, method_id, name_sealed, failures: 1, last_failed_at: now, unlocked })
      .onConflict((clash) =>
        clash.column('id').doUpdateSet((row) => ({
          last_failed_at: row
            .case()
            .when('login_failure.unlocked', '!=', unlocked)
            .then(row.ref('login_failure.last_failed_at'))
            .else(now)
            .end(),
          failures: row
            .case()
            .when('login_failure.unlocked', '!=', unlocked)
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

import { build, type Db } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import type { Failures } from './lockout.ts';

export async function findFailures(db: Db, id: string): Promise<Failures | undefined> {
  return db
    .selectFrom('login_failure')
    .select(['failures', 'last_failed_at'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/**
 * Counts one more failure; one that follows a lock, or the time after which failures are
 * forgotten, is the first again.
 *
 * @param failure.since failures before it are forgotten, Unix seconds
 */
export function addFailure(failure: {
  id: string;
  now: number;
  since: number;
  threshold: number;
}): Write {
  const { id, now } = failure;
  return write(
    build
      .insertInto('login_failure')
      .values({ id, failures: 1, last_failed_at: now })
      .onConflict((clash) =>
        clash.column('id').doUpdateSet((row) => ({
          last_failed_at: now,
          failures: row
            .case()
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

export function deleteFailures(id: string): Write {
  return write(build.deleteFrom('login_failure').where('id', '=', id));
}

export function deleteFailuresBefore(time: number): Write {
  return write(build.deleteFrom('login_failure').where('last_failed_at', '<', time));
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

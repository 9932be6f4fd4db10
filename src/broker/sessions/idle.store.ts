import { sql } from 'kysely';
import { build, type Db } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import { goesOn } from './dependents.store.ts';
import type { SessionUse } from './idle.ts';
import { ENDING_STATUSES } from './session.ts';

/** A session as it was when it was looked at whether it is used. */
export interface UnusedSession extends SessionUse {
  id: string;
  status: string;
  connections: number;
  open_connections: number;
}

/** Sessions that go on and may not have been used since then: those that are looked at next, with their use. */
export async function listUnusedSince(
  db: Db,
  { before, now, limit }: { before: number; now: number; limit: number },
): Promise<UnusedSession[]> {
  return (
    db
      .selectFrom('session')
      .select(['id', 'status', 'created_ms', 'active_ms', 'left_ms', 'connections'])
      .select('open_connections')
      .select((row) =>
        row
          .selectFrom('session_connection as open')
          .select((of) => of.fn.max('open.updated_ms').as('carried_ms'))
          .whereRef('open.session_id', '=', 'session.id')
          .where('open.status', '<>', sql.lit('closed'))
          .as('carried_ms'),
      )
      .where(goesOn)
      // As in the index.
      .where('used_ms', '>=', sql.lit(0))
      .where('used_ms', '<=', before)
      .where('expires_ms', '>', now)
      .orderBy('used_ms')
      .limit(limit)
      .execute()
  );
}

/** It was used since: it is looked at again when it can be idle for the first time. */
export function noteUse(id: string, used_ms: number): Write {
  return write(build.updateTable('session').set({ used_ms }).where('id', '=', id));
}

/** The time of a session is over, unless somebody has begun to use it since it was looked at. */
export function runOut(session: UnusedSession, now: number): Write {
  return write(
    build
      .updateTable('session')
      .set({ expires_ms: now, due_ms: now, used_ms: now })
      .where('id', '=', session.id)
      .where('status', 'not in', ENDING_STATUSES)
      .where('status', '=', session.status)
      .where('connections', '=', session.connections)
      .where('open_connections', '=', session.open_connections)
      .where('expires_ms', '>', now),
  );
}

import { aside } from '../../store/aside.ts';
import { build, type Db, prepared } from '../../store/database.ts';
import type { SessionRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import type { SessionFacts, SessionStatus } from './session.ts';

const FACTS = [
  'id',
  'target_id',
  'host_set_id',
  'host_id',
  'auth_token_id',
  'status',
  'endpoint',
  'connection_limit',
  'expires_ms',
  'worker_filter',
  'ingress_worker_filter',
  'certificate',
  'created_ms',
  'active_ms',
  'canceling_ms',
  'terminated_ms',
  'termination_reason',
  'connections',
  'open_connections',
] as const;

type FactsRow = Pick<SessionRow, (typeof FACTS)[number]>;

const factsOf = (row: FactsRow): SessionFacts => ({ ...row, status: row.status as SessionStatus });

/** SQLite takes 32,766 parameters in a statement. */
const MANY = 5_000;

/** What sessions are, by id; those that are gone are left out. */
export async function listSessionFacts(
  db: Db,
  ids: readonly string[],
): Promise<Map<string, SessionFacts>> {
  const found = new Map<string, SessionFacts>();
  for (let at = 0; at < ids.length; at += MANY) {
    const rows = await db
      .selectFrom('session')
      .select(FACTS)
      .where('id', 'in', ids.slice(at, at + MANY))
      .execute();
    for (const row of rows) found.set(row.id, factsOf(row));
  }
  return found;
}

const byId = prepared<{ id: string }, SessionRow>((from, { id }) =>
  from.selectFrom('session').selectAll().where('id', '=', id),
);

/** A session with its sealed secrets, which are gone from one that has ended. */
export async function findSession(
  db: Db,
  id: string,
): Promise<
  (SessionFacts & Pick<SessionRow, 'private_key_sealed' | 'tofu_sealed' | 'injects'>) | undefined
> {
  const row = await byId.first(db, { id });
  return row && { ...row, status: row.status as SessionStatus };
}

/** Sessions that something is due for, the longest first: to be ended, or to be forgotten. */
export async function listDue(
  db: Db,
  now: number,
  limit: number,
): Promise<{ id: string; status: SessionStatus }[]> {
  const rows = await db
    .selectFrom('session')
    .select(['id', 'status'])
    .where('due_ms', '<=', now)
    .where('open_connections', '=', 0)
    .orderBy('due_ms')
    .limit(limit)
    .execute();
  return rows.map(({ id, status }) => ({ id, status: status as SessionStatus }));
}

/** Sessions whose time is over, or that are canceled, and that have open connections. */
export async function listOverWithConnections(
  db: Db,
  now: number,
): Promise<{ id: string; expires_ms: number }[]> {
  return db
    .selectFrom('session')
    .select(['id', 'expires_ms'])
    .where('due_ms', '<=', now)
    .where('open_connections', '>', 0)
    .execute();
}

/** Connections of some sessions, so many at most: one that lasted hours may have had any number. */
export async function listConnectionsOf(
  db: Db,
  session_ids: readonly string[],
  limit: number,
): Promise<string[]> {
  const of = db
    .selectFrom('session_connection')
    .select('id')
    .where('session_id', 'in', session_ids);
  return (await of.limit(limit).execute()).map(({ id }) => id);
}

/** Forgets connections of sessions that have ended. */
export function deleteConnections(ids: readonly string[]): Write {
  return write(build.deleteFrom('session_connection').where('id', 'in', ids));
}

/** Forgets sessions that have ended, with the connections that they have left. */
export function deleteSessions(ids: readonly string[]): Write[] {
  return [
    write(build.deleteFrom('session_connection').where('session_id', 'in', ids)),
    write(
      build.deleteFrom('session').where('id', 'in', ids).where(aside('status'), '=', 'terminated'),
    ),
  ];
}

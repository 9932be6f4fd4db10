import { sql } from 'kysely';
import type { Db } from '../../store/database.ts';
import { build, prepared, preparedWrite } from '../../store/database.ts';
import type { SessionCredentialRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { LIVE_STATUSES } from '../sessions/session.ts';
import { SESSION_LEASES } from '../vault-leases/lease.ts';

const ofSession = prepared((sql, p: { session_id: string }) =>
  sql
    .selectFrom('session_credential')
    .selectAll()
    .where('session_id', '=', p.session_id)
    .orderBy('source_id'),
);

/** Injected credentials of a session, in order of their sources' ids. */
export function listInjected(db: Db, session_id: string): Promise<SessionCredentialRow[]> {
  return ofSession.all(db, { session_id });
}

export function insertInjected(row: SessionCredentialRow): Write {
  return write(build.insertInto('session_credential').values(row), { rows: 1 });
}

export const deleteInjected: (parameters: { session_id: string }) => Write = preparedWrite<{
  session_id: string;
}>((sql, { session_id }) =>
  sql.deleteFrom('session_credential').where('session_id', '=', session_id),
);

/** Those of sessions whose time is over, in case nothing else has ended them. */
export function deleteExpiredInjected(now: number): Write {
  return write(build.deleteFrom('session_credential').where('expires_at', '<=', now));
}

/** Whether there are any, so that a run of the job that has nothing to do writes nothing. */
export async function hasExpiredInjected(db: Db, now: number): Promise<boolean> {
  const found = db.selectFrom('session_credential').select('session_id');
  return (await found.where('expires_at', '<=', now).limit(1).executeTakeFirst()) !== undefined;
}

/** A library or stored credential, or those that a store contains, as they are when it is asked. */
function sourcesOf(removed_id: string) {
  return build
    .selectFrom('resource as source')
    .where((row) =>
      row.or([row('source.id', '=', removed_id), row('source.container_id', '=', removed_id)]),
    );
}

/**
 * What ends all that a source, or the sources of a store, made for sessions that go on: leases are
 * due, and what is kept for workers goes. It stands before the removal in the same write set. The
 * sessions lie in the project of their sources.
 *
 * @param now Unix seconds
 */
export function endOfSources(removed_id: string, now: number): Write[] {
  const sessions = sourcesOf(removed_id)
    .innerJoin('resource as own', 'own.container_id', 'source.scope_id')
    .innerJoin('session', 'session.id', 'own.id')
    .where('own.type', '=', 'session')
    .where('session.status', 'in', LIVE_STATUSES);
  const beneath = (end: '/' | '0') =>
    sql<string>`${`${SESSION_LEASES}/`} || session.id || '/' || source.id || ${end}`;
  const leases = sessions
    .innerJoin('lease', (join) =>
      join.on('lease.id', '>=', beneath('/')).on('lease.id', '<', beneath('0')),
    )
    .select('lease.id')
    .where('lease.expires_at', '>', now);
  return [
    write(build.updateTable('lease').set({ expires_at: now }).where('id', 'in', leases)),
    write(
      build
        .deleteFrom('session_credential')
        .where('session_id', 'in', sessions.select('session.id'))
        .where('source_id', 'in', sourcesOf(removed_id).select('source.id')),
    ),
  ];
}

import { build, type Db, prepared, preparedWrite } from '../../../store/database.ts';
import type { SessionCredentialRow } from '../../../store/tables.ts';
import { type Write, write } from '../../../store/write.ts';

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

/** Those of sessions whose time is over, in case nothing else has ended them: so many, the oldest first. */
export function listExpiredInjected(db: Db, now: number, limit: number): Promise<ExpiredKey[]> {
  const expired = db.selectFrom('session_credential').select(['expires_at', 'session_id']);
  return expired.where('expires_at', '<=', now).orderBy('expires_at').limit(limit).execute();
}

type ExpiredKey = Pick<SessionCredentialRow, 'expires_at' | 'session_id'>;

/** Deletes what some sessions have left that has run out. */
export function deleteExpiredInjected(session_ids: readonly string[], now: number): Write {
  const expired = build.deleteFrom('session_credential').where('expires_at', '<=', now);
  return write(expired.where('session_id', 'in', session_ids));
}

/** A library or stored credential, or those that a store contains, as they are when it is asked; or some. */
export type SourcesOf = { removed_id: string } | { ids: readonly string[] };

function sourcesOf(of: SourcesOf) {
  const sources = build.selectFrom('resource as source').select('source.id');
  if ('ids' in of) return sources.where('source.id', 'in', of.ids);
  const { removed_id } = of;
  return sources.where((row) =>
    row.or([row('source.id', '=', removed_id), row('source.container_id', '=', removed_id)]),
  );
}

/**
 * What ends all that some sources, or those of a store, made for sessions: leases are due, and what
 * is kept for workers goes. It stands before the removal in the same write set.
 *
 * @param now Unix seconds
 */
export function endOfSources(of: SourcesOf, now: number): Write[] {
  return [
    write(
      build
        .updateTable('lease')
        .set({ expires_at: now })
        .where('source_id', 'is not', null)
        .where('source_id', 'in', sourcesOf(of))
        .where('expires_at', '>', now),
    ),
    write(build.deleteFrom('session_credential').where('source_id', 'in', sourcesOf(of))),
  ];
}

/** Ids of leases that some sources have made, and that are not due yet. */
export async function listLeasesOfSources(
  db: Db,
  source_ids: readonly string[],
  { now, limit }: { now: number; limit: number },
): Promise<string[]> {
  const made = db.selectFrom('lease').select('id').where('source_id', 'is not', null);
  const due = made.where('source_id', 'in', source_ids).where('expires_at', '>', now);
  return (await due.limit(limit).execute()).map(({ id }) => id);
}

/** What is kept for workers, by source and session. */
type InjectedKey = Pick<SessionCredentialRow, 'source_id' | 'session_id'>;

/** What some sources have left for workers, in order. */
export function listInjectedOfSources(
  db: Db,
  source_ids: readonly string[],
  limit: number,
): Promise<InjectedKey[]> {
  const kept = db.selectFrom('session_credential').select(['source_id', 'session_id']);
  const ofSources = kept.where('source_id', 'in', source_ids);
  return ofSources.orderBy('source_id').orderBy('session_id').limit(limit).execute();
}

/** Deletes what some sources have left for workers, up to one of them in that order. */
export function deleteInjectedUpTo(source_ids: readonly string[], last: InjectedKey): Write {
  const kept = build.deleteFrom('session_credential').where('source_id', 'in', source_ids);
  return write(
    kept.where((row) =>
      row(
        row.refTuple('source_id', 'session_id'),
        '<=',
        row.tuple(row.val(last.source_id), row.val(last.session_id)),
      ),
    ),
  );
}

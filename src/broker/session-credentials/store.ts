import type { Db } from '../../store/database.ts';
import { build, prepared, preparedWrite } from '../../store/database.ts';
import type { SessionCredentialRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';

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

import type { App } from '../../../app/app.ts';
import type { Effect } from '../../../store/write.ts';
import type { SessionCredential } from '../../sessions/credentials/credential.ts';
import { insertInjected, listInjected } from '../../sessions/credentials/store.ts';
import type { SessionContext } from './session-facts.ts';

const placeOf = (session_id: string, source_id: string) =>
  ({
    table: 'session_credential',
    column: 'secret_sealed',
    row: `${session_id}/${source_id}`,
  }) as const;

/** Stores an injected credential, sealed, for the worker that carries the session. */
export function keepInjected(
  app: App,
  session: SessionContext,
  credential: SessionCredential,
): Effect {
  const source_id = credential.credential_source.id;
  const bytes = Buffer.from(JSON.stringify(credential));
  const secret_sealed = app.barrier.encrypt('credential', placeOf(session.id, source_id), bytes);
  bytes.fill(0);
  const { id: session_id, expires_at } = session;
  return insertInjected({ session_id, source_id, expires_at, secret_sealed });
}

/** Injected credentials of a session, for the worker that carries it; until workers carry any, tests alone ask. */
export async function readInjectedCredentials(
  app: App,
  session_id: string,
): Promise<SessionCredential[]> {
  const rows = await listInjected(app.db, session_id);
  return rows.map(({ source_id, secret_sealed }) => {
    const place = placeOf(session_id, source_id);
    const opened = app.barrier.decrypt('credential', place, secret_sealed);
    const credential = JSON.parse(Buffer.from(opened).toString('utf8'));
    opened.fill(0);
    return credential;
  });
}

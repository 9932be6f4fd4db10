import { type Expression, sql } from 'kysely';
import { aside } from '../../store/aside.ts';
import { build, type Db } from '../../store/database.ts';
import type { SessionRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import {
  byMount,
  byPerson,
  direct,
  goesOn,
  HOSTS_AT_ONCE,
  idsOf,
  isThroughHost,
  selectSessions,
  throughSets,
} from './dependents.store.ts';
import { LIVE_STATUSES } from './session.ts';
import { cancelAffected, lostHost } from './termination.store.ts';

/** What is removed, as far as its sessions are ended in pages. */
export type PagedLoss =
  | { user_ids: readonly string[] }
  | { of_entities: readonly string[] }
  | { of_named: Expression<string> }
  | { auth_mount: { id: string } }
  | { target_id: string }
  | { token_ids: readonly string[] }
  | { alias_ids: Expression<string> }
  | { log_in_ids: readonly string[] }
  /** `with_sets`: their sets go, too. */
  | { host_ids: readonly string[]; with_sets?: true }
  | { of_host_sets: readonly string[] }
  | { address_of: string }
  | { target_id_of: string; host_set_ids: readonly string[] }
  | { host_set_id_of: string; host_ids_of: readonly string[] };

/** As {@link cancelAffected}, for some of the sessions, which are no longer found by the loss then. */
export function cancelSome(loss: PagedLoss, session_ids: readonly string[], now: number): Write[] {
  const lost = columnsOf(loss);
  const canceled = cancelAffected({ session_ids }, now);
  if (lost === undefined) return canceled;
  return [
    ...canceled,
    write(build.updateTable('session').set(lost).where('id', 'in', session_ids)),
  ];
}

function columnsOf(loss: PagedLoss): Partial<SessionRow> | undefined {
  if ('target_id' in loss) return { target_id: '' };
  if ('log_in_ids' in loss) return { auth_token_id: '' };
  if ('host_ids' in loss) return lostHost(loss);
  if ('of_host_sets' in loss) return { host_set_id: '' };
  return undefined;
}

/** Some of the sessions that depend on what is removed; those that were ended for it are not among them. */
export async function listSessionsOf(db: Db, loss: PagedLoss, limit: number): Promise<string[]> {
  if ('user_ids' in loss) {
    const own = db.selectFrom('resource').select('id').where('owner_id', 'in', loss.user_ids);
    return idsOf(await own.where('type', '=', 'session').limit(limit).execute());
  }
  const sessions = selectSessions(db).limit(limit);
  if ('of_entities' in loss || 'of_named' in loss) {
    return idsOf(await byPerson(sessions, loss).execute());
  }
  if ('auth_mount' in loss) return idsOf(await byMount(sessions, loss.auth_mount).execute());
  if ('target_id' in loss) {
    return idsOf(await sessions.where('target_id', '=', loss.target_id).execute());
  }
  if ('log_in_ids' in loss) {
    return idsOf(await sessions.where('auth_token_id', 'in', loss.log_in_ids).execute());
  }
  if ('token_ids' in loss) {
    const by = sessions.where(goesOn).where('session.token_id', '<>', sql.lit(''));
    const own = by.where('session.token_id', 'in', loss.token_ids);
    return idsOf(await own.where(aside('session.token_id'), 'in', loss.token_ids).execute());
  }
  if ('alias_ids' in loss) {
    const by = sessions.where(goesOn).where('session.alias_id', '<>', sql.lit(''));
    const own = by.where('session.alias_id', 'in', loss.alias_ids);
    return idsOf(await own.where(aside('session.alias_id'), 'in', loss.alias_ids).execute());
  }
  if ('of_host_sets' in loss) {
    return idsOf(await throughSets(sessions, loss.of_host_sets).execute());
  }
  if ('host_ids' in loss) {
    const through = sessions.where(isThroughHost).where('host_id', 'in', loss.host_ids);
    return idsOf(await through.execute());
  }
  // The target goes on, and so do its sessions that have ended.
  const live = sessions.where('status', 'in', LIVE_STATUSES);
  if ('address_of' in loss) {
    return idsOf(await direct(live, loss.address_of).execute());
  }
  if ('target_id_of' in loss) {
    const of = live.where('target_id', '=', loss.target_id_of);
    return idsOf(await of.where('host_set_id', 'in', loss.host_set_ids).execute());
  }
  const found: string[] = [];
  // Some hosts a question: a set may lose thousands of them.
  for (let at = 0; at < loss.host_ids_of.length && found.length < limit; at += HOSTS_AT_ONCE) {
    const some = loss.host_ids_of.slice(at, at + HOSTS_AT_ONCE);
    const of = live.where(isThroughHost).where('host_id', 'in', some);
    found.push(...idsOf(await of.where('host_set_id', '=', loss.host_set_id_of).execute()));
  }
  return found.slice(0, limit);
}

/** Sessions are nobody's once their user is gone. */
export function disown(session_ids: readonly string[]): Write {
  const rows = build.updateTable('resource').set({ owner_id: '' });
  return write(rows.where('id', 'in', session_ids));
}

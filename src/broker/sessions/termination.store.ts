import { type Expression, sql } from 'kysely';
import { build } from '../../store/database.ts';
import type { SessionRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { SESSION_LEASES } from '../vault/leases/lease.ts';
import { type CancellationCause, dependents, inScopes } from './dependents.store.ts';
import { ENDING_STATUSES } from './session.ts';
import { laterThanBefore } from './transitions.store.ts';

/**
 * What ends the credentials of the sessions of a loss, also of those that were authorized since it
 * was decided: their leases are due, and what was kept for a worker goes.
 *
 * @param now Unix seconds
 */
export function endCredentialsOf(loss: CancellationCause, now: number): Write[] {
  const beneath = (end: '/' | '0') => sql<string>`${`${SESSION_LEASES}/`} || session.id || ${end}`;
  const leases = build
    .selectFrom('session')
    .innerJoin('lease', (join) =>
      join.on('lease.id', '>=', beneath('/')).on('lease.id', '<', beneath('0')),
    )
    .select('lease.id')
    .where('session.id', 'in', dependents(loss))
    .where('lease.expires_at', '>', now);
  return [
    write(build.updateTable('lease').set({ expires_at: now }).where('id', 'in', leases)),
    write(build.deleteFrom('session_credential').where('session_id', 'in', dependents(loss))),
  ];
}

/**
 * Cancels the sessions that depend on what is being removed, ends their credentials, and takes its
 * id out of them. It comes before the removal in the same write set. Versions stay; `updated_ms` grows.
 */
export function cancelAffected(loss: CancellationCause, now: number): Write[] {
  const sessions = () => dependents(loss);
  const writes: Write[] = [
    ...endCredentialsOf(loss, Math.floor(now / 1000)),
    write(
      build
        .updateTable('resource')
        .set({ updated_ms: laterThanBefore(now) })
        .where('id', 'in', sessions()),
    ),
    write(
      build
        .updateTable('session')
        .set({ status: 'canceling', canceling_ms: now, due_ms: now })
        .where('id', 'in', sessions())
        // Said by what they are not: as what few are, PostgreSQL would begin with all that go on.
        .where('status', 'not in', ENDING_STATUSES),
    ),
  ];
  const lost = lostColumns(loss);
  if (lost) {
    writes.push(write(build.updateTable('session').set(lost).where('id', 'in', sessions())));
  }
  const gone = goneUsers(loss);
  if (gone) {
    const owned = build.updateTable('resource').set({ owner_id: '' }).where('owner_id', 'in', gone);
    writes.push(write(owned.where('type', '=', 'session')));
  }
  return writes;
}

function goneUsers(loss: CancellationCause): readonly string[] | Expression<string> | undefined {
  if ('user_ids' in loss) return loss.user_ids;
  return 'scope_ids' in loss ? sql<string>`${inScopes(loss.scope_ids, 'user')}` : undefined;
}

function lostColumns(loss: CancellationCause): Partial<SessionRow> | undefined {
  if ('target_id' in loss) return { target_id: '' };
  if ('log_ins' in loss) return { auth_token_id: '' };
  if ('host_set_id_of' in loss) return undefined;
  if ('host_ids' in loss) return lostHost(loss);
  if ('of_host_sets' in loss) return { host_set_id: '' };
  if ('host_catalog_id' in loss) return { host_id: '', host_set_id: '' };
  return undefined;
}

export const lostHost = ({ with_sets }: { with_sets?: true }): Partial<SessionRow> =>
  with_sets ? { host_id: '', host_set_id: '' } : { host_id: '' };

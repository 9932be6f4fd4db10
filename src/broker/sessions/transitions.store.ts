import { sql } from 'kysely';
import { aside } from '../../store/aside.ts';
import { build } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import { KEPT_MS, LIVE_STATUSES } from './session.ts';

// What must hold of a session under races is a condition in a statement here: its row changes
// from a state only if it is in it, and connections are counted in the row itself.

/** Later than before even within one millisecond, so that a refreshed list sees it. */
export const laterThanBefore = (now: number) =>
  sql<number>`case when updated_ms >= ${now} then updated_ms + 1 else ${now} end`;

/** The next version of a session's row; `expected`: only from that one. */
function nextVersion(id: string, now: number, expected?: number): Write {
  let query = build
    .updateTable('resource')
    .set((row) => ({ version: row('version', '+', 1), updated_ms: laterThanBefore(now) }))
    .where('id', '=', id);
  if (expected !== undefined) query = query.where('version', '=', expected);
  return write(query, { rows: 1 });
}

/**
 * The first use of a session: only from `pending`, of the version given, before it runs out,
 * and while target and log-in are there.
 */
export function activate(
  id: string,
  expected: number,
  tofu_sealed: Uint8Array,
  now: number,
): Write[] {
  const there = (column: 'target_id' | 'auth_token_id') =>
    build
      .selectFrom('resource')
      .select('resource.id')
      .where('resource.id', '=', sql.ref<string>(`session.${column}`));
  return [
    write(
      build
        .updateTable('session')
        .set({ status: 'active', active_ms: now, tofu_sealed })
        .where('id', '=', id)
        .where('status', '=', 'pending')
        .where('expires_ms', '>', now)
        .where((row) => row.exists(there('target_id')))
        .where((row) =>
          row.or([row('auth_token_id', '=', ''), row.exists(there('auth_token_id'))]),
        ),
      { rows: 1 },
    ),
    nextVersion(id, now, expected),
  ];
}

/** Ends the use of a session: only of one that is pending or active. Its version is not changed. */
export function beginCanceling(id: string, now: number): Write {
  return write(
    build
      .updateTable('session')
      .set({ status: 'canceling', canceling_ms: now, due_ms: now })
      .where('id', '=', id)
      .where('status', 'in', LIVE_STATUSES),
    { rows: 1 },
  );
}

/** As {@link beginCanceling}, by whoever carries the session and knows no version. */
export function cancel(id: string, now: number): Write[] {
  return [beginCanceling(id, now), nextVersion(id, now)];
}

/**
 * Ends those of some sessions that have no open connection and are canceled, run out, or have
 * used up their connections; why is the first that holds of: run out, canceled, used up. Their
 * secrets go.
 */
export function terminate(ids: readonly string[], now: number): Write[] {
  return [
    write(
      build
        .updateTable('session')
        .set({
          status: 'terminated',
          terminated_ms: now,
          due_ms: now + KEPT_MS,
          private_key_sealed: null,
          tofu_sealed: null,
          termination_reason: sql<string>`case when expires_ms <= ${now} then 'timed out' when status = 'canceling' then 'canceled' else 'connection limit' end`,
        })
        .where('id', 'in', ids)
        .where('status', '<>', 'terminated')
        .where('open_connections', '=', 0)
        .where((row) =>
          row.or([
            row('expires_ms', '<=', now),
            row('status', '=', 'canceling'),
            row.and([
              row('connection_limit', '<>', -1),
              row('connections', '>=', row.ref('connection_limit')),
            ]),
          ]),
        ),
    ),
    write(
      build
        .updateTable('resource')
        .set((row) => ({
          version: row('version', '+', 1),
          updated_ms: laterThanBefore(now),
          body: ENDED,
        }))
        .where(
          'id',
          'in',
          build
            .selectFrom('session')
            .select('session.id')
            .where('session.id', 'in', ids)
            .where(aside('status'), '=', 'terminated'),
        )
        .where('body', '<>', ENDED),
    ),
  ];
}

const ENDED = JSON.stringify({ ended: true });

import { sql } from 'kysely';
import { aside } from '../../store/aside.ts';
import { build, type Db, prepared, preparedWrite } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import type { SessionRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { KEPT_MS, LIVE_STATUSES, type SessionFacts, type SessionStatus } from './session.ts';

// What must hold of a session under races is a condition in a statement here: its row changes
// from a state only if it is in it, and connections are counted in the row itself.

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
): Promise<(SessionFacts & Pick<SessionRow, 'private_key_sealed' | 'tofu_sealed'>) | undefined> {
  const row = await byId.first(db, { id });
  return row && { ...row, status: row.status as SessionStatus };
}

/** What a session ends with: one of these, the others are empty. */
export interface SessionHolder {
  /** The log-in of whoever authorizes it. */
  auth_token_id: string;
  /** Of a caller whose log-in is the authority's: the row of their token, … */
  token_id: string;
  /** … or the alias by which they came, where their token has none. */
  alias_id: string;
  /** The mount by which they came in with that. */
  auth_mount_id: string;
}

/** A session before its first connection. */
export interface NewSession {
  id: string;
  scope_id: string;
  user_id: string;
  /** `tcp`, `ssh`, `rdp`. */
  type: string;
  target: { id: string; version: number };
  holder: SessionHolder;
  host_set_id: string;
  host_id: string;
  endpoint: string;
  connection_limit: number;
  created_ms: number;
  expires_ms: number;
  worker_filter: string;
  certificate: Uint8Array;
  private_key_sealed: Uint8Array;
}

interface Ground {
  target_id: string;
  target_version: number;
  /** The log-in, or the user where there is none. */
  holder_id: string;
}

const hold = preparedHold<Ground & Record<string, string | number>>(
  (from, p) =>
    from
      .selectFrom(['resource as target', 'resource as holder'])
      .select('target.id')
      .where('target.id', '=', p.target_id)
      .where('target.version', '=', p.target_version)
      .where('holder.id', '=', p.holder_id)
      .forShare('target')
      .forKeyShare('holder'),
  { rows: 1 },
);

const holdWithHost = preparedHold<
  Ground & { host_set_id: string; host_id: string } & Record<string, string | number>
>(
  (from, p) =>
    from
      .selectFrom([
        'resource as target',
        'resource as holder',
        'resource as host_set',
        'resource as host',
        'resource_link as member',
      ])
      .select('target.id')
      .where('target.id', '=', p.target_id)
      .where('target.version', '=', p.target_version)
      .where('holder.id', '=', p.holder_id)
      .where('host_set.id', '=', p.host_set_id)
      .where('host.id', '=', p.host_id)
      .where('member.from_id', '=', p.host_set_id)
      .where('member.kind', '=', 'host-set-host')
      .where('member.to_id', '=', p.host_id)
      .forShare('target')
      .forKeyShare(['holder', 'host_set', 'host', 'member']),
  { rows: 1 },
);

const insertRow = preparedWrite<{
  id: string;
  scope_id: string;
  user_id: string;
  type: string;
  created_ms: number;
}>(
  (into, p) =>
    into.insertInto('resource').values({
      id: p.id,
      type: 'session',
      subtype: p.type,
      scope_id: p.scope_id,
      container_id: p.scope_id,
      owner_id: p.user_id,
      version: 1,
      created_ms: p.created_ms,
      updated_ms: p.created_ms,
      body: '{}',
    }),
  { rows: 1 },
);

const insertFacts = preparedWrite<{
  id: string;
  target_id: string;
  host_set_id: string;
  host_id: string;
  auth_token_id: string;
  token_id: string;
  alias_id: string;
  auth_mount_id: string;
  user_id: string;
  endpoint: string;
  connection_limit: number;
  created_ms: number;
  expires_ms: number;
  worker_filter: string;
  certificate: Uint8Array;
  private_key_sealed: Uint8Array;
}>(
  (into, p) =>
    into.insertInto('session').values({
      id: p.id,
      target_id: p.target_id,
      host_set_id: p.host_set_id,
      host_id: p.host_id,
      auth_token_id: p.auth_token_id,
      token_id: p.token_id,
      alias_id: p.alias_id,
      auth_mount_id: p.auth_mount_id,
      user_id: p.user_id,
      status: 'pending',
      endpoint: p.endpoint,
      connection_limit: p.connection_limit,
      expires_ms: p.expires_ms,
      worker_filter: p.worker_filter,
      certificate: p.certificate,
      private_key_sealed: p.private_key_sealed,
      tofu_sealed: null,
      created_ms: p.created_ms,
      active_ms: null,
      canceling_ms: null,
      terminated_ms: null,
      termination_reason: '',
      connections: 0,
      open_connections: 0,
      due_ms: p.expires_ms,
    }),
  { rows: 1 },
);

/**
 * Makes a pending session, if its target is still as it was read, its host still in the host
 * set, and the log-in (or the user) still there.
 */
export function insertSession(session: NewSession): Write[] {
  const { target, user_id, holder, ...facts } = session;
  const { id, scope_id, type, created_ms, host_set_id, host_id } = facts;
  const ground = {
    target_id: target.id,
    target_version: target.version,
    holder_id: holder.auth_token_id === '' ? user_id : holder.auth_token_id,
  };
  return [
    host_id === '' ? hold({ ...ground }) : holdWithHost({ ...ground, host_set_id, host_id }),
    insertRow({ id, scope_id, user_id, type, created_ms }),
    insertFacts({
      id,
      target_id: target.id,
      host_set_id,
      host_id,
      auth_token_id: holder.auth_token_id,
      token_id: holder.token_id,
      alias_id: holder.alias_id,
      auth_mount_id: holder.auth_mount_id,
      user_id,
      endpoint: facts.endpoint,
      connection_limit: facts.connection_limit,
      created_ms,
      expires_ms: facts.expires_ms,
      worker_filter: facts.worker_filter,
      certificate: facts.certificate,
      private_key_sealed: facts.private_key_sealed,
    }),
  ];
}

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

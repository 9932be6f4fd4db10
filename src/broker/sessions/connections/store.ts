import { sql } from 'kysely';
import { build, type Db, prepared } from '../../../store/database.ts';
import { inBlocks } from '../../../store/in-blocks.ts';
import type { SessionConnectionRow } from '../../../store/tables.ts';
import { type Write, write } from '../../../store/write.ts';
import type { ClosedReason, ConnectionEnds } from './connection.ts';

/** What tells where a connection comes among those of its session. */
export type ConnectionCursor = Pick<SessionConnectionRow, 'created_ms' | 'id'>;

/** What is shown of a connection, and where it comes. */
type ShownRow = ConnectionCursor &
  ConnectionEnds &
  Pick<SessionConnectionRow, 'bytes_up' | 'bytes_down' | 'closed_reason'>;

const pageOfSession = prepared<ConnectionCursor & { of: string; limit: number }, ShownRow>(
  (from, { of, created_ms, id, limit }) =>
    from
      .selectFrom('session_connection')
      .select(['id', 'created_ms', 'client_tcp_address', 'client_tcp_port'])
      .select(['endpoint_tcp_address', 'endpoint_tcp_port'])
      .select(['bytes_up', 'bytes_down', 'closed_reason'])
      .where('session_id', '=', of)
      .where((row) =>
        row(row.refTuple('created_ms', 'id'), '<', row.tuple(row.val(created_ms), row.val(id))),
      )
      .orderBy('created_ms', 'desc')
      .orderBy('id', 'desc')
      .limit(limit),
);

/** The next of a session's connections before one of them, newest first; without one the newest. */
export function listSomeConnections(
  db: Db,
  session_id: string,
  before: ConnectionCursor | undefined,
  limit: number,
): Promise<ShownRow[]> {
  const { created_ms, id } = before ?? { created_ms: Number.MAX_SAFE_INTEGER, id: '' };
  return pageOfSession.all(db, { of: session_id, created_ms, id, limit });
}

export async function listConnectionsById(
  db: Db,
  ids: readonly string[],
): Promise<SessionConnectionRow[]> {
  return inBlocks([...new Set(ids)], (some) =>
    db.selectFrom('session_connection').selectAll().where('id', 'in', some).execute(),
  );
}

/** Open connections that some workers carry, and which of them each. */
export async function listOpenConnections(
  db: Db,
  worker_ids: readonly string[],
  limit: number,
): Promise<Pick<SessionConnectionRow, 'id' | 'worker_id'>[]> {
  const rows = await inBlocks([...new Set(worker_ids)], (some) =>
    db
      .selectFrom('session_connection')
      .select(['id', 'worker_id'])
      .where('worker_id', 'in', some)
      .where('status', '<>', 'closed')
      .limit(limit)
      .execute(),
  );
  return rows.slice(0, limit);
}

/** Open connections of some sessions, and who carries each. */
export async function listOpenOfSessions(
  db: Db,
  session_ids: readonly string[],
): Promise<Pick<SessionConnectionRow, 'id' | 'session_id' | 'worker_id' | 'egress_worker_id'>[]> {
  return inBlocks(session_ids, (some) =>
    db
      .selectFrom('session_connection')
      .select(['id', 'session_id', 'worker_id', 'egress_worker_id'])
      .where('session_id', 'in', some)
      .where('status', '<>', 'closed')
      .execute(),
  );
}

/** Open connections that a worker carries, and when each was last changed. */
export async function listOpenOf(
  db: Db,
  worker_id: string,
): Promise<{ id: string; updated_ms: number }[]> {
  return db
    .selectFrom('session_connection')
    .select(['id', 'updated_ms'])
    .where('worker_id', '=', worker_id)
    .where('status', '<>', 'closed')
    .execute();
}

/**
 * One more connection: only of a session that is active, has not run out, and has not used up
 * its connections. The count is in the session's row, so that two at once are told apart.
 */
export function insertConnection(
  connection: { id: string; session_id: string; worker_id: string },
  now: number,
): Write[] {
  const { id, session_id, worker_id } = connection;
  return [
    write(
      build
        .updateTable('session')
        .set((row) => ({
          connections: row('connections', '+', 1),
          open_connections: row('open_connections', '+', 1),
        }))
        .where('id', '=', session_id)
        .where('status', '=', 'active')
        .where('expires_ms', '>', now)
        .where((row) =>
          row.or([
            row('connection_limit', '=', -1),
            row('connections', '<', row.ref('connection_limit')),
          ]),
        ),
      { rows: 1 },
    ),
    write(
      build.insertInto('session_connection').values({
        id,
        session_id,
        worker_id,
        egress_worker_id: '',
        status: 'authorized',
        created_ms: now,
        connected_ms: null,
        closed_ms: null,
        updated_ms: now,
        client_tcp_address: '',
        client_tcp_port: 0,
        endpoint_tcp_address: '',
        endpoint_tcp_port: 0,
        bytes_up: 0,
        bytes_down: 0,
        closed_reason: '',
      }),
      { rows: 1 },
    ),
  ];
}

/** The endpoint was reached: only once, and not of a session that is being canceled. */
export function connect(id: string, worker_id: string, ends: ConnectionEnds, now: number): Write {
  const active = build
    .selectFrom('session')
    .select('session.id')
    .where('session.status', '=', 'active');
  return write(
    build
      .updateTable('session_connection')
      .set({ status: 'connected', connected_ms: now, updated_ms: now, ...ends })
      .where('id', '=', id)
      .where('worker_id', '=', worker_id)
      .where('status', '=', 'authorized')
      .where('session_id', 'in', active),
    { rows: 1 },
  );
}

/**
 * Another worker has dialled the endpoint: only one that is known, since a connection through one that is not is not
 * let begin.
 *
 * @param is_alone whether it is known by a key; a server's own has none
 */
export function saveEgressWorker(
  id: string,
  worker_id: string,
  egress: { id: string; is_alone: boolean },
  now: number,
): Write {
  const query = build
    .updateTable('session_connection')
    .set({ egress_worker_id: egress.id, updated_ms: now })
    .where('id', '=', id)
    .where('worker_id', '=', worker_id)
    .where('status', '=', 'authorized');
  const key = build
    .selectFrom('worker_key')
    .select('key_sha256')
    .where('worker_id', '=', egress.id);
  return write(egress.is_alone ? query.where((row) => row.exists(key)) : query, { rows: 1 });
}

/** The two workers of a connection. */
export type WorkerPair = Pick<SessionConnectionRow, 'worker_id' | 'egress_worker_id'>;

/** Which two workers have open connections through both: few, however many connections those are. */
const openPairs = prepared<Record<never, never>, WorkerPair>((from) =>
  from
    .selectFrom('session_connection')
    .select(['egress_worker_id', 'worker_id'])
    .distinct()
    .where('status', '<>', sql.lit('closed'))
    .where('egress_worker_id', '<>', sql.lit('')),
);
export const listOpenPairs = (db: Db): Promise<WorkerPair[]> => openPairs.all(db, {});

const openOfPair = prepared<WorkerPair & { limit: number }, { id: string }>(
  (from, { worker_id, egress_worker_id, limit }) =>
    from
      .selectFrom('session_connection')
      .select('id')
      .where('egress_worker_id', '=', egress_worker_id)
      .where('worker_id', '=', worker_id)
      .where('status', '<>', sql.lit('closed'))
      .where('egress_worker_id', '<>', sql.lit(''))
      .limit(limit),
);

/** Ids of the open connections through two workers. */
export async function listOpenOfPair(db: Db, pair: WorkerPair, limit: number): Promise<string[]> {
  return (await openOfPair.all(db, { ...pair, limit })).map(({ id }) => id);
}

/**
 * Bytes carried so far, of a connection that is open; they never become less, and only more change its
 * row: how long it has been silent is told by that.
 */
export function saveTraffic(
  id: string,
  worker_id: string,
  bytes: { bytes_up: number; bytes_down: number },
  now: number,
): Write {
  return write(
    build
      .updateTable('session_connection')
      .set({
        bytes_up: atLeast('bytes_up', bytes.bytes_up),
        bytes_down: atLeast('bytes_down', bytes.bytes_down),
        updated_ms: now,
      })
      .where('id', '=', id)
      .where('worker_id', '=', worker_id)
      .where('status', '<>', 'closed')
      .where((row) =>
        row.or([row('bytes_up', '<', bytes.bytes_up), row('bytes_down', '<', bytes.bytes_down)]),
      ),
  );
}

const atLeast = (column: 'bytes_up' | 'bytes_down', value: number) =>
  sql<number>`case when ${sql.ref(column)} > ${value} then ${sql.ref(column)} else ${value} end`;

/** The end of a connection that is open; its session has one less. */
export function close(
  connection: { id: string; session_id: string },
  end: { bytes_up: number; bytes_down: number; reason: ClosedReason },
  now: number,
): Write[] {
  return [
    write(
      build
        .updateTable('session_connection')
        .set({
          status: 'closed',
          closed_ms: now,
          updated_ms: now,
          closed_reason: end.reason,
          bytes_up: atLeast('bytes_up', end.bytes_up),
          bytes_down: atLeast('bytes_down', end.bytes_down),
        })
        .where('id', '=', connection.id)
        .where('status', '<>', 'closed'),
      { rows: 1 },
    ),
    write(
      build
        .updateTable('session')
        .set((row) => ({ open_connections: row('open_connections', '-', 1), left_ms: now }))
        .where('id', '=', connection.session_id),
      { rows: 1 },
    ),
  ];
}

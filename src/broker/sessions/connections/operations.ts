import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import { Failure, isConflict } from '../../../core/failure.ts';
import type { SessionConnectionRow } from '../../../store/tables.ts';
import { newResourceId } from '../../resource/ids.ts';
import { listStillSilent } from '../../workers/status.operations.ts';
import { connectionsLeft } from '../session.ts';
import {
  planCredentialsEnd,
  planTermination,
  takeBackWhereEnded,
} from '../termination.operations.ts';
import { listOverdue, requireSession } from './carried-session.operations.ts';
import type { ClosedReason, ConnectionEnds } from './connection.ts';
import {
  close,
  connect,
  insertConnection,
  listConnectionsById,
  listOpenConnections,
  listOpenOf,
  saveTraffic,
} from './store.ts';

// What the worker that carries a session asks for as connections come and go, step by step; `caller` is
// whatever it came by.

const NOT_ACTIVE = 'the session is not active, has expired, or its connection limit is reached';
/**
 * Permits one more connection.
 *
 * @returns its id, and how many are left after it; -1 without a limit
 * @throws Failure `forbidden` when the session is not active, has run out or used up its limit
 */
export async function authorizeConnection(
  app: App,
  caller: Caller,
  request: { session_id: string; worker_id: string },
): Promise<{ connection_id: string; connections_left: number }> {
  const { session_id, worker_id } = request;
  const id = newResourceId('sc', app.randomBytes(32));
  Object.assign(caller.record.outcome, { session_id, connection_id: id });
  try {
    await app.commit(caller, insertConnection({ id, session_id, worker_id }, app.now()));
  } catch (error) {
    if (isConflict(error)) {
      throw new Failure('forbidden', NOT_ACTIVE);
    }
    throw error;
  }
  const session = await requireSession(app, session_id);
  return { connection_id: id, connections_left: connectionsLeft(session) };
}

/** Notes that the endpoint was reached. @throws Failure `forbidden` when that is too late */
export async function connectConnection(
  app: App,
  caller: Caller,
  request: { connection_id: string; worker_id: string } & ConnectionEnds,
): Promise<'connected'> {
  const { connection_id, worker_id, ...ends } = request;
  caller.record.outcome.connection_id = connection_id;
  try {
    await app.commit(caller, [connect(connection_id, worker_id, ends, app.now())]);
    return 'connected';
  } catch (error) {
    if (isConflict(error)) {
      throw new Failure('forbidden', 'the connection is not authorized, or its session has ended');
    }
    throw error;
  }
}

/** How one connection ended, as its worker saw it. */
interface ConnectionEnd {
  connection_id: string;
  bytes_up: number;
  bytes_down: number;
  reason: ClosedReason;
  because?: string | undefined;
}

/** A conflict means that somebody else closed one of them meanwhile. */
const ATTEMPTS = 5;

/**
 * Closes connections, and ends their sessions where that was all they waited for. What is
 * closed already, or is not the worker's, is left as it is.
 *
 * @param worker_id absent: whoever carries them
 */
export async function closeConnections(
  app: App,
  caller: Caller,
  ends: readonly ConnectionEnd[],
  worker_id?: string,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const open = await listOpen(app, ends, worker_id);
    if (open.length === 0) return;
    const now = app.now();
    const session_ids = [...new Set(open.map(({ row }) => row.session_id))];
    const reasons = open.flatMap(({ end }) => end.because ?? []);
    Object.assign(caller.record.outcome, {
      connection_ids: open.map(({ row }) => row.id),
      ...(reasons.length > 0 ? { because: reasons } : {}),
    });
    try {
      await app.commit(caller, [
        ...open.flatMap(({ row, end }) => close(row, end, now)),
        ...planTermination(app, session_ids),
        ...planCredentialsEnd(app, session_ids),
      ]);
      // Sessions that ended with their last connection give their credentials back at once.
      await takeBackWhereEnded(app, session_ids);
      return;
    } catch (error) {
      const again = isConflict(error) && attempt < ATTEMPTS;
      if (!again) throw error;
    }
  }
}

/** By session and connection, so that two who close the same take their rows in one order. */
async function listOpen(
  app: App,
  ends: readonly ConnectionEnd[],
  worker_id: string | undefined,
): Promise<{ row: SessionConnectionRow; end: ConnectionEnd }[]> {
  const byId = new Map(ends.map((end) => [end.connection_id, end]));
  const rows = await listConnectionsById(app.db, [...byId.keys()]);
  return rows
    .toSorted((a, b) => (`${a.session_id} ${a.id}` < `${b.session_id} ${b.id}` ? -1 : 1))
    .flatMap((row) => {
      const end = byId.get(row.id);
      const own = worker_id === undefined || row.worker_id === worker_id;
      return end && own && row.status !== 'closed' ? [{ row, end }] : [];
    });
}

const PAGE = 500;

/** Closes everything that workers carried who are not heard of any more; not what one carries that has come back meanwhile. */
export async function closeConnectionsOfWorkers(
  app: App,
  caller: Caller,
  worker_ids: readonly string[],
): Promise<void> {
  const end = { bytes_up: 0, bytes_down: 0, reason: 'system error' } as const;
  for (let silent = worker_ids; ; ) {
    const open = await listOpenConnections(app.db, silent, PAGE);
    // In this order: a worker has reported before it is let carry anything new.
    silent = await listStillSilent(app, silent);
    if (open.length === 0 || silent.length === 0) return;
    const ends = open.flatMap(({ id, worker_id }) =>
      silent.includes(worker_id) ? [{ connection_id: id, ...end }] : [],
    );
    await closeConnections(app, caller, ends);
  }
}

/**
 * Closes connections of sessions that have long been over, whatever their workers do: what the sessions hold is given
 * back then.
 *
 * @returns ids of the workers that go on with them
 */
export async function closeOverdue(app: App, caller: Caller): Promise<string[]> {
  const overdue = await listOverdue(app);
  for (let at = 0; at < overdue.length; at += PAGE) {
    const page = overdue.slice(at, at + PAGE);
    const ends = page.map(({ connection_id, reason }) => ({
      connection_id,
      reason,
      bytes_up: 0,
      bytes_down: 0,
    }));
    await closeConnections(app, { ...caller, recorded: false }, ends);
  }
  return [...new Set(overdue.map(({ worker_id }) => worker_id))];
}

/** What a worker does not know of so long after it was made has been lost. */
export const UNKNOWN_MS = 10_000;

/**
 * Closes what a worker does not carry any more although it is said to.
 *
 * @param open ids of all that it carries
 * @param before_ms when the others must have been changed last: what is being made is not known to it yet
 * @returns ids of what it carries although it is closed here: it has to end that
 */
export async function closeUnknown(
  app: App,
  caller: Caller,
  { worker_id, open }: { worker_id: string; open: ReadonlySet<string> },
  before_ms: number,
): Promise<string[]> {
  const said = await listOpenOf(app.db, worker_id);
  const known = new Set(said.map(({ id }) => id));
  const lost = said.flatMap(({ id, updated_ms }) =>
    open.has(id) || updated_ms > before_ms ? [] : [id],
  );
  const end = { bytes_up: 0, bytes_down: 0, reason: 'system error' } as const;
  for (let at = 0; at < lost.length; at += PAGE) {
    const page = lost.slice(at, at + PAGE);
    const ends = page.map((connection_id) => ({ connection_id, ...end }));
    await closeConnections(app, { ...caller, recorded: false }, ends, worker_id);
  }
  return [...open].filter((id) => !known.has(id));
}

/** Notes bytes carried so far; not recorded, since nothing follows from it. */
export async function noteTraffic(
  app: App,
  worker_id: string,
  connections: readonly { connection_id: string; bytes_up: number; bytes_down: number }[],
): Promise<void> {
  const now = app.now();
  for (let at = 0; at < connections.length; at += PAGE) {
    await app.store.commit(
      connections
        .slice(at, at + PAGE)
        .map(({ connection_id, ...bytes }) => saveTraffic(connection_id, worker_id, bytes, now)),
    );
  }
}

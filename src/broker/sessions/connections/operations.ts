import { timingSafeEqual } from 'node:crypto';
import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { Place } from '../../../barrier/envelope.ts';
import { Failure } from '../../../core/failure.ts';
import type { SessionConnectionRow } from '../../../store/tables.ts';
import { findResource } from '../../resource/store.ts';
import { newResourceId } from '../../resource/types.ts';
import { type EligibleWorker, judgeWorker } from '../../workers/selection.ts';
import {
  connectionsLeft,
  LIVE_STATUSES,
  type SessionFacts,
  type SessionStatus,
} from '../session.ts';
import { activate, cancel, findSession } from '../store.ts';
import {
  endCredentials,
  planCredentialsEnd,
  planTermination,
  takeCredentialsBack,
} from '../termination.operations.ts';
import { type ClosedReason, type ConnectionEnds, TOFU_LENGTH } from './connection.ts';
import {
  close,
  connect,
  insertConnection,
  listConnectionsById,
  listOpenConnections,
  saveTraffic,
} from './store.ts';

// What the worker that carries a session asks for, step by step. The worker is
// known before: `caller` is whatever it came by, `worker` is what the registry says of it.

type Worker = Pick<EligibleWorker, 'id' | 'name' | 'tags'>;

/** Where the secrets of a session are kept. */
export const keyPlace = (session_id: string): Place => ({
  table: 'session',
  column: 'private_key_sealed',
  row: session_id,
});
const tofuPlace = (session_id: string): Place => ({
  table: 'session',
  column: 'tofu_sealed',
  row: session_id,
});

const NOT_ACTIVE = 'the session is not active, has expired, or its connection limit is reached';
const UNKNOWN = 'there is no such session';

type StoredSession = NonNullable<Awaited<ReturnType<typeof findSession>>>;

async function requireSession(app: App, session_id: string): Promise<StoredSession> {
  const session = await findSession(app.db, session_id);
  if (!session) throw new Failure('forbidden', UNKNOWN);
  return session;
}

/** All that a worker needs to carry a session. */
export interface CarriedSession {
  session: SessionFacts;
  /** The user's id; empty once they are gone. */
  user_id: string;
  /** The row's, for the activation. */
  version: number;
  /** Ed25519, 64 bytes: seed and public key. */
  private_key: Uint8Array;
  /** Empty before the first use. */
  tofu_token: string;
  connections_left: number;
}

/**
 * What a worker is told of a session that somebody brings to it.
 *
 * @throws Failure `forbidden` for a session that is unknown, has ended or run out,
 *   `precondition` for a worker that the session's filter does not admit
 */
export async function lookUpSession(
  app: App,
  worker: Worker,
  session_id: string,
): Promise<CarriedSession> {
  const [session, resource] = await Promise.all([
    requireSession(app, session_id),
    findResource(app.db, session_id),
  ]);
  const { private_key_sealed, tofu_sealed, ...facts } = session;
  if (!resource || !private_key_sealed || session.expires_ms <= app.now()) {
    throw new Failure('forbidden', UNKNOWN);
  }
  if (!judgeWorker(worker, session.worker_filter)) {
    throw new Failure('precondition', "the worker does not match the session's filter");
  }
  return {
    session: facts,
    user_id: resource.owner_id,
    version: resource.version,
    private_key: app.barrier.open('credential', keyPlace(session_id), private_key_sealed),
    tofu_token: tofu_sealed ? openTofu(app, session_id, tofu_sealed) : '',
    connections_left: connectionsLeft(session),
  };
}

function openTofu(app: App, session_id: string, sealed: Uint8Array): string {
  const opened = app.barrier.open('credential', tofuPlace(session_id), sealed);
  return Buffer.from(opened).toString('utf8');
}

/**
 * The first use of a session makes it active and binds it to the client's token. Of several
 * first uses at once with one token one activates it, and the others go on as if it had been.
 *
 * @returns the session's state
 * @throws Failure `invalid` for a token that is none, `forbidden` for another one than the
 *   session has, `conflict` when the session cannot become active or is of another version
 * @see B-84
 */
export async function activateSession(
  app: App,
  caller: Caller,
  request: { session_id: string; tofu_token: string; version: number },
): Promise<SessionStatus> {
  const { session_id, tofu_token, version } = request;
  const token = Buffer.from(tofu_token, 'utf8');
  if (token.length !== TOFU_LENGTH) {
    throw new Failure('invalid', `tofu_token must have ${TOFU_LENGTH} characters`);
  }
  const session = await requireSession(app, session_id);
  if (session.tofu_sealed) return judgeTofu(app, session, token);
  const sealed = app.barrier.seal('credential', tofuPlace(session_id), token);
  caller.record.outcome.session_id = session_id;
  try {
    await app.commit(caller, activate(session_id, version, sealed, app.now()));
    return 'active';
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'conflict') throw error;
    const present = await requireSession(app, session_id);
    if (present.tofu_sealed) return judgeTofu(app, present, token);
    throw new Failure('conflict', 'the session is not pending, or is of another version');
  }
}

function judgeTofu(app: App, session: StoredSession, token: Uint8Array): SessionStatus {
  const { id, tofu_sealed } = session;
  if (!tofu_sealed) throw new Failure('forbidden', UNKNOWN);
  const known = app.barrier.open('credential', tofuPlace(id), tofu_sealed);
  if (known.length === token.length && timingSafeEqual(known, token)) return session.status;
  throw new Failure('forbidden', 'tofu token not allowed');
}

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
    if (error instanceof Failure && error.kind === 'conflict') {
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
    if (error instanceof Failure && error.kind === 'conflict') {
      throw new Failure('forbidden', 'the connection is not authorized, or its session has ended');
    }
    throw error;
  }
}

/** How one connection ended, as its worker saw it. */
export interface ConnectionEnd {
  connection_id: string;
  bytes_up: number;
  bytes_down: number;
  reason: ClosedReason;
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
    caller.record.outcome.connection_ids = open.map(({ row }) => row.id);
    try {
      await app.commit(caller, [
        ...open.flatMap(({ row, end }) => close(row, end, now)),
        ...planTermination(app, session_ids),
        ...planCredentialsEnd(app, session_ids),
      ]);
      await takeBackWhereEnded(app, session_ids);
      return;
    } catch (error) {
      const again = error instanceof Failure && error.kind === 'conflict' && attempt < ATTEMPTS;
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

/** Sessions that ended with their last connection give their credentials back at once. */
async function takeBackWhereEnded(app: App, session_ids: readonly string[]): Promise<void> {
  const sessions = await Promise.all(session_ids.map((id) => findSession(app.db, id)));
  const ended = sessions.flatMap((one) => (one?.status === 'terminated' ? [one.id] : []));
  if (ended.length > 0) takeCredentialsBack(app, ended);
}

const PAGE = 500;

/** Closes everything that workers carried who are not heard of any more. */
export async function closeConnectionsOfWorkers(
  app: App,
  caller: Caller,
  worker_ids: readonly string[],
): Promise<void> {
  for (;;) {
    const ids = await listOpenConnections(app.db, worker_ids, PAGE);
    if (ids.length === 0) return;
    const end = { bytes_up: 0, bytes_down: 0, reason: 'system error' } as const;
    await closeConnections(
      app,
      caller,
      ids.map((connection_id) => ({ connection_id, ...end })),
    );
  }
}

/** Notes bytes carried so far; not recorded, since nothing follows from it. */
export async function noteTraffic(
  app: App,
  worker_id: string,
  connections: readonly { connection_id: string; bytes_up: number; bytes_down: number }[],
): Promise<void> {
  const now = app.now();
  if (connections.length === 0) return;
  await app.store.commit(
    connections.map(({ connection_id, ...bytes }) =>
      saveTraffic(connection_id, worker_id, bytes, now),
    ),
  );
}

/**
 * Cancels a session on its client's behalf.
 *
 * @returns its state: canceling, or what it was if it was beyond that
 */
export async function cancelCarriedSession(
  app: App,
  caller: Caller,
  session_id: string,
): Promise<SessionStatus> {
  const session = await requireSession(app, session_id);
  if (!LIVE_STATUSES.includes(session.status)) return session.status;
  caller.record.outcome.session_id = session_id;
  try {
    await app.commit(caller, [
      ...cancel(session_id, app.now()),
      ...endCredentials(app, [session_id]),
    ]);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'conflict') throw error;
    return (await requireSession(app, session_id)).status;
  }
  takeCredentialsBack(app, [session_id]);
  return 'canceling';
}

/** Which of the sessions that a worker carries it has to cut: those that are not active. */
export async function listNonActive(
  app: App,
  session_ids: readonly string[],
): Promise<{ session_id: string; status: SessionStatus }[]> {
  const sessions = await Promise.all(session_ids.map((id) => findSession(app.db, id)));
  return session_ids.flatMap((session_id, at) => {
    const status = sessions[at]?.status ?? 'terminated';
    const over = (sessions[at]?.expires_ms ?? 0) <= app.now();
    if (!over && LIVE_STATUSES.includes(status)) return [];
    return [{ session_id, status }];
  });
}

import { timingSafeEqual } from 'node:crypto';
import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { EnvelopeContext } from '../../../barrier/envelope.ts';
import { Failure, isConflict } from '../../../core/failure.ts';
import { findResource } from '../../resource/store.ts';
import { type EligibleWorker, judgeIngress, judgeWorker } from '../../workers/selection.ts';
import {
  connectionsLeft,
  LIVE_STATUSES,
  type SessionFacts,
  type SessionStatus,
} from '../session.ts';
import { findSession, listOverWithConnections } from '../store.ts';
import { endCredentials, takeCredentialsBack } from '../termination.operations.ts';
import { activate, cancel } from '../transitions.store.ts';
import { TOFU_LENGTH } from './connection.ts';
import { listConnectionsById, listOpenOfSessions } from './store.ts';

// What the worker that carries a session asks for of the session, step by step. The worker is
// known before: `caller` is whatever it came by, `worker` is what the registry says of it.

type Worker = Pick<EligibleWorker, 'id' | 'name' | 'tags'>;

/** Where the secrets of a session are kept. */
export const keyPlace = (session_id: string): EnvelopeContext => ({
  table: 'session',
  column: 'private_key_sealed',
  row: session_id,
});

const tofuPlace = (session_id: string): EnvelopeContext => ({
  table: 'session',
  column: 'tofu_sealed',
  row: session_id,
});

const UNKNOWN = 'there is no such session';

type StoredSession = NonNullable<Awaited<ReturnType<typeof findSession>>>;

export async function requireSession(app: App, session_id: string): Promise<StoredSession> {
  const session = await findSession(app.db, session_id);
  if (!session) throw new Failure('forbidden', UNKNOWN);
  return session;
}

/**
 * A session that clients may come to a worker with.
 *
 * @throws Failure `forbidden` for one that is unknown, `precondition` for a worker that its filter does not admit
 */
export async function requireCarried(
  app: App,
  worker: Worker,
  session_id: string,
): Promise<StoredSession> {
  const session = await requireSession(app, session_id);
  if (judgeIngress(worker, session)) return session;
  throw new Failure('precondition', "the worker does not match the session's filter");
}

/** All that a worker needs to carry a session. */
interface CarriedSession {
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
  /** Whether the worker reaches the endpoint itself; otherwise it asks for one that does. */
  dials: boolean;
  /** Whether its worker logs in for the client. */
  injects: boolean;
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
    requireCarried(app, worker, session_id),
    findResource(app.db, session_id),
  ]);
  const { private_key_sealed, tofu_sealed, injects, ...facts } = session;
  if (!resource || !private_key_sealed || session.expires_ms <= app.now()) {
    throw new Failure('forbidden', UNKNOWN);
  }
  return {
    session: facts,
    user_id: resource.owner_id,
    version: resource.version,
    private_key: app.barrier.decrypt('credential', keyPlace(session_id), private_key_sealed),
    tofu_token: tofu_sealed ? openTofu(app, session_id, tofu_sealed) : '',
    connections_left: connectionsLeft(session),
    dials: judgeWorker(worker, session.worker_filter),
    injects: injects === 1,
  };
}

function openTofu(app: App, session_id: string, sealed: Uint8Array): string {
  const opened = app.barrier.decrypt('credential', tofuPlace(session_id), sealed);
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
  const sealed = app.barrier.encrypt('credential', tofuPlace(session_id), token);
  caller.record.outcome.session_id = session_id;
  try {
    await app.commit(caller, activate(session_id, version, sealed, app.now()));
    return 'active';
  } catch (error) {
    if (!isConflict(error)) throw error;
    const present = await requireSession(app, session_id);
    if (present.tofu_sealed) return judgeTofu(app, present, token);
    throw new Failure('conflict', 'the session is not pending, or is of another version');
  }
}

function judgeTofu(app: App, session: StoredSession, token: Uint8Array): SessionStatus {
  const { id, tofu_sealed } = session;
  if (!tofu_sealed) throw new Failure('forbidden', UNKNOWN);
  const known = app.barrier.decrypt('credential', tofuPlace(id), tofu_sealed);
  if (known.length === token.length && timingSafeEqual(known, token)) return session.status;
  throw new Failure('forbidden', 'tofu token not allowed');
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
    if (!isConflict(error)) throw error;
    return (await requireSession(app, session_id)).status;
  }
  takeCredentialsBack(app, [session_id]);
  return 'canceling';
}

/** A session that is over and still has connections. */
interface SessionToCut {
  session_id: string;
  reason: 'timed out' | 'canceled';
  /** Of the workers that carry them. */
  worker_ids: readonly string[];
}

/**
 * Sessions that are over and still have connections: what whoever carries them has to cut. Few at
 * any time, however many sessions there are.
 */
export async function listToCut(app: App): Promise<SessionToCut[]> {
  const now = app.now();
  const over = await listOverWithConnections(app.db, now);
  if (over.length === 0) return [];
  const ids = over.map(({ id }) => id);
  return planCuts(over, await listOpenOfSessions(app.db, ids), now);
}

type Over = Awaited<ReturnType<typeof listOverWithConnections>>;
type Open = Awaited<ReturnType<typeof listOpenOfSessions>>;

/** Who has to cut what: both may be thousands at once, where much is canceled with what it was made with. */
export function planCuts(over: Over, open: Open, now: number): SessionToCut[] {
  const carried = Map.groupBy(open, ({ session_id }) => session_id);
  return over.map(({ id, expires_ms }) => {
    const workers = (carried.get(id) ?? []).flatMap((one) => [one.worker_id, one.egress_worker_id]);
    return {
      session_id: id,
      reason: reasonOf(expires_ms, now),
      // Whoever dials the endpoint for another worker ends that as well, whatever the other one does.
      worker_ids: [...new Set(workers)].filter((worker_id) => worker_id !== ''),
    };
  });
}

/** Why a session that is over is. */
const reasonOf = (expires_ms: number, now: number): CutReason =>
  expires_ms <= now ? 'timed out' : 'canceled';

type CutReason = SessionToCut['reason'];

/** Why those of some connections end whose sessions are over, by their ids. */
export async function findCuts(
  app: App,
  connection_ids: readonly string[],
): Promise<Map<string, CutReason>> {
  const now = app.now();
  const over = await listOverWithConnections(app.db, now);
  if (over.length === 0) return new Map();
  const reasons = new Map(over.map(({ id, expires_ms }) => [id, reasonOf(expires_ms, now)]));
  const connections = await listConnectionsById(app.db, connection_ids);
  return new Map(
    connections.flatMap(({ id, session_id }) => {
      const reason = reasons.get(session_id);
      return reason ? [[id, reason]] : [];
    }),
  );
}

/** Whoever carries a session has had so long to end it. */
const OVERDUE_MS = 30_000;

/** Open connections of sessions that have long been over: whoever carries them does not end them. */
export async function listOverdue(
  app: App,
): Promise<{ connection_id: string; worker_id: string; reason: CutReason }[]> {
  const now = app.now();
  const over = await listOverWithConnections(app.db, now - OVERDUE_MS);
  const reasons = new Map(over.map(({ id, expires_ms }) => [id, reasonOf(expires_ms, now)]));
  return (await listOpenOfSessions(app.db, [...reasons.keys()])).map(
    ({ id, worker_id, session_id }) => ({
      connection_id: id,
      worker_id,
      reason: reasons.get(session_id) ?? 'canceled',
    }),
  );
}

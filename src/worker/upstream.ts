import type { Recorded, RecordStep } from '../broker/recordings/recordings/step.ts';
import type { ClosedReason, ConnectionEnds } from '../broker/sessions/connections/connection.ts';
import type { SessionStatus } from '../broker/sessions/session.ts';
import type { SshGrant } from '../broker/targets/injection.operations.ts';
import type { Brought } from './wire/hop.ts';

/** A session as a worker is told of it, with all that it needs to carry it. */
export interface SessionGrant {
  session_id: string;
  /** DER; what both ends prove themselves with and trust alone. */
  certificate: Uint8Array;
  /** Ed25519: 32 bytes of seed and 32 of the public key. */
  private_key: Uint8Array;
  /** Empty before the first use. */
  tofu_token: string;
  /** Of the session, for its activation. */
  version: number;
  status: SessionStatus;
  /** Unix milliseconds, which clients are told … */
  expires_ms: number;
  /** … and how long that is by the server's clock: a worker's own may be wrong. */
  left_ms: number;
  /** -1: unlimited. */
  connection_limit: number;
  /** Where it leads to: a URL of scheme, host and port. */
  endpoint: string;
  /** Of the recording that all its connections must be in; empty where it is not recorded. */
  recording_id: string;
  /** Whether this worker reaches the endpoint itself; otherwise it asks for one that does. */
  dials: boolean;
  /** Whether this side logs in at the endpoint for the client: by what {@link Calls.logIn} gives. */
  injects: boolean;
}

/** A worker carries so many connections at most, and brings as many to others: each report tells of all of them. */
export const MOST_CARRIED = 20_000;

/** Bytes that a connection has carried so far. */
export interface Traffic {
  connection_id: string;
  /** From the client. */
  bytes_up: number;
  /** To the client. */
  bytes_down: number;
}

/** What a worker reports of. */
export interface Carried {
  open: Traffic[];
  /** Ids of connections whose endpoint it has brought to another worker, and has not let go of. */
  brought: string[];
}

/** How a connection ended. */
export interface ConnectionEnd extends Traffic {
  reason: ClosedReason;
  /** The worker that had brought its endpoint; absent: it has dialled it itself. */
  egress_worker_id?: string | undefined;
  /** Where the reason alone does not tell: goes into the record. */
  because?: string | undefined;
}

/** What a worker asks of the server that it belongs to, wherever that runs. */
export interface Calls {
  /** What the worker needs to carry a session that somebody brings to it. */
  lookUp: { request: { session_id: string }; answer: SessionGrant };
  /** The first use: binds the session to its client. Of several at once all succeed. */
  activate: {
    request: { session_id: string; tofu_token: string; version: number };
    answer: { status: SessionStatus };
  };
  cancel: { request: { session_id: string }; answer: { status: SessionStatus } };
  /** One more connection, if the session may have one. */
  authorize: {
    request: { session_id: string };
    answer: { connection_id: string; connections_left: number };
  };
  /** Has another worker reach the endpoint, and come with that ticket. */
  reach: {
    request: { connection_id: string; ticket: string };
    answer: Brought & { worker_id: string };
  };
  /** Its endpoint was reached. */
  connect: {
    request: { connection_id: string } & ConnectionEnds;
    answer: { status: 'connected' };
  };
  /** What it logs in with at the endpoint of a session with injected credentials: asked for each time. */
  logIn: { request: { session_id: string }; answer: SshGrant };
  close: { request: { ends: readonly ConnectionEnd[] }; answer: { closed: number } };
  /** One step of a recording; what is refused must not flow. */
  record: { request: RecordStep; answer: Recorded };
}

export type CallName = keyof Calls;

/** One call, as it is passed on. */
export type Call = {
  [Name in CallName]: { name: Name; request: Calls[Name]['request'] };
}[CallName];

/**
 * Whoever answers them. Each fails with a `Failure`: of kind `unavailable` when the server cannot
 * be asked, of another one when it refuses.
 */
export type Upstream = {
  [Name in CallName]: (request: Calls[Name]['request']) => Promise<Calls[Name]['answer']>;
};

/** Has one call answered that was passed on. */
export function answerCall<Name extends CallName>(
  upstream: Upstream,
  name: Name,
  request: Calls[Name]['request'],
): Promise<Calls[Name]['answer']> {
  return upstream[name](request);
}

/** What a worker is told to close: sessions that are not active any more. */
export interface Cut {
  session_id: string;
  reason: ClosedReason;
}

/** With the workers that carry any of it: what is over is nobody else's to know. */
export interface AddressedCut extends Cut {
  worker_ids: readonly string[];
}

/** What one worker is told of it. */
export const cutsOf = (cuts: readonly AddressedCut[], worker_id: string | undefined): Cut[] =>
  cuts.flatMap(({ worker_ids, ...cut }) =>
    worker_id !== undefined && worker_ids.includes(worker_id) ? [cut] : [],
  );

import { z } from 'zod';
import { omitEmpty } from '../../core/omit-empty.ts';
import type { FieldsOf } from '../resource/handler.ts';
import { formatTime } from '../resource/resource.ts';

export const SESSION_STATUSES = ['pending', 'active', 'canceling', 'terminated'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

/**
 * Says whether a session may pass from one state to another: only forwards, past some or not.
 *
 * @see B-83
 */
export function mayFollow(from: SessionStatus, to: SessionStatus): boolean {
  return SESSION_STATUSES.indexOf(from) < SESSION_STATUSES.indexOf(to);
}

/** States of a session in which it can still be used, or be canceled. */
export const LIVE_STATUSES: readonly SessionStatus[] = ['pending', 'active'];
/** All others. */
export const ENDING_STATUSES: readonly SessionStatus[] = ['canceling', 'terminated'];

/** When a session entered each of its states, in Unix milliseconds; null: never. */
interface StateTimes {
  created_ms: number;
  active_ms: number | null;
  canceling_ms: number | null;
  terminated_ms: number | null;
}

const sessionState = z.object({
  status: z.enum(SESSION_STATUSES),
  start_time: z.string(),
  end_time: z.string().optional().describe('Absent of the present state.'),
});

type SessionState = z.output<typeof sessionState>;

export const sessionShown = {
  target_id: z.string().describe('Absent once the target is gone.'),
  type: z.string().describe('Of the target; absent once that is gone.'),
  user_id: z.string(),
  host_set_id: z.string(),
  host_id: z.string(),
  auth_token_id: z.string(),
  endpoint: z.string(),
  expiration_time: z.string(),
  states: z.array(sessionState).describe('That it has been in, newest first.'),
  status: z.enum(SESSION_STATUSES),
  certificate: z.string().describe('Base64 of DER.'),
  termination_reason: z.string().describe('Absent while it goes on.'),
};

/** The states that a session has been in, newest first. */
export function describeStates(times: StateTimes): SessionState[] {
  const entered: [SessionStatus, number | null][] = [
    ['pending', times.created_ms],
    ['active', times.active_ms],
    ['canceling', times.canceling_ms],
    ['terminated', times.terminated_ms],
  ];
  const states: SessionState[] = [];
  for (const [status, ms] of entered) {
    if (ms === null) continue;
    const start_time = formatTime(ms);
    const [before] = states;
    if (before) before.end_time = start_time;
    states.unshift({ status, start_time });
  }
  return states;
}

/** What a session is apart from the fields that all resources have. */
export interface SessionFacts extends StateTimes {
  id: string;
  /** Empty once the target is gone, as the other ids. */
  target_id: string;
  host_set_id: string;
  host_id: string;
  auth_token_id: string;
  status: SessionStatus;
  endpoint: string;
  /** -1: unlimited. */
  connection_limit: number;
  expires_ms: number;
  worker_filter: string;
  ingress_worker_filter: string;
  certificate: Uint8Array;
  /** Empty while it goes on. */
  termination_reason: string;
  /** Connections that were ever authorized. */
  connections: number;
  open_connections: number;
}

/** What of a session shows besides the common fields. */
export function describeSession(
  session: SessionFacts,
  owner: { user_id: string; type: string },
): FieldsOf<typeof sessionShown> {
  const { target_id, status } = session;
  return omitEmpty({
    target_id,
    // Lost together with the target.
    type: target_id === '' ? '' : owner.type,
    user_id: owner.user_id,
    host_set_id: session.host_set_id,
    host_id: session.host_id,
    auth_token_id: session.auth_token_id,
    endpoint: session.endpoint,
    expiration_time: formatTime(session.expires_ms),
    states: describeStates(session),
    status,
    certificate: Buffer.from(session.certificate).toString('base64'),
    termination_reason: session.termination_reason,
  });
}

/**
 * How many connections a session can still have; -1 without a limit. Closed ones count.
 */
export function connectionsLeft(
  session: Pick<SessionFacts, 'connection_limit' | 'connections'>,
): number {
  const { connection_limit, connections } = session;
  return connection_limit === -1 ? -1 : Math.max(0, connection_limit - connections);
}

/** What the row of a session that has ended says, so that lists can leave it out unopened. */
export interface SessionBody {
  ended?: boolean;
}

/** A session that has ended is forgotten after this long. */
export const KEPT_MS = 3600 * 1000;

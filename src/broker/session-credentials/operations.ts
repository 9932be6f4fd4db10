import type { App } from '../../app.ts';
import type { Effect } from '../../store/write.ts';
import type { BrokerCaller } from '../caller.ts';
import type { Resource } from '../resource.ts';
import type { SessionCredential } from './credential.ts';

/** What of a session its credentials depend on. */
export interface SessionFacts {
  /** `s_…`. */
  id: string;
  /** Unix seconds. */
  expires_at: number;
}

/** The credentials of a new session. */
export interface ResolvedCredentials {
  /** Brokered ones, for the answer: issued ones first, then stored ones; empty for none. */
  credentials: readonly SessionCredential[];
  /** Belong into the write set that makes the session: leases, certificates, injected secrets. */
  effects: readonly Effect[];
  /** Gives back what was issued, when that write set was refused. Never throws. */
  abandon(): Promise<void>;
}

/**
 * Finds or issues the credentials of a target for one session. When one cannot be had, those
 * issued before it are given back, and nothing is left.
 *
 * @throws Failure as the Vault server's answer has it
 */
export async function resolveCredentials(
  _app: App,
  _caller: BrokerCaller,
  _request: { target: Resource; session: SessionFacts },
): Promise<ResolvedCredentials> {
  return { credentials: [], effects: [], abandon: async () => {} };
}

/**
 * What ends the credentials of a session: they are due with the write set that ends the session,
 * and are revoked by {@link revokeSessionCredentials} at once or by the job that follows.
 *
 * @param now Unix seconds
 */
export function endSessionCredentials(_session_id: string, _now: number): Effect[] {
  return [];
}

/** Revokes the credentials of ended sessions now; what cannot be revoked is tried again later. */
export async function revokeSessionCredentials(
  _app: App,
  _session_ids: readonly string[],
): Promise<void> {}

/** Injected credentials of a session, for the worker that carries it. */
export async function readInjectedCredentials(
  _app: App,
  _session_id: string,
): Promise<SessionCredential[]> {
  return [];
}

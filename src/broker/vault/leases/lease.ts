import type { Lease } from '../../../app/lease.ts';
import type { Refusal } from '../client/answer.ts';
import { LONGEST_TRIED, spanOf } from '../tokens/token.ts';

/** Name of this kind among all leases. */
export const VAULT_LEASE = 'broker-vault';

/** What a lease row keeps of what a Vault server gave to a session. */
export interface VaultLeaseData {
  /** Row of the token that it was asked with. */
  token_id: string;
  /** Tells other rows of the same token, that end it where that row is gone; empty for leases from before there was one. */
  token_mac: string;
  /** Of its server, where it lies, whatever the token is asked with later; undefined for leases from before it was kept. */
  namespace: string | undefined;
  /** As the Vault server names it. */
  lease_id: string;
  renewable: boolean;
  /** Unix seconds: when it is renewed, and when the Vault server ends it by itself. */
  renew_at: number;
  until: number;
}

export function vaultLeaseData({ data }: Pick<Lease, 'data'>): VaultLeaseData {
  const { token_id, token_mac = '', namespace, lease_id, renewable, renew_at, until } = data;
  return {
    token_id: String(token_id),
    token_mac: String(token_mac),
    namespace: typeof namespace === 'string' ? namespace : undefined,
    lease_id: String(lease_id),
    renewable: renewable === true,
    renew_at: Number(renew_at),
    until: Number(until),
  };
}

/**
 * When a server has ended a lease by itself, Unix seconds: also one whose last renewals were done there, while their answers
 * were lost. None is asked for after its end here. At most a year after that: leases of no known end were once kept as if
 * they lasted for ever.
 */
export function lastEndOf(lease: Pick<Lease, 'data' | 'expires_at'>): number {
  const { renewable, renew_at, until } = vaultLeaseData(lease);
  const { expires_at } = lease;
  const renewed = renewable ? expires_at + spanOf({ renew_at, expires_at: until }) : until;
  return Math.min(Math.max(until, renewed), expires_at + LONGEST_TRIED);
}

/**
 * Whether a server's refusal to end a lease says that it has none. A server that knows its leases answers 204 for one
 * that is gone; the words are those of its other endpoints, and of servers like it. They count when they are all that
 * it says: its storage that fails has words of leases, too, and ends nothing.
 */
export const saysNoSuchLease = ({ status, words }: Refusal): boolean =>
  (status === 400 || status === 404) &&
  /^(1 error occurred: \* )?(invalid lease|lease not found)$/i.test(words);

/** Where all leases of sessions lie. */
export const SESSION_LEASES = 'broker/sessions';

/** The beginning of the ids of a session's leases. */
export function sessionPrefix(session_id: string): string {
  return `${SESSION_LEASES}/${session_id}`;
}

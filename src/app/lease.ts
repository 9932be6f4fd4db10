import { z } from 'zod';
import { withoutTrailing } from '../core/edges.ts';
import type { Whose } from '../core/fairness/piece.ts';
import { formatTimestamp } from '../core/timestamps.ts';
import type { Effect } from '../store/write.ts';

/** Something given out that ends with a token, or at its time, whichever comes first. */
export interface Lease {
  /** The path it was made at and a random part, e.g. `pki/issue/web/…`. */
  id: string;
  /** The token it ends with; undefined for none. */
  token_id: string | undefined;
  /** The alias it ends with, as the batch token of a log-in does, which made it. */
  alias_id?: string | undefined;
  /** What it ends with besides: the library that made it for a session of the broker. */
  source_id?: string | undefined;
  /** Empty for what belongs to no mount. */
  mount_id: string;
  /** A name in {@link App.leaseKinds}. */
  kind: string;
  /** What the kind needs to end it. A secret in here is sealed by the kind. */
  data: Readonly<Record<string, unknown>>;
  /** Unix seconds, all three. */
  issued_at: number;
  expires_at: number;
  renewed_at: number | undefined;
  renewable: boolean;
}

/** How a lease is ended. */
export interface LeaseEnd {
  /** Ends what the lease stands for; the lease's row is deleted in the same write set. */
  effects: Effect[];
  /** What the record says of what has ended. */
  outcome?: Readonly<Record<string, unknown>>;
  /** What is done once that is durable, off the path: nothing may depend on it. */
  after?: () => void;
}

/** How the server's own work asks somebody else: for whom, and whether in a hurry. */
export interface Asked {
  whose?: Whose;
  hurry?: boolean;
}

/** What a look-up tells of a lease. */
export const leaseReply = z.object({
  id: z.string(),
  issue_time: z.string().describe('RFC 3339.'),
  expire_time: z.string().describe('RFC 3339.'),
  last_renewal: z.string().nullable().describe('RFC 3339.'),
  renewable: z.boolean(),
  ttl: z.int().describe('Seconds that are left.'),
  path: z.string().describe('Where it was made.'),
});
export type LeaseReply = z.output<typeof leaseReply>;

export function describeLease(lease: Lease, now: number): LeaseReply {
  return {
    id: lease.id,
    issue_time: formatTimestamp(lease.issued_at),
    expire_time: formatTimestamp(lease.expires_at),
    last_renewal: lease.renewed_at === undefined ? null : formatTimestamp(lease.renewed_at),
    renewable: lease.renewable,
    ttl: Math.max(0, lease.expires_at - now),
    path: lease.id.slice(0, lease.id.lastIndexOf('/')),
  };
}

/** Sorts after every character that an id may hold. */
export const LAST = '\u{10FFFF}';

/** The ids beneath a prefix, as bounds of a search by bytes: `from` ≤ id < `to`. */
export function rangeOf(prefix: string): { from: string; to: string } {
  const folder = withoutTrailing(prefix, '/');
  // Everything that begins with "a/" sorts before "a0".
  return folder === '' ? { from: '', to: LAST } : { from: `${folder}/`, to: `${folder}0` };
}

/** The next segment of an id beneath a prefix, with a slash at its end if more follows. */
export function segmentOf(id: string, from: string): string {
  const rest = id.slice(from.length);
  const slash = rest.indexOf('/');
  return slash < 0 ? rest : rest.slice(0, slash + 1);
}

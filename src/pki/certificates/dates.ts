import { BoundedMap } from '../../core/bounded-map.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { StoredCertificate } from './store.ts';

/** A chain, by the hash of its text, and the version of its mount's issuers by which it was read. */
export interface ReadChain {
  mount_id: string;
  version: number;
  digest: string;
}

/** When chains that are read became what they are, as far as this process has seen it. */
export class SeenChains extends BoundedMap<{ digest: string; version: number; at_ms: number }> {
  /**
   * A chain changes with others' issuers, whose dates need not tell: what was not read here before counts as
   * changed now, which is never too early.
   *
   * @returns 0 for a chain that another one has followed: whoever read it need not be told when it came
   */
  dateOf({ mount_id, version, digest }: ReadChain, now_ms: number): number {
    const known = this.get(mount_id);
    if (known && known.version > version) return known.digest === digest ? known.at_ms : 0;
    const at_ms = known?.digest === digest ? known.at_ms : now_ms;
    this.set(mount_id, { digest, version, at_ms });
    return at_ms;
  }
}

/** When one of the mount's issuers was last made or renamed, or became the default. */
export const newestOf = memoizeWeak((issuers: ReadonlyMap<string, Issuer>): number => {
  let newest = 0;
  for (const { modified_at_ms } of issuers.values()) newest = Math.max(newest, modified_at_ms);
  return newest;
});

/**
 * A certificate stays what it is until it is revoked. That tidying finds the issuer of a revoked one later moves no date:
 * who asks with one goes on with an answer without `issuer_id`.
 */
export function dateOfCertificate(
  { not_before, revoked_at_ms }: Pick<StoredCertificate, 'not_before' | 'revoked_at_ms'>,
  now_ms: number,
): number {
  return revoked_at_ms ?? Math.min(1000 * not_before, now_ms);
}

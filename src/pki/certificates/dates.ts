import { hash } from 'node:crypto';
import { BoundedMap } from '../../core/bounded-map.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { StoredCertificate } from './store.ts';

/** When chains that are read became what they are, as far as this process has seen it. */
export class SeenChains extends BoundedMap<{ digest: string; at_ms: number }> {
  /**
   * A chain changes with others' issuers, whose dates need not tell: what was not read here before counts as
   * changed now, which is never too early.
   */
  dateOf(mount_id: string, chain: string, now_ms: number): number {
    const digest = hash('sha256', chain, 'base64');
    const known = this.get(mount_id);
    if (known?.digest === digest) return known.at_ms;
    this.set(mount_id, { digest, at_ms: now_ms });
    return now_ms;
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

import { type CrlConfig, crlDurations } from './config.ts';
import type { StoredCrl } from './store.ts';

type Times = Pick<StoredCrl, 'this_update' | 'next_update'>;

/** No CRL is built anew for its age alone before it is this old: anybody may read it as often as they like. */
const LEAST_AGE_S = 30;

/**
 * Says whether a CRL has to be built anew for its age alone.
 *
 * @param now Unix seconds
 */
export function isOld(stored: Times, config: CrlConfig, now: number): boolean {
  const lifetime = stored.next_update - stored.this_update;
  // Without auto_rebuild a CRL is renewed halfway through, so that nobody meets one that ran out.
  const grace = config.auto_rebuild ? crlDurations(config).auto_rebuild_grace_period : lifetime / 2;
  return now >= Math.max(stored.next_update - grace, stored.this_update + LEAST_AGE_S);
}

/**
 * Says whether a delta CRL has to be built anew for what was revoked. One that nothing is to be added to is as good as
 * a new one.
 *
 * @param present what time it is, in Unix seconds, and how far the mount's revocations have come
 */
export function isDeltaDue(
  stored: Pick<StoredCrl, 'this_update' | 'revision'>,
  config: CrlConfig,
  present: { now: number; revision: number },
): boolean {
  if (config.disable || stored.revision >= present.revision) return false;
  return present.now >= stored.this_update + crlDurations(config).delta_rebuild_interval;
}

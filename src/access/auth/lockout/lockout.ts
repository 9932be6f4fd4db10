import type { UserLockout } from '../../../config/settings.ts';

/** Failed log-ins under one name, as they are kept. */
export interface Failures {
  failures: number;
  /** Unix seconds. */
  last_failed_at: number;
  /** How often the name was unlocked since. */
  unlocked: number;
}

/**
 * Counts the failed log-ins that stand against a name.
 *
 * @param now Unix seconds
 * @returns as many as lock it, or more, while it is locked; 0 once all is forgotten
 */
export function countFailures(
  found: Pick<Failures, 'failures' | 'last_failed_at'> | undefined,
  rules: Pick<UserLockout, 'lockout_threshold' | 'lockout_duration' | 'lockout_counter_reset'>,
  now: number,
): number {
  if (!found) return 0;
  const locks = found.failures >= rules.lockout_threshold;
  const lasts = locks ? rules.lockout_duration : rules.lockout_counter_reset;
  return now < found.last_failed_at + lasts ? found.failures : 0;
}

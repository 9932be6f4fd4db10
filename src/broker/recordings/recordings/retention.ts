import type { StoragePolicy } from '../policies/policy.ts';
import type { Retention } from './store.ts';

/** For ever, as far as instants go: 9999-12-31T23:59:59.999Z. */
export const FOR_EVER_MS = 253_402_300_799_999;
const DAY_MS = 86_400_000;

/**
 * How long a recording must be retained, and when it is to be deleted, counted from its end.
 *
 * What the global scope's policy says holds everywhere, but for what it lets be overridden: there an org's own policy is
 * followed, as far as that speaks of it. Nothing is deleted before it need not be retained any more.
 *
 * @param end_ms when the recording ended
 */
export function planRetention(
  end_ms: number,
  { global, org }: { global?: StoragePolicy | undefined; org?: StoragePolicy | undefined },
): Retention {
  const days = (of: 'retain_for' | 'delete_after'): number => {
    const above = global?.[`${of}_days`] ?? 0;
    if (global && !global[`${of}_overridable`]) return above;
    return org?.[`${of}_days`] ?? above;
  };
  const retain = days('retain_for');
  const remove = days('delete_after');
  const after = (count: number): number => Math.min(end_ms + count * DAY_MS, FOR_EVER_MS);
  const retain_until_ms = retain < 0 ? FOR_EVER_MS : retain === 0 ? 0 : after(retain);
  if (remove <= 0 || retain < 0) return { retain_until_ms, delete_after_ms: null };
  return { retain_until_ms, delete_after_ms: Math.max(after(remove), retain_until_ms) };
}

import { formatDuration } from '../../core/durations.ts';

/** What bounds the life of a token. Seconds throughout; 0: no such bound. */
export interface LifetimeBounds {
  /** The mount's effective TTLs, see `effectiveLeaseTtls`. */
  default_ttl: number;
  max_ttl: number;
  /** Asked for when the token was made. */
  explicit_max_ttl: number;
  /** Set by the role or account it was made by. */
  role_max_ttl: number;
  period: number;
}

interface Lifetime {
  /** Seconds from now. */
  ttl: number;
  warnings: string[];
}

/**
 * Works out how long a token lives from now on.
 *
 * A periodic token gets its period each time and is bound by its explicit maximum only; any
 * other gets what is asked for, or the default, and together with the time it has lived already
 * never more than the least of its maxima.
 *
 * @param wanted    seconds asked for; 0: the default
 * @param lived     seconds since it was made; 0 for a new one
 * @returns a `ttl` of 0 or less when its maximum is behind it
 * @see S-49
 */
export function planLifetime(bounds: LifetimeBounds, wanted: number, lived: number): Lifetime {
  const warnings: string[] = [];
  const { explicit_max_ttl, role_max_ttl } = bounds;
  if (bounds.period > 0) {
    const period = Math.min(bounds.period, bounds.max_ttl);
    if (period < bounds.period) {
      warnings.push(
        `period of "${formatDuration(bounds.period)}" exceeded the effective max_ttl of "${formatDuration(bounds.max_ttl)}"; period value is capped accordingly`,
      );
    }
    const ttl = explicit_max_ttl > 0 ? Math.min(period, explicit_max_ttl - lived) : period;
    return { ttl, warnings };
  }
  const max_ttl = leastOf(bounds.max_ttl, role_max_ttl, explicit_max_ttl);
  const asked = wanted > 0 ? wanted : bounds.default_ttl;
  const ttl = Math.min(asked, max_ttl - lived);
  if (wanted > 0 && ttl < wanted) {
    warnings.push(
      `TTL of "${formatDuration(wanted)}" exceeded the effective max_ttl of "${formatDuration(Math.max(0, max_ttl - lived))}"; TTL value is capped accordingly`,
    );
  }
  return { ttl, warnings };
}

/** The least of the bounds that are set. */
function leastOf(...bounds: number[]): number {
  return Math.min(...bounds.filter((bound) => bound > 0));
}

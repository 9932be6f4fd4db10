import type { RateLimits } from '../config.ts';
import { partyOf } from '../core/party.ts';

/** Whose requests are counted together. */
type Per = 'total' | 'ip-address' | 'auth-token';

export type QuotaVerdict =
  | { allowed: true; headers: Readonly<Record<string, string>> }
  /** `retry_after` in seconds; `full`: too many callers to count. */
  | {
      allowed: false;
      full: boolean;
      retry_after: number;
      headers: Readonly<Record<string, string>>;
    };

interface Window {
  used: number;
  /** Unix milliseconds. */
  ends: number;
}

interface Quota {
  per: Per;
  limit: number;
  windows: Map<string, Window>;
}

/** One endpoint's counts. */
interface Counts {
  quotas: readonly [Quota, Quota, Quota];
  policy: string;
}

/** Of the quota for all: what an address may use and still is modest, and what is left to such. */
const MODEST = 0.01;
const SPARE = 0.1;

/** Addresses that are counted at once over all endpoints, and tokens: some 20 MB each. */
const MAX_WINDOWS = 100_000;
/** More of a token's text than tells any two apart. */
const MAX_TOKEN = 128;

/**
 * Counts requests of each endpoint in windows of time: all of them, those of an address (or
 * network, see `partyOf`) and those of a token. Each node counts for itself, in memory. When the
 * quota for all is used up, a tenth more is for those who had little of it, so that one
 * address that asks without end does not close the endpoint to everybody.
 */
export class RateLimiter {
  readonly #limits: RateLimits;
  readonly #period_ms: number;
  readonly #most: number;
  readonly #endpoints = new Map<string, Counts>();
  #swept = Number.NEGATIVE_INFINITY;
  readonly #held = { total: 0, 'ip-address': 0, 'auth-token': 0 };

  /** @param most addresses that are counted at once, and tokens */
  constructor(limits: RateLimits, most = MAX_WINDOWS) {
    this.#limits = limits;
    this.#period_ms = limits.period * 1000;
    this.#most = most;
  }

  /**
   * Counts a request, unless one of its quotas is used up.
   *
   * @param request.token the token's text; empty for none
   * @param now Unix milliseconds
   */
  take(
    request: { endpoint: string; lists: boolean; remote_address: string; token: string },
    now: number,
  ): QuotaVerdict {
    const { quotas, policy } = this.#countsOf(request.endpoint, request.lists);
    const [total, address, token] = quotas;
    const ofAddress = this.#windowOf(address, partyOf(request.remote_address), now);
    const windows: [Quota, Window | undefined][] = [
      [total, this.#windowOf(total, '', now)],
      [address, ofAddress],
    ];
    const spare = ofAddress && isModest(total, ofAddress) ? Math.floor(total.limit * SPARE) : 0;
    if (request.token !== '') {
      // Anybody can make up tokens: when there are too many, those not seen before are not
      // counted, and the address that they come from is all the same.
      const window = this.#windowOf(token, request.token.slice(0, MAX_TOKEN), now);
      if (window) windows.push([token, window]);
    }
    let least: { limit: number; left: number; ends: number } | undefined;
    for (const [{ per, limit }, window] of windows) {
      if (!window) {
        const retry_after = this.#limits.period;
        return { allowed: false, full: true, retry_after, headers: {} };
      }
      const left = limit + (per === 'total' ? spare : 0) - window.used;
      if (!least || left < least.left) least = { limit, left, ends: window.ends };
    }
    const { limit, left, ends } = least ?? { limit: 0, left: 0, ends: now };
    const reset = Math.ceil((ends - now) / 1000);
    const remaining = left > 0 ? Math.min(left, limit) - 1 : 0;
    const headers = {
      ratelimit: `limit=${limit}, remaining=${remaining}, reset=${reset}`,
      'ratelimit-policy': policy,
    };
    if (left <= 0) return { allowed: false, full: false, retry_after: reset, headers };
    for (const [, window] of windows) if (window) window.used += 1;
    return { allowed: true, headers };
  }

  #countsOf(endpoint: string, lists: boolean): Counts {
    const known = this.#endpoints.get(endpoint);
    if (known) return known;
    const { list, other, period } = this.#limits;
    const { total, per_ip_address, per_auth_token } = lists ? list : other;
    const quota = (per: Per, limit: number): Quota => ({ per, limit, windows: new Map() });
    const quotas: Counts['quotas'] = [
      quota('total', total),
      quota('ip-address', per_ip_address),
      quota('auth-token', per_auth_token),
    ];
    const policy = quotas
      .map(({ per, limit }) => `${limit};w=${period};comment="${per}"`)
      .join(', ');
    const counts = { quotas, policy };
    this.#endpoints.set(endpoint, counts);
    return counts;
  }

  #windowOf({ per, windows }: Quota, who: string, now: number): Window | undefined {
    const known = windows.get(who);
    if (known) {
      if (known.ends <= now || known.ends > now + this.#period_ms) {
        known.used = 0;
        known.ends = now + this.#period_ms;
      }
      return known;
    }
    const isFull = (): boolean => per !== 'total' && this.#held[per] >= this.#most;
    if (isFull()) this.#sweep(now);
    if (isFull()) return undefined;
    const fresh = { used: 0, ends: now + this.#period_ms };
    // A copy: a piece of a header would keep the whole header in memory.
    windows.set(Buffer.from(who, 'latin1').toString('latin1'), fresh);
    this.#held[per] += 1;
    return fresh;
  }

  /** Not more often than once a second, however many are refused meanwhile. */
  #sweep(now: number): void {
    if (now < this.#swept + SWEEP_MS && now >= this.#swept) return;
    this.#swept = now;
    for (const { quotas } of this.#endpoints.values()) {
      for (const { per, windows } of quotas) {
        for (const [who, window] of windows) {
          if (window.ends > now) continue;
          windows.delete(who);
          this.#held[per] -= 1;
        }
      }
    }
  }
}

const SWEEP_MS = 1_000;

function isModest(total: Quota, address: Window): boolean {
  return address.used < total.limit * MODEST;
}

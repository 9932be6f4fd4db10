import type { RateLimits } from '../../config/settings.ts';
import { Counts } from '../../core/fairness/counts.ts';
import { partyOf, siteOf, siteOfParty } from '../../core/fairness/party.ts';

/** Whose requests are counted together. */
type Per = 'total' | 'ip-address' | 'auth-token';

export type QuotaVerdict =
  | { allowed: true; headers: Readonly<Record<string, string>> }
  /** `retry_after` in seconds. */
  | { allowed: false; retry_after: number; headers: Readonly<Record<string, string>> };

interface QuotaPeriod {
  used: number;
  /** Unix milliseconds. */
  ends: number;
}

interface Quota {
  per: Per;
  limit: number;
  windows: Map<string, QuotaPeriod>;
}

/** One endpoint's counts. */
interface Endpoint {
  quotas: readonly [Quota, Quota, Quota];
  policy: string;
  /** What each party has used of the quota for all, since that began anew. */
  parties: Map<string, number>;
}

/** Of the quota for all: what a party may always use, as long as there are few of them. */
const MODEST = 0.01;
/** And what it may use however many there are, unless even a hundredth is less. */
const LEAST = 5;

/** Addresses that are counted at once over all endpoints, and tokens: some 20 MB each. */
const MAX_WINDOWS = 100_000;
/** Of them, for the networks of one site, which may have 65,536; beyond it they are counted as one. */
const MOST_OF_SITE = 0.01;
/** More of a token's text than tells any two apart. */
const MAX_TOKEN = 128;

/** A request as far as it is counted. */
export interface Counted {
  endpoint: string;
  lists: boolean;
  remote_address: string;
  /** The token's text; empty for none. */
  token: string;
  /** Whom a token that is good stands for; absent for a token that is not, and for none. */
  known_as?: string | undefined;
}

/**
 * Counts the requests of each endpoint, those of callers with a good token apart from all others:
 * whatever nobody in particular asks for uses nothing up of what is for those who are known.
 */
export class RateLimiter {
  readonly #known: Pool;
  readonly #unauthenticated: Pool;

  /** @param most addresses that are counted at once, and tokens, and parties; of either kind */
  constructor(limits: RateLimits, most = MAX_WINDOWS) {
    this.#known = new Pool(limits, most);
    this.#unauthenticated = new Pool(limits, most);
  }

  /**
   * Counts a request, unless one of its quotas is used up.
   *
   * @param now Unix milliseconds
   */
  take(request: Counted, now: number): QuotaVerdict {
    const pool = request.known_as === undefined ? this.#unauthenticated : this.#known;
    return pool.take(request, now);
  }
}

/**
 * Counts requests of each endpoint in windows of time: all of them, those of an address (or
 * network, see `partyOf`) and those of a token. Each node counts for itself, in memory. When the
 * quota for all is used up, a party that had little of it still has its share, so that
 * nobody who asks without end closes the endpoint to everybody.
 */
class Pool {
  readonly #limits: RateLimits;
  readonly #period_ms: number;
  readonly #most: number;
  readonly #endpoints = new Map<string, Endpoint>();
  #swept = Number.NEGATIVE_INFINITY;
  readonly #held = { total: 0, 'ip-address': 0, 'auth-token': 0 };
  /** Windows of networks, by the site that these lie in. */
  readonly #heldBySite = new Counts();
  #parties = 0;

  constructor(limits: RateLimits, most: number) {
    this.#limits = limits;
    this.#period_ms = limits.period * 1000;
    this.#most = most;
  }

  take(request: Counted, now: number): QuotaVerdict {
    const counts = this.#countsOf(request.endpoint, request.lists);
    const [total, address, token] = counts.quotas;
    const ofAll = this.#windowOf(total, '', now);
    if (ofAll?.used === 0) this.#forgetParties(counts);
    const windows: [Quota, QuotaPeriod][] = [];
    if (ofAll) windows.push([total, ofAll]);
    // Who comes when no more can be counted is not refused for that: the quota for all counts them.
    const ofAddress = this.#addressWindowOf(address, request.remote_address, now);
    if (ofAddress) windows.push([address, ofAddress]);
    if (request.token !== '') {
      // Anybody can make up tokens: when there are too many, those not seen before are not
      // counted, and the address that they come from is all the same.
      const window = this.#windowOf(token, request.token.slice(0, MAX_TOKEN), now);
      if (window) windows.push([token, window]);
    }
    const party = request.known_as ?? siteOf(request.remote_address);
    const share = this.#shareOf(counts, party);
    let least: { limit: number; left: number; ends: number } | undefined;
    for (const [{ per, limit }, window] of windows) {
      const own = limit - window.used;
      const left = per === 'total' ? Math.max(own, share) : own;
      if (!least || left < least.left) least = { limit, left, ends: window.ends };
    }
    const { limit, left, ends } = least ?? { limit: 0, left: 0, ends: now };
    const reset = Math.ceil((ends - now) / 1000);
    const remaining = left > 0 ? Math.min(left, limit) - 1 : 0;
    const headers = {
      ratelimit: `limit=${limit}, remaining=${remaining}, reset=${reset}`,
      'ratelimit-policy': counts.policy,
    };
    if (left <= 0) return { allowed: false, retry_after: reset, headers };
    for (const [, window] of windows) window.used += 1;
    this.#countParty(counts, party);
    return { allowed: true, headers };
  }

  /** What a party may still use of the quota for all, when the others have used it up. */
  #shareOf({ quotas: [total], parties }: Endpoint, party: string): number {
    const used = parties.get(party);
    if (used === undefined && this.#parties >= this.#most) return 0;
    const among = parties.size + (used === undefined ? 1 : 0);
    return chooseShare(total.limit, among) - (used ?? 0);
  }

  #countParty({ parties }: Endpoint, party: string): void {
    const used = parties.get(party);
    if (used === undefined && this.#parties >= this.#most) return;
    if (used === undefined) this.#parties += 1;
    parties.set(party, (used ?? 0) + 1);
  }

  #forgetParties({ parties }: Endpoint): void {
    this.#parties -= parties.size;
    parties.clear();
  }

  #countsOf(endpoint: string, lists: boolean): Endpoint {
    const known = this.#endpoints.get(endpoint);
    if (known) return known;
    const { list, other, period } = this.#limits;
    const { total, per_ip_address, per_auth_token } = lists ? list : other;
    const quota = (per: Per, limit: number): Quota => ({ per, limit, windows: new Map() });
    const quotas: Endpoint['quotas'] = [
      quota('total', total),
      quota('ip-address', per_ip_address),
      quota('auth-token', per_auth_token),
    ];
    const policy = quotas
      .map(({ per, limit }) => `${limit};w=${period};comment="${per}"`)
      .join(', ');
    const counts: Endpoint = { quotas, policy, parties: new Map() };
    this.#endpoints.set(endpoint, counts);
    return counts;
  }

  #addressWindowOf(quota: Quota, address: string, now: number): QuotaPeriod | undefined {
    const party = partyOf(address);
    if (quota.windows.has(party)) return this.#windowOf(quota, party, now);
    const site = siteOf(address);
    const held = this.#heldBySite.get(site);
    if (site !== party && held >= Math.max(1, this.#most * MOST_OF_SITE)) {
      return this.#windowOf(quota, site, now);
    }
    const window = this.#windowOf(quota, party, now);
    // Read anew: to make room, some of the site's may have been forgotten.
    if (window && site !== party) this.#heldBySite.add(site, 1);
    return window;
  }

  #windowOf({ per, windows }: Quota, who: string, now: number): QuotaPeriod | undefined {
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

  #forgetOfSite(party: string): void {
    const site = siteOfParty(party);
    if (site !== party) this.#heldBySite.add(site, -1);
  }

  /** Not more often than once a second, however many are refused meanwhile. */
  #sweep(now: number): void {
    if (now < this.#swept + SWEEP_MS && now >= this.#swept) return;
    this.#swept = now;
    for (const counts of this.#endpoints.values()) {
      for (const { per, windows } of counts.quotas) {
        for (const [who, window] of windows) {
          if (window.ends > now) continue;
          if (per === 'total') this.#forgetParties(counts);
          windows.delete(who);
          this.#held[per] -= 1;
          if (per === 'ip-address') this.#forgetOfSite(who);
        }
      }
    }
  }
}

const SWEEP_MS = 1_000;

/**
 * The share of one among so many parties: the same for each, so that whoever uses everything up has no
 * more of it than who comes last, and together, of a hundred parties, no more than the quota once more.
 */
function chooseShare(limit: number, among: number): number {
  const modest = Math.floor(limit * MODEST);
  return Math.min(modest, Math.max(LEAST, Math.floor(limit / among)));
}

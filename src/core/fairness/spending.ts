import { BoundedMap } from '../bounded-map.ts';

/** Accounts that are kept; the one that was charged longest ago is forgotten first. */
const MOST_ACCOUNTS = 4_096;

/** What was spent of late, by account: what is longer ago counts less. */
export class Spending {
  readonly #half_life_ms: number;
  /** Who was charged longest ago stands first. */
  readonly #accounts: BoundedMap<{ spent: number; at_ms: number }>;

  /** @param half_life_ms in so long what was spent counts half */
  constructor(half_life_ms: number, most = MOST_ACCOUNTS) {
    this.#half_life_ms = half_life_ms;
    this.#accounts = new BoundedMap(most);
  }

  /** Accounts that are kept just now. */
  get size(): number {
    return this.#accounts.size;
  }

  /** @param now milliseconds of a clock that only goes on, as everywhere here */
  charge(name: string, spent: number, now: number): void {
    const sum = this.of(name, now) + spent;
    this.#accounts.set(name, { spent: sum, at_ms: now });
  }

  of(name: string, now: number): number {
    const known = this.#accounts.get(name);
    if (!known) return 0;
    return known.spent * 0.5 ** (Math.max(0, now - known.at_ms) / this.#half_life_ms);
  }
}

import { siteOf } from '../core/party.ts';

/** What was refused: each kind has a budget of its own, so that none can hide behind another. */
export type RefusalKind = 'unknown_token' | 'other';

/** Refused requests of strangers that are recorded one by one, in a time and of a kind. */
interface Bounds {
  ms: number;
  /** In all; of it a part for sites that have had few. */
  whole: number;
  /** Of sites that have had theirs, no more once there are so many in all. */
  repeated: number;
  /** From one site, before it has had its share, and in any case. */
  few: number;
  most: number;
}

const BOUNDS: readonly Bounds[] = [
  { ms: 1_000, whole: 10, repeated: 10, few: 3, most: 3 },
  // What lasts is kept for years: a flood that goes on all day fills no disk.
  { ms: 60_000, whole: 60, repeated: 30, few: 3, most: 20 },
];
/** Addresses that are counted apart; all others together. */
const ADDRESSES = 20;

/** Refused requests from an address or an IPv6 site; none: from all those that were not counted apart. */
export interface RefusalCount {
  remote_address: string | undefined;
  requests: number;
}

/**
 * Keeps the records of refused strangers within bounds, whatever they send: of each kind ten a second
 * and sixty a minute one by one, and beyond that only how many there were. Of one site (see `siteOf`) these are
 * three a second and twenty a minute, and half of a minute's are for sites that have had no more than three.
 */
export class RefusalTally {
  #budgets = { unknown_token: newBudgets(), other: newBudgets() };
  #counted = new Map<string, number>();
  #others = 0;

  /**
   * Takes in a refusal.
   *
   * @param now Unix milliseconds
   * @param isRoom whether another record can be kept
   * @returns true when it is to be recorded by itself, false when it was counted
   */
  take(now: number, remote_address: string, kind: RefusalKind, isRoom = true): boolean {
    const site = siteOf(remote_address);
    const budgets = this.#budgets[kind];
    for (const budget of budgets) budget.turn(now);
    if (isRoom && budgets.every((budget) => budget.has(site))) {
      for (const budget of budgets) budget.use(site);
      return true;
    }
    const counted = this.#counted.get(site);
    if (counted !== undefined || this.#counted.size < ADDRESSES) {
      this.#counted.set(site, (counted ?? 0) + 1);
    } else {
      this.#others += 1;
    }
    return false;
  }

  /** What was counted since the last time, at most 21 counts. */
  drain(): RefusalCount[] {
    const counts: RefusalCount[] = [...this.#counted].map(([remote_address, requests]) => ({
      remote_address,
      requests,
    }));
    if (this.#others > 0) counts.push({ remote_address: undefined, requests: this.#others });
    this.#counted = new Map();
    this.#others = 0;
    return counts;
  }
}

/** What was recorded one by one in the present second or minute: in all, and from each site. */
class Budget {
  readonly #bounds: Bounds;
  #time = 0;
  #whole = 0;
  #from = new Map<string, number>();

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  turn(now: number): void {
    const time = Math.floor(now / this.#bounds.ms);
    if (time === this.#time) return;
    this.#time = time;
    this.#whole = 0;
    this.#from = new Map();
  }

  has(site: string): boolean {
    const { whole, repeated, few, most } = this.#bounds;
    const before = this.#from.get(site) ?? 0;
    return before < most && this.#whole < (before < few ? whole : repeated);
  }

  use(site: string): void {
    this.#whole += 1;
    this.#from.set(site, (this.#from.get(site) ?? 0) + 1);
  }
}

const newBudgets = (): readonly Budget[] => BOUNDS.map((bounds) => new Budget(bounds));

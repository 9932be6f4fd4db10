/** What was refused: each kind has a budget of its own, so that none can hide behind another. */
export type RefusalKind = 'unknown_token' | 'other';

/** Refused requests of strangers that are recorded one by one, within a second and of a kind. */
const WHOLE = 10;
/** The same, from one address. */
const WHOLE_FROM_ONE = 3;
/** Addresses that are counted apart; all others together. */
const ADDRESSES = 20;

/** Refused requests from an address; no address: from all those that were not counted apart. */
export interface RefusalCount {
  remote_address: string | undefined;
  requests: number;
}

/**
 * Keeps the records of refused strangers within bounds, whatever they send: of each kind ten a
 * second one by one, three of them from the same address, and beyond that only how many there were.
 */
export class RefusalTally {
  #second = 0;
  #budgets = newBudgets();
  #counted = new Map<string, number>();
  #others = 0;

  /**
   * Takes in a refusal.
   *
   * @param now Unix milliseconds
   * @returns true when it is to be recorded by itself, false when it was counted
   */
  take(now: number, remote_address: string, kind: RefusalKind): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#budgets = newBudgets();
    }
    const budget = this.#budgets[kind];
    const before = budget.from.get(remote_address) ?? 0;
    if (budget.whole < WHOLE && before < WHOLE_FROM_ONE) {
      budget.whole += 1;
      budget.from.set(remote_address, before + 1);
      return true;
    }
    const counted = this.#counted.get(remote_address);
    if (counted !== undefined || this.#counted.size < ADDRESSES) {
      this.#counted.set(remote_address, (counted ?? 0) + 1);
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

/** What was recorded one by one in the present second: in all, and from each address. */
interface Budget {
  whole: number;
  from: Map<string, number>;
}

function newBudgets(): Record<RefusalKind, Budget> {
  return {
    unknown_token: { whole: 0, from: new Map() },
    other: { whole: 0, from: new Map() },
  };
}

import { Spending } from '../../../core/fairness/spending.ts';

/** The clocks of a thread, and its next turn. */
interface Clock {
  /** Milliseconds. */
  now(): number;
  /** CPU time that the thread has spent, milliseconds. */
  spent(): number;
  /** Calls something in the next turn of the thread's loop. */
  next(work: () => void): void;
}

/** In so long what was spent counts half. */
const HALF_LIFE_MS = 10_000;

interface Piece {
  accounts: readonly string[];
  work(): void;
}

/**
 * Shares the CPU time of one thread out. Work comes in pieces, one of them a turn of the loop; of those that wait
 * the one goes first for whose accounts least was spent of late. What an account stands for, a server or whoever
 * asks, is up to the caller: who is new, or frugal, waits for one piece of a spendthrift and not for all of them.
 */
export class Shares {
  readonly #clock: Clock;
  readonly #spending = new Spending(HALF_LIFE_MS);
  readonly #waiting = new Set<Piece>();
  #isTurning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Accounts that are kept just now. */
  get size(): number {
    return this.#spending.size;
  }

  /** Does a piece of work in some later turn. @returns what takes it back as long as it waits */
  add(accounts: readonly string[], work: () => void): () => void {
    const piece = { accounts, work };
    this.#waiting.add(piece);
    this.#turn();
    return () => void this.#waiting.delete(piece);
  }

  #turn(): void {
    if (this.#isTurning || this.#waiting.size === 0) return;
    this.#isTurning = true;
    this.#clock.next(() => this.#doOne());
  }

  #doOne(): void {
    const piece = this.#choose();
    if (!piece) {
      this.#isTurning = false;
      return;
    }
    this.#waiting.delete(piece);
    const before = this.#clock.spent();
    try {
      piece.work();
    } finally {
      // What the piece has led to, in promises too, is done by then.
      this.#clock.next(() => {
        this.#charge(piece.accounts, this.#clock.spent() - before);
        this.#isTurning = false;
        this.#turn();
      });
    }
  }

  #choose(): Piece | undefined {
    let best: Piece | undefined;
    let least = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    for (const piece of this.#waiting) {
      const sum = piece.accounts.reduce((all, account) => all + this.#spending.of(account, now), 0);
      if (sum >= least) continue;
      best = piece;
      least = sum;
    }
    return best;
  }

  #charge(accounts: readonly string[], spent_ms: number): void {
    const now = this.#clock.now();
    for (const account of accounts) this.#spending.charge(account, spent_ms, now);
  }
}

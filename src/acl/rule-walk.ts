import { Breath } from '../core/fairness/breath.ts';
import type { Comparisons } from './comparisons.ts';

/**
 * What looking through the rules of a token may take for one request: two tenths of a second. Policies as
 * people write them take a hundredth of that; those that are written to take long have an end.
 */
const MOST_EFFORT = 2_000_000;

/** Less, and fewer steps, are done sooner than the clock is read. */
const LITTLE = 16;
const STEPS = 8;

/**
 * One request that looks through all the rules of a token, each of which may be judged by all others:
 * with one bound for all of it, and others have their turn as it goes.
 */
export class RuleWalk {
  /** What has been done is taken from it. */
  readonly effort: Comparisons = { left: MOST_EFFORT };
  readonly #breath = new Breath();
  readonly #requireConnected: () => void;
  #seen = MOST_EFFORT;
  #steps = 0;

  /** @param requireConnected throws when nobody waits for the answer any more */
  constructor(requireConnected: () => void = () => {}) {
    this.#requireConnected = requireConnected;
  }

  /** Nothing more is looked at: what is not known counts as not permitted. */
  get isSpent(): boolean {
    return this.effort.left < 0;
  }

  /** Whether it is time to rest. Asked between two steps, each of which takes far less than a millisecond. */
  get isDue(): boolean {
    this.#steps += 1;
    if (this.#seen - this.effort.left < LITTLE && this.#steps < STEPS) return false;
    this.#seen = this.effort.left;
    this.#steps = 0;
    return this.#breath.isDue;
  }

  async rest(): Promise<void> {
    await this.#breath.take();
    this.#requireConnected();
  }
}

import type { Comparisons } from './comparisons.ts';

/** What a step comes to, as comparisons go: some hundredths of a millisecond. */
const STEP = 256;

/** Says when a step is over, by what has been taken from a budget meanwhile. */
export class Stride {
  readonly #budget: Comparisons;
  #end: number;

  constructor(budget: Comparisons) {
    this.#budget = budget;
    this.#end = budget.left - STEP;
  }

  /**
   * To be asked between two pieces of the work, with a `yield` each time that it is so: a long piece
   * counts as the many steps that it was, so that whoever counts steps knows how long they took.
   */
  get isOver(): boolean {
    if (this.#budget.left > this.#end) return false;
    this.#end -= STEP;
    return true;
  }
}

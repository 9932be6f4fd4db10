import type { Comparisons } from './comparisons.ts';

/** What a step comes to, as comparisons go: some hundredths of a millisecond. */
const STEP = 256;

/** A budget that is used up in steps: says when one is over, by what has been taken from it meanwhile. */
export class Stride implements Comparisons {
  readonly #budget: Comparisons;
  #end: number;

  constructor(budget: Comparisons) {
    this.#budget = budget;
    this.#end = budget.left - STEP;
  }

  get left(): number {
    return this.#budget.left;
  }

  set left(left: number) {
    this.#budget.left = left;
  }

  /**
   * To be asked between two pieces of the work, with a `yield` each time that it is so: a long piece
   * counts as the many steps that it was, so that whoever counts steps knows how long they took.
   */
  get isStepOver(): boolean {
    if (this.left > this.#end) return false;
    this.#end -= STEP;
    return true;
  }
}

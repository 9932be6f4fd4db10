import { type Budget, evaluateFilter, type FilterVerdict, STEPS_OF_ONE } from './evaluate.ts';
import type { Expression } from './expression.ts';

/** What a filter may cost in a list, however short the list is: some tenths of a second. */
const STEPS_OF_LIST = 10_000_000;
/** What each item adds to that: about what it takes to find and to describe one. */
const STEPS_OF_ITEM = 5_000;
/** After so many steps others get their turn. */
const STEPS_OF_TURN = 250_000;

/**
 * Runs one filter on item after item, and keeps account of what it costs. A filter such as
 * people write never gets to the end of its budget, in however long a list.
 */
export class FilterMeter {
  readonly #expression: Expression;
  readonly #left: Budget = { steps: STEPS_OF_LIST };
  #turn = 0;

  constructor(expression: Expression) {
    this.#expression = expression;
  }

  judge(value: unknown): FilterVerdict {
    this.#left.steps += STEPS_OF_ITEM;
    const given = Math.min(STEPS_OF_ONE, this.#left.steps);
    const budget: Budget = { steps: given };
    const verdict = evaluateFilter(this.#expression, value, budget);
    const spent = given - budget.steps;
    this.#left.steps -= spent;
    this.#turn += spent;
    return verdict;
  }

  /** Whether others have waited long enough; asked once for each turn that they get. */
  takeTurn(): boolean {
    const due = this.#turn >= STEPS_OF_TURN;
    if (due) this.#turn = 0;
    return due;
  }
}

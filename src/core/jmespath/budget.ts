import { invalid } from '../failure.ts';

/**
 * Steps of one expression: some tens of milliseconds at most, as everything takes time in proportion to its steps.
 * What people write of an entity takes some dozens.
 */
const MOST_STEPS = 100_000;
/** Characters in a step. */
const CHARACTERS = 16;

/** What an expression may take: one can be written in twenty characters that doubles what it makes with each further ten. */
export class Budget {
  #left = MOST_STEPS;

  /** @throws Failure `invalid` once it is used up */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw invalid('the expression takes or makes too much');
  }

  /** @param times how often it is gone through */
  spendOnText(text: string, times = 1): void {
    this.spend((1 + Math.floor(text.length / CHARACTERS)) * times);
  }

  /** Spends what a value has in it, each part as often as it is there. */
  measure(value: unknown, times = 1): void {
    if (typeof value === 'string') this.spendOnText(value, times);
    else this.spend(times);
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const part of value) this.measure(part);
      return;
    }
    for (const [name, part] of Object.entries(value)) {
      this.spendOnText(name);
      this.measure(part);
    }
  }
}

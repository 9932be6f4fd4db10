import { randomInt } from 'node:crypto';
import type { Comparisons } from './comparisons.ts';

/** Ends of one length, and a number made of the characters of each. */
interface EndsOfLength {
  length: number;
  sums: Set<number>;
  texts: Set<string>;
}

/** Cutting a text at an end and looking for what is cut off takes as long as so many comparisons. */
const CUTTING = 10;

/** Another one in each process, so that nobody can write texts that seem to be ends. */
const FACTOR = 2 * randomInt(2 ** 20, 2 ** 30) + 1;

/** Goes on with a number made of the characters of a text. */
export function mixCode(sum: number, code: number): number {
  const product = Math.imul(sum ^ code, FACTOR);
  return product ^ (product >>> 15);
}

/**
 * Beginnings, or endings, of many lengths: a text is gone through once, whatever the lengths, and cut
 * only where its characters so far come to the same number as those of an end.
 */
export class TextEnds {
  readonly #isEnding: boolean;
  readonly #byLength = new Map<number, EndsOfLength>();
  /** Shortest first; made when it is first asked for. */
  #sorted: EndsOfLength[] | undefined;

  constructor(which: 'beginning' | 'ending') {
    this.#isEnding = which === 'ending';
  }

  add(end: string): void {
    const { length } = end;
    const none = { length, sums: new Set<number>(), texts: new Set<string>() };
    const known = this.#byLength.getOrInsert(length, none);
    known.sums.add(this.#goOn(0, end, 0, length));
    known.texts.add(end);
    this.#sorted = undefined;
  }

  /** What looking through a text takes, as comparisons go. */
  costOf(text: string): number {
    const sorted = this.#inOrder();
    return sorted.length + (Math.min(text.length, sorted.at(-1)?.length ?? 0) >> 3);
  }

  /** Whether a text has one of the ends; when nothing is left of the budget, `false` says nothing. */
  has(text: string, budget: Comparisons): boolean {
    let sum = 0;
    let at = 0;
    for (const { length, sums, texts } of this.#inOrder()) {
      if (length > text.length || budget.left < 0) return false;
      sum = this.#goOn(sum, text, at, length);
      at = length;
      if (!sums.has(sum)) continue;
      budget.left -= CUTTING + (length >> 4);
      const end = this.#isEnding ? text.slice(text.length - length) : text.slice(0, length);
      if (texts.has(end)) return true;
    }
    return false;
  }

  /** The number after some more characters, counted from the end in question. */
  #goOn(sum: number, text: string, from: number, to: number): number {
    const last = text.length - 1;
    let after = sum;
    for (let at = from; at < to; at++) {
      after = mixCode(after, text.charCodeAt(this.#isEnding ? last - at : at));
    }
    return after;
  }

  #inOrder(): EndsOfLength[] {
    this.#sorted ??= [...this.#byLength.values()].sort((one, other) => one.length - other.length);
    return this.#sorted;
  }
}

import { findText } from '../core/text-search.ts';

/** How many more comparisons a judgement may take; below zero: it came to no end. */
export interface Comparisons {
  left: number;
}

/**
 * What comparing the parameters of one request may come to: some hundredths of a second, in which
 * nobody else is served. With ten thousand names some dozens of lengths of ends stay below it, and
 * twenty pieces that have a star on both sides.
 */
export const MOST_COMPARISONS = 600_000;

export const isGlob = (named: unknown): named is string =>
  typeof named === 'string' && (named.startsWith('*') || named.endsWith('*'));

/** Texts of one length each, by that length. */
type Ends = Map<number, Set<string>>;

/**
 * Texts, and patterns with a `*` at either end, asked about for many texts. A `*` at an end stands
 * for anything; elsewhere it stands for itself.
 */
export class ValueSet {
  readonly #whole = new Set<string>();
  readonly #beginnings: Ends = new Map();
  readonly #endings: Ends = new Map();
  readonly #pieces: string[] = [];
  /** What cutting a text at all ends of other lengths costs, and what searching for all pieces does. */
  #ends = 0;
  #written = 0;

  constructor(named: Iterable<string>) {
    for (const each of named) this.#add(each);
    for (const length of [...this.#beginnings.keys(), ...this.#endings.keys()]) {
      this.#ends += 1 + (length >> 6);
    }
    for (const { length } of this.#pieces) this.#written += length >> 4;
  }

  #add(named: string): void {
    const open = named.startsWith('*');
    const closed = named.endsWith('*');
    // A star alone is open and closed: it leaves an empty end, which any text has.
    if (open && closed && named.length > 1) this.#pieces.push(named.slice(1, -1));
    else if (open) addEnd(this.#endings, named.slice(1));
    else if (closed) addEnd(this.#beginnings, named.slice(0, -1));
    else this.#whole.add(named);
  }

  /** Says whether a text is named or fits a pattern; undefined when that would take too long. */
  has(text: string, budget: Comparisons): boolean | undefined {
    budget.left -= 1;
    if (budget.left < 0) return undefined;
    if (this.#whole.has(text)) return true;
    budget.left -= this.#ends + this.#pieces.length * (1 + (text.length >> 4)) + this.#written;
    if (budget.left < 0) return undefined;
    for (const [length, ends] of this.#endings) {
      if (length <= text.length && ends.has(text.slice(text.length - length))) return true;
    }
    for (const [length, ends] of this.#beginnings) {
      if (ends.has(text.slice(0, length))) return true;
    }
    return this.#pieces.some((piece) => findText(text, piece) >= 0);
  }
}

function addEnd(ends: Ends, end: string): void {
  const known = ends.get(end.length);
  if (known) known.add(end);
  else ends.set(end.length, new Set([end]));
}

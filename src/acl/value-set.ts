import type { Steps } from '../core/steps.ts';
import { FEW_STEPS, findText } from '../core/text-search.ts';
import type { Comparisons } from './comparisons.ts';
import type { Stride } from './stride.ts';
import { TextEnds } from './text-ends.ts';

export const isGlob = (named: unknown): named is string =>
  typeof named === 'string' && (named.startsWith('*') || named.endsWith('*'));

/**
 * Texts, and patterns with a `*` at either end, asked about for many texts. A `*` at an end stands
 * for anything; elsewhere it stands for itself.
 */
export class ValueSet {
  readonly #whole = new Set<string>();
  readonly #beginnings = new TextEnds('beginning');
  readonly #endings = new TextEnds('ending');
  readonly #pieces: string[] = [];

  constructor(named: Iterable<string>) {
    for (const each of named) this.#add(each);
  }

  #add(named: string): void {
    const open = named.startsWith('*');
    const closed = named.endsWith('*');
    // A star alone is open and closed: it leaves an empty end, which any text has.
    if (open && closed && named.length > 1) this.#pieces.push(named.slice(1, -1));
    else if (open) this.#endings.add(named.slice(1));
    else if (closed) this.#beginnings.add(named.slice(0, -1));
    else this.#whole.add(named);
  }

  /** Says whether a text is named or fits a pattern; undefined when that would take too long. */
  has(text: string, budget: Comparisons): boolean | undefined {
    const found = this.#hasEnds(text, budget);
    if (found !== false) return found;
    for (const piece of this.#pieces) {
      const isFound = hasPiece(text, piece, budget);
      if (isFound !== false) return isFound;
    }
    return false;
  }

  /** {@link has}: a long text is searched for one piece at a step. */
  *walk(text: string, budget: Stride): Steps<boolean | undefined> {
    const found = this.#hasEnds(text, budget);
    if (found !== false) return found;
    for (const piece of this.#pieces) {
      while (budget.isStepOver) yield;
      const isFound = hasPiece(text, piece, budget);
      if (isFound !== false) return isFound;
    }
    return false;
  }

  #hasEnds(text: string, budget: Comparisons): boolean | undefined {
    budget.left -= 1;
    if (budget.left < 0) return undefined;
    if (this.#whole.has(text)) return true;
    budget.left -= this.#endings.costOf(text) + this.#beginnings.costOf(text);
    if (budget.left < 0) return undefined;
    const hasEnd = this.#endings.has(text, budget) || this.#beginnings.has(text, budget);
    return hasEnd || budget.left >= 0 ? hasEnd : undefined;
  }
}

/** Longer texts are searched in steps. */
export const LONG_TEXT = 16_384;

function hasPiece(text: string, piece: string, budget: Comparisons): boolean | undefined {
  budget.left -= costOfSearch(text, piece);
  return budget.left < 0 ? undefined : findText(text, piece) >= 0;
}

function costOfSearch({ length }: string, piece: string): number {
  if (piece.length > length) return 1;
  const steps = piece.length * (length - piece.length);
  return steps <= FEW_STEPS ? 1 + (length >> 4) + (steps >> 7) : 1 + ((length + piece.length) >> 2);
}

import { fitsGlob, type Glob, parseGlob } from './glob.ts';

/** How many more patterns may be compared with texts; below zero: there were too many. */
export interface Budget {
  left: number;
}

/** A piece of text of this many characters tells patterns apart well, and there are few of each. */
const LONGEST_GRAM = 4;
/** Pieces of one text that are weighed against each other. */
const SAMPLES = 5;

/**
 * Texts and patterns with `*`, asked about for many texts. A text that is listed is found at once.
 * Each pattern is filed under a piece of itself that few others have, so that a text is compared
 * with those patterns only whose piece it holds.
 */
export class PatternSet {
  readonly #exact = new Set<string>();
  /** By their rarest piece; empty: those that have nothing but stars. */
  readonly #filed = new Map<string, Glob[]>();
  /** Lengths of those pieces. */
  readonly #lengths = new Set<number>();

  constructor(entries: Iterable<string>) {
    const patterns: string[] = [];
    for (const entry of entries) {
      if (entry.includes('*')) patterns.push(entry);
      else this.#exact.add(entry);
    }
    this.#file(patterns);
  }

  #file(patterns: readonly string[]): void {
    const parsed = patterns.map((pattern) => {
      const glob = parseGlob(pattern);
      return { glob, grams: sampleGrams(glob) };
    });
    const counts = new Map<string, number>();
    for (const { grams } of parsed) {
      for (const gram of grams) counts.set(gram, (counts.get(gram) ?? 0) + 1);
    }
    for (const { glob, grams } of parsed) {
      let rarest = grams[0] ?? '';
      for (const gram of grams) {
        if ((counts.get(gram) ?? 0) < (counts.get(rarest) ?? 0)) rarest = gram;
      }
      this.#filed.getOrInsert(rarest, []).push(glob);
      this.#lengths.add(rarest.length);
    }
  }

  /** Says whether the text is listed, or fits a listed pattern; no when the budget runs out. */
  has(text: string, budget: Budget): boolean {
    if (this.#exact.has(text)) return true;
    if (this.#filed.size === 0) return false;
    for (const length of this.#lengths) {
      const seen = new Set<string>();
      for (let at = 0; at + length <= text.length; at += 1) {
        const gram = text.slice(at, at + length);
        if (seen.has(gram)) continue;
        seen.add(gram);
        const globs = this.#filed.get(gram);
        if (globs && someFits(globs, text, budget)) return true;
        if (length === 0) break;
      }
    }
    return false;
  }
}

function someFits(globs: readonly Glob[], text: string, budget: Budget): boolean {
  for (const glob of globs) {
    // A long text, or a pattern of many pieces, counts for several.
    budget.left -= 1 + ((text.length + glob.length) >> 5);
    if (budget.left < 0) return false;
    if (fitsGlob(glob, text)) return true;
  }
  return false;
}

/** Some pieces of the pattern's beginning, its end, and the longest text between stars. */
function sampleGrams({ first, middle, last = '' }: Glob): string[] {
  let longest = '';
  for (const piece of middle) if (piece.length > longest.length) longest = piece;
  return [first, longest, last].flatMap(sample);
}

/** Pieces of equal length, the text's first and last among them. */
function sample(text: string): string[] {
  if (text === '') return [];
  const length = Math.min(LONGEST_GRAM, text.length);
  const places = text.length - length;
  const count = Math.min(SAMPLES, places + 1);
  return Array.from({ length: count }, (_, index) => {
    const at = Math.round((index * places) / Math.max(1, count - 1));
    return text.slice(at, at + length);
  });
}

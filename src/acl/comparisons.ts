/** How many more comparisons a judgement may take; below zero: it came to no end. */
export interface Comparisons {
  left: number;
}

/**
 * What judging one request may come to, however many rules, tables and paths judge it: some hundredths
 * of a second, in which nobody else is served. With ten thousand names eighty ends stay below it, and
 * thirty pieces that have a star on both sides.
 */
export const MOST_COMPARISONS = 1_000_000;

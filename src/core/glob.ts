import { findText } from './text-search.ts';

/** A pattern in which `*` stands for any text, the empty one included, taken apart at its stars. */
export interface Glob {
  /** What the text begins with; the whole text when there is no star. */
  first: string;
  /** Between stars, in order, none of them empty. */
  middle: readonly string[];
  /** What it ends with; undefined when there is no star. */
  last: string | undefined;
  /** Of all that is written between stars. */
  length: number;
}

export function parseGlob(pattern: string): Glob {
  const pieces = pattern.split('*');
  const [first = ''] = pieces;
  const last = pieces.length > 1 ? pieces.at(-1) : undefined;
  const middle = pieces.slice(1, -1).filter((piece) => piece !== '');
  return { first, middle, last, length: pattern.length - pieces.length + 1 };
}

/**
 * Says whether a text fits a pattern, as `foo.x.example.com` does `foo*.example.com`. Everything but `*` stands for itself,
 * letter case too. Takes time in proportion to both together and needs no regular expression, so no pattern can make it stall.
 */
export function fitsGlob({ first, middle, last }: Glob, text: string): boolean {
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  // The leftmost place for each piece leaves the most room for those that follow.
  for (const piece of middle) {
    const found = findText(text, piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

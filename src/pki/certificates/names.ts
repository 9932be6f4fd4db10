import { isAscii } from '../fields/host-name.ts';

/** A name from its end on, so that everything beneath one lies together. */
export function reverseName(name: string): string {
  const lower = name.toLowerCase();
  if (!isAscii(lower)) return [...lower].reverse().join('');
  let reversed = '';
  for (let at = lower.length - 1; at >= 0; at -= 1) reversed += lower[at];
  return reversed;
}

/** Names as a certificate is found by them, in the order of their index: its pages are each taken once. */
export const reverseAll = (names: Iterable<string>): string[] => {
  // Most have the subject's name once more.
  const reversed = Array.from(new Set(names), reverseName).filter((name) => name !== '');
  return reversed.length > 1 ? [...new Set(reversed)].sort() : reversed;
};

/** What a certificate's row says of the names that it is found by. */
export interface NamesOfRow {
  subject_cn: string;
  /** A JSON list of them backwards, without spaces; null: the subject's common name alone, as of most. */
  names: string | null;
}

/** @param reversed all of them as {@link reverseAll} has them, that of the subject among them */
export const encodeNames = (subject_cn: string, reversed: readonly string[]): string | null =>
  reversed.length > 1 || (subject_cn === '' && reversed.length > 0)
    ? JSON.stringify(reversed)
    : null;

/** Names that a certificate is found by, backwards, in their order. */
export const decodeNames = ({ subject_cn, names }: NamesOfRow): string[] =>
  names === null ? reverseAll([subject_cn]) : JSON.parse(names);

/** Reversed names with `from` ≤ name < `to`. */
export interface NameRange {
  from: string;
  to: string;
  /** How the names of the range begin in {@link NamesOfRow.names}, behind what parts them from others. */
  begins: string;
}

/** @param name `*.example.com`: everything beneath */
export function nameRange(name: string): NameRange {
  if (!name.startsWith('*.')) {
    const reversed = reverseName(name);
    // A name has no such letter: none but itself lies in between.
    return { from: reversed, to: `${reversed}\u0001`, begins: JSON.stringify(reversed) };
  }
  // Whatever begins with "moc.elpmaxe." sorts before "moc.elpmaxe/".
  const from = reverseName(name.slice(1));
  const begins = JSON.stringify(from).slice(0, -1);
  return { from, to: `${from.slice(0, -1)}/`, begins };
}

export const isInRange = (reversed: string, { from, to }: NameRange): boolean =>
  reversed >= from && reversed < to;

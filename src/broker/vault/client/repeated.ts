/** So many letters and digits in a row, of a text that was sent, are a part of it that is not told. */
const RUN = 5;

/** Characters that are looked through, as they were sent and without their marks: some milliseconds. */
const MOST_SCANNED = 16_384;

/**
 * What there is in some texts, to tell whether a word repeats any of it; see {@link repeats}. What is too long to be
 * looked through may have any word.
 */
export type Sent = ReadonlySet<string> | 'anything';

/** The words of texts, their parts, and all runs of their letters, whatever marks stand between those. */
export function piecesOf(texts: readonly string[]): Sent {
  const pieces = new Set<string>();
  if (texts.reduce((sum, { length }) => sum + length, 0) > MOST_SCANNED) return 'anything';
  let left = MOST_SCANNED;
  for (const text of texts) {
    // One letter may stand for eighteen.
    const folded = fold(text);
    left -= folded.length;
    if (left < 0) return 'anything';
    for (const part of partsOf(folded)) pieces.add(part);
    for (const run of runsOf(folded)) pieces.add(run);
  }
  pieces.delete('');
  return pieces;
}

/** Whether a word, or a part of it, is one of those that were sent, or has a run of their letters. */
export function repeats(sent: Sent, word: string): boolean {
  if (sent === 'anything') return true;
  if (sent.size === 0) return false;
  const folded = fold(word);
  return [...partsOf(folded), ...runsOf(folded)].some((piece) => sent.has(piece));
}

/** Names and values of JSON; of anything else all of it. */
export function textsOf(body: string): string[] {
  const texts: string[] = [];
  const take = function (this: unknown, name: string, value: unknown): unknown {
    if (!Array.isArray(this)) texts.push(name);
    if (typeof value === 'string' || typeof value === 'number') texts.push(String(value));
    return value;
  };
  try {
    JSON.parse(body, take);
    return texts;
  } catch {
    return [body];
  }
}

/** A path as it is sent, and as it is read. */
export function textsOfPath(path: string): string[] {
  try {
    return [path, decodeURIComponent(path)];
  } catch {
    return [path];
  }
}

/** Letters without their marks, in one case and one width. */
const fold = (text: string): string =>
  // Marks would be put into order first, pair by pair.
  text.replace(MARKS, '').normalize('NFKD').replace(MARKS, '').toLowerCase();

const MARKS = /\p{M}+/gu;

const partsOf = (text: string): string[] => text.split(NO_LETTERS);

const NO_LETTERS = /[^\p{L}\p{N}]+/u;

function runsOf(text: string): string[] {
  const letters = partsOf(text).join('');
  const runs: string[] = [];
  for (let at = 0; at + RUN <= letters.length; at += 1) runs.push(letters.slice(at, at + RUN));
  return runs;
}

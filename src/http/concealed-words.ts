/** Of more texts, in longer words, or where they would be compared for longer, nothing is told. */
const MOST_TOLD = { texts: 100, words: 4_096, steps: 4_000_000 };

/**
 * Words with hashes in place of some texts, the longest first; what stands in a hash is no text.
 *
 * @param hashes by text, none of which is empty
 */
export function concealTexts(words: string, hashes: ReadonlyMap<string, string>): string {
  if (hashes.size === 0) return words;
  const texts = [...hashes.keys()].sort((a, b) => b.length - a.length);
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  const { texts: most, words: longest, steps } = MOST_TOLD;
  if (
    texts.length > most ||
    words.length > longest ||
    // Each may be compared whole at each place.
    words.length * characters > steps
  ) {
    return 'the words of this refusal may tell what is concealed';
  }
  let told = '';
  for (let at = 0; at < words.length; ) {
    const text = texts.find((each) => words.startsWith(each, at));
    told += text === undefined ? words.charAt(at) : hashes.get(text);
    at += text?.length ?? 1;
  }
  return told;
}

/**
 * Says whether a text fits a pattern in which `*` stands for any text, the empty one included.
 * Everything else stands for itself, letter case too. Takes time in proportion to
 * pattern × text at worst and needs no regular expression, so no pattern can make it stall.
 *
 * @example matchGlob('foo*.example.com', 'foo.x.example.com') // true
 */
export function matchGlob(pattern: string, text: string): boolean {
  const pieces = pattern.split('*');
  const first = pieces[0] ?? '';
  if (pieces.length === 1) return pattern === text;
  if (!text.startsWith(first)) return false;
  const last = pieces[pieces.length - 1] ?? '';
  let at = first.length;
  // The leftmost place for each piece leaves the most room for those that follow.
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/** Up to so many steps at worst, the engine's own search takes some microseconds. */
export const FEW_STEPS = 8_192;

/**
 * Where a piece begins in a text, as `indexOf` has it, in time in proportion to both together: that
 * takes piece × text at worst, which is seconds for what fits into one request.
 *
 * @returns -1 when it is not there
 */
export function findText(text: string, piece: string, from = 0): number {
  const left = text.length - from;
  if (piece.length > left) return -1;
  return piece.length * left <= FEW_STEPS
    ? text.indexOf(piece, from)
    : findLong(text, piece, from, bordersOf(piece));
}

/** Knuth, Morris and Pratt: no character of the text is looked at again once it has fitted. */
function findLong(text: string, piece: string, from: number, borders: Uint32Array): number {
  let fitted = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (fitted > 0 && piece.charCodeAt(fitted) !== code) fitted = borders[fitted - 1] ?? 0;
    if (piece.charCodeAt(fitted) === code) fitted += 1;
    if (fitted === piece.length) return at - fitted + 1;
  }
  return -1;
}

/** For each beginning of a piece, how long a shorter beginning it ends in. */
function bordersOf(piece: string): Uint32Array {
  const borders = new Uint32Array(piece.length);
  let fitted = 0;
  for (let at = 1; at < piece.length; at += 1) {
    const code = piece.charCodeAt(at);
    while (fitted > 0 && piece.charCodeAt(fitted) !== code) fitted = borders[fitted - 1] ?? 0;
    if (piece.charCodeAt(fitted) === code) fitted += 1;
    borders[at] = fitted;
  }
  return borders;
}

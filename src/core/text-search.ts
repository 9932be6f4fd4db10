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

/**
 * Where a piece begins the last time in a text, as `lastIndexOf` has it, in time in proportion to both together.
 *
 * @param latest where it may begin at the latest
 * @returns -1 when it is not there
 */
export function findLastText(text: string, piece: string, latest = text.length): number {
  const end = Math.min(text.length, latest + piece.length);
  if (piece.length * end <= FEW_STEPS) return text.lastIndexOf(piece, latest);
  const borders = bordersOf(piece);
  let last = -1;
  let fitted = 0;
  for (let at = 0; at < end; at += 1) {
    fitted = fitOne(piece, borders, fitted, text.charCodeAt(at));
    if (fitted < piece.length) continue;
    last = at - fitted + 1;
    fitted = borders[fitted - 1] ?? 0;
  }
  return last;
}

/** Knuth, Morris and Pratt: no character of the text is looked at again once it has fitted. */
function findLong(text: string, piece: string, from: number, borders: Uint32Array): number {
  let fitted = 0;
  for (let at = from; at < text.length; at += 1) {
    fitted = fitOne(piece, borders, fitted, text.charCodeAt(at));
    if (fitted === piece.length) return at - fitted + 1;
  }
  return -1;
}

/** How much of a piece fits once one more character has come. */
function fitOne(piece: string, borders: Uint32Array, fitted: number, code: number): number {
  let fits = fitted;
  while (fits > 0 && piece.charCodeAt(fits) !== code) fits = borders[fits - 1] ?? 0;
  return piece.charCodeAt(fits) === code ? fits + 1 : fits;
}

/** For each beginning of a piece, how long a shorter beginning it ends in. */
function bordersOf(piece: string): Uint32Array {
  const borders = new Uint32Array(piece.length);
  let fitted = 0;
  for (let at = 1; at < piece.length; at += 1) {
    fitted = fitOne(piece, borders, fitted, piece.charCodeAt(at));
    borders[at] = fitted;
  }
  return borders;
}

/**
 * A name in lower case, letter by letter: a name's beginning folds to the beginning of what the
 * name folds to, so that a pattern about beginnings means the same before and after. The plain
 * conversion of a text does not hold this: it writes the same capital sigma in two ways, by
 * whether more letters follow. No other letter depends on its neighbours.
 */
export function foldName(name: string): string {
  return name.replaceAll('\u03a3', '\u03c3').toLowerCase();
}

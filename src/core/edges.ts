// An expression such as `/\/+$/` looks at every slash of a text again for each slash before it.

/** A text without a letter at its end, however often it stands there: `a//` is `a`. */
export function withoutTrailing(text: string, letter: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === letter) end--;
  return text.slice(0, end);
}

/** The same at its beginning. */
export function withoutLeading(text: string, letter: string): string {
  let start = 0;
  while (start < text.length && text[start] === letter) start++;
  return text.slice(start);
}

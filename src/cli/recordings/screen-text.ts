// What a recording shows is whatever somebody else's programs wrote, and whoever plays it sits before a terminal that
// does what it is told.

const ESC = '\u001b';
const BEL = '\u0007';
/** CSI, DCS, SOS, OSC, PM, APC and ST as single characters of the upper controls. */
const C1 = /[\u0080-\u009f]/g;

/**
 * Lets text through to a terminal without what would have the terminal answer, copy to the clipboard, or act beyond
 * its screen: strings of control (OSC, DCS, SOS, PM, APC), reports (CSI … c, n, x), and what has the window
 * moved or renamed (CSI … t). What is begun in one piece and finished in another is told as well.
 */
export class ScreenText {
  /** A sequence that has begun, as far as it came. */
  #begun = '';
  #isString = false;

  take(text: string): string {
    const all = this.#begun + text;
    this.#begun = '';
    let out = '';
    let at = 0;
    while (at < all.length) {
      if (this.#isString) {
        const end = endOfString(all, at);
        if (end === undefined) {
          // An escape at the very end may be the first half of what ends it.
          this.#begun = all.endsWith(ESC) ? ESC : '';
          return out;
        }
        this.#isString = false;
        at = end;
        continue;
      }
      const next = all.indexOf(ESC, at);
      if (next < 0) return out + all.slice(at).replace(C1, '');
      out += all.slice(at, next).replace(C1, '');
      const sequence = sequenceAt(all, next);
      if (sequence === undefined) {
        // One that is longer than any real one is let go of.
        this.#begun = all.length - next > 256 ? '' : all.slice(next);
        return out;
      }
      if (sequence === 'string') {
        this.#isString = true;
        at = next + 2;
        continue;
      }
      if (isHarmless(sequence)) out += sequence;
      at = next + sequence.length;
    }
    return out;
  }
}

function endOfString(text: string, from: number): number | undefined {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === BEL || text[at] === '\u009c') return at + 1;
    if (text[at] === ESC && at + 1 < text.length) return text[at + 1] === '\\' ? at + 2 : at;
  }
  return undefined;
}

/** A whole sequence (ECMA-48 §5.3 and §5.4), what begins a string, or undefined for one that is not whole yet. */
function sequenceAt(text: string, at: number): string | undefined {
  const kind = text[at + 1];
  if (kind === undefined) return undefined;
  if (/[P\]X^_]/.test(kind)) return 'string';
  let end = at + 1;
  if (kind === '[') {
    end += 1;
    while (end < text.length && /[0-?]/.test(text[end] ?? '')) end += 1;
  }
  while (end < text.length && /[ -/]/.test(text[end] ?? '')) end += 1;
  return end < text.length ? text.slice(at, end + 1) : undefined;
}

function isHarmless(sequence: string): boolean {
  const kind = sequence[1] ?? '';
  const last = sequence.at(-1) ?? '';
  // A character that ends no sequence is left to the terminal, without the escape before it.
  if (last < '0' || last > '~') return false;
  if (kind === '[') return !/[cnxt]/.test(last) && !/[$"*]/.test(sequence);
  // ESC Z asks who the terminal is; ESC c is its reset, which is what it says.
  return last !== 'Z';
}

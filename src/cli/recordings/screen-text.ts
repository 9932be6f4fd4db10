// What a recording shows is whatever somebody else's programs wrote, and whoever plays it sits before a terminal that
// does what it is told.

const ESC = '\u001b';
const BEL = '\u0007';
/**
 * Controls that no screen shows anything by: ENQ, by which a terminal says who it is, and the upper ones, which are CSI,
 * DCS, SOS, OSC, PM, APC and ST as single characters.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant.
const UNSHOWN = /[\x00-\x06\x10-\x1a\x1c-\x1f\x7f-\x9f]/g;
/** Where a string of control ends: at BEL, at ST, and where CAN or SUB gives it up. */
const STRING_ENDS = `${BEL}\u009c\u0018\u001a`;

/** Sequences that a screen alone is changed by; every other one is left out. */
const SHOWN: readonly RegExp[] = [
  // Colours, places, what is erased, inserted, deleted, scrolled and repeated, tabs, margins (ECMA-48 §8.3).
  /^.\[[\d;:]*[@A-HJ-MPSXZ`abd-gmrsu]$/,
  // With more numbers it follows the mouse.
  /^.\[\d*T$/,
  /^.\[\?[\d;]*[JK]$/,
  // Insertion; other modes without a mark are the keyboard's.
  /^.\[4[hl]$/,
  // The cursor's form, and the soft reset.
  /^.\[\d* q$/,
  /^.\[!p$/,
  // Letters, double lines, a kept place, a line down and up, a tab, the reset.
  /^.[()*+./-][0-~]$/,
  /^.#[3-68]$/,
  /^.[78DEHMNOcno|}~]$/,
];

/** Modes of the screen: how it wraps, scrolls and blinks, and which one it is. Others are of keys and the mouse. */
const SCREEN_MODES = new Set('5 6 7 12 25 45 47 69 1047 1048 1049 2026'.split(' '));

/** Has a terminal be as it was, whatever a recording left behind: the first screen, its cursor, colours and letters. */
export const TERMINAL_RESET = `${ESC}[?47l${ESC}[!p\u000f${ESC}[0m`;

/**
 * Lets text through to a terminal without what would have the terminal answer, copy to the clipboard, print, or act
 * beyond its screen: only what is known to change the screen and nothing else goes through. What is begun in one
 * piece and finished in another is told as well.
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
      if (next < 0) return out + all.slice(at).replace(UNSHOWN, '');
      out += all.slice(at, next).replace(UNSHOWN, '');
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
      out += shownOf(sequence);
      at = next + sequence.length;
    }
    return out;
  }
}

function endOfString(text: string, from: number): number | undefined {
  for (let at = from; at < text.length; at += 1) {
    if (STRING_ENDS.includes(text[at] ?? ' ')) return at + 1;
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

/** What a terminal is given of a sequence. */
function shownOf(sequence: string): string {
  const [, modes, last = ''] = /^.\[\?([\d;]+)([hl])$/.exec(sequence) ?? [];
  if (modes !== undefined) {
    const shown = modes.split(';').filter((mode) => SCREEN_MODES.has(mode));
    return shown.length === 0 ? '' : `${ESC}[?${shown.join(';')}${last}`;
  }
  return SHOWN.some((known) => known.test(sequence)) ? sequence : '';
}

/** What takes longer to compile than one instruction, counted in instructions. */
const UNICODE_CLASS = 50;
const CLASS_MEMBER = 0.25;
/** Letters of a range that are looked at one by one in the time of an instruction. */
const FOLDED_SPAN = 64;

/**
 * An upper bound of the program that a regular expression (RE2) is compiled to, in
 * instructions; found without compiling it, as that is what takes the time and the memory:
 * `(aaa…){1000}` has a thousand times the instructions that it has letters. What is no regular
 * expression gets a number, too.
 */
export function measurePattern(text: string): number {
  return new PatternReader(text).measure();
}

/** Instructions of a group that is still open: all of them, and those that a repetition would repeat. */
interface Group {
  total: number;
  last: number;
}

class PatternReader {
  readonly #text: string;
  /** Letters without regard to case, somewhere: ranges are then looked at letter by letter. */
  readonly #folds: boolean;
  #at = 0;
  /** What compiling takes beyond the instructions; a repetition does not repeat it. */
  #effort = 0;

  constructor(text: string) {
    this.#text = text;
    this.#folds = /\(\?[A-Za-z]*i/.test(text);
  }

  measure(): number {
    const outer: Group[] = [];
    // Beginning, end, and the instruction that fails.
    let group: Group = { total: 4, last: 0 };
    while (this.#at < this.#text.length) {
      const letter = this.#text[this.#at++];
      if (letter === '(') {
        if (this.#skipFlags()) continue;
        outer.push(group);
        // Where it begins and ends is noted, each by an instruction.
        group = { total: 2, last: 0 };
      } else if (letter === ')') {
        const around = outer.pop();
        if (around) {
          add(around, group.total);
          group = around;
        }
      } else if (letter === '{') {
        const times = this.#readTimes();
        if (times === undefined) add(group, 1);
        else repeat(group, times);
      } else if (letter === '*' || letter === '+' || letter === '?') {
        group.total += 2;
        group.last += 2;
      } else this.#readAtom(letter, group);
    }
    // Brackets that are left open are no regular expression, and are refused later.
    return outer.reduce((sum, { total }) => sum + total, group.total + this.#effort);
  }

  #readAtom(letter: string | undefined, group: Group): void {
    if (letter === '\\' && this.#text[this.#at] === 'Q') {
      const end = this.#text.indexOf('\\E', this.#at);
      const stop = end < 0 ? this.#text.length : end;
      group.total += stop - this.#at - 1;
      group.last = 1;
      this.#at = end < 0 ? stop : end + 2;
      return;
    }
    if (letter === '[') this.#readClass();
    else if (letter === '\\') this.#readEscape();
    add(group, 1);
  }

  /** What follows `(?`: flags for the rest of the group are nothing that could be repeated. */
  #skipFlags(): boolean {
    const found = this.#take(/\?[A-Za-z-]*\)/y);
    if (found !== undefined) return true;
    this.#take(/\?(?:[A-Za-z-]*:|P?<\w*>)/y);
    return false;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  /** What `{3}`, `{3,}` and `{3,5}` repeat; undefined for a bracket that is just a bracket. */
  #readTimes(): Times | undefined {
    const found = this.#take(/\d{1,4}(?:,\d{0,4})?\}/y);
    if (found === undefined) return undefined;
    const [least = '', most = least] = found.slice(0, -1).split(',');
    return { least: Number(least), most: most === '' ? undefined : Number(most) };
  }

  /** What follows a backslash. @returns the letter that it stands for, if it does for one */
  #readEscape(): number | undefined {
    const letter = this.#text[this.#at++] ?? '';
    if (letter === 'p' || letter === 'P') {
      this.#take(/\{[^}]*\}|./y);
      this.#effort += UNICODE_CLASS;
      return undefined;
    }
    const hex = letter === 'x' ? this.#take(/\{[0-9A-Fa-f]*\}|[0-9A-Fa-f]{2}/y) : undefined;
    if (hex !== undefined) return Number.parseInt(hex.replace('{', ''), 16);
    if (!/[0-7]/.test(letter)) return letter.codePointAt(0);
    return Number.parseInt(letter + (this.#take(/[0-7]{1,2}/y) ?? ''), 8);
  }

  /** A class; its end is where RE2 sees it: not at a bracket that is its first letter. */
  #readClass(): void {
    this.#take(/\^/y);
    for (let first = true; this.#at < this.#text.length; first = false) {
      if (this.#text[this.#at] === ']' && !first) {
        this.#at++;
        return;
      }
      this.#effort += CLASS_MEMBER;
      if (this.#take(/\[:\^?[a-z]*:\]/y) === undefined) this.#readRange();
    }
  }

  #readRange(): void {
    const from = this.#readMember();
    if (this.#text[this.#at] !== '-' || this.#text[this.#at + 1] === ']') return;
    this.#at++;
    const to = this.#readMember();
    if (this.#folds) this.#effort += Math.max(0, (to ?? 0) - (from ?? 0)) / FOLDED_SPAN;
  }

  #readMember(): number | undefined {
    if (this.#text[this.#at] === '\\') {
      this.#at++;
      return this.#readEscape();
    }
    const letter = this.#text.codePointAt(this.#at);
    this.#at += letter !== undefined && letter > 0xffff ? 2 : 1;
    return letter;
  }
}

/** `most` is undefined where there is none. */
interface Times {
  least: number;
  most: number | undefined;
}

function add(group: Group, size: number): void {
  group.total += size;
  group.last = size;
}

function repeat(group: Group, { least, most }: Times): void {
  const copies = Math.max(1, least, most ?? 0);
  // Each copy that may be left out has an instruction that says so.
  const optional = most === undefined ? 2 : Math.max(0, most - least);
  const grown = group.last * copies + optional + 2;
  group.total += grown - group.last;
  group.last = grown;
}

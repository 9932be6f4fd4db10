/** As they stand, and as URLs have them. */
const BACKSLASHES = /(?:\\|%(?:25)*5C)+/iy;
/** What is seen as nothing or as a blank, of all scripts. */
const UNSEEN = /[\s\p{Cc}\p{Cf}]/u;

/** What a part of a text stands for that may be escaped, many times over. */
type Kind = 'letter' | 'blank' | 'line' | 'quote' | 'comma' | 'other' | 'none';

/** Reads a text that JSON and URLs may have escaped, any number of times. */
export class Reader {
  readonly #text: string;
  /** Nothing is read from here on. */
  readonly #end: number;
  at: number;
  kind: Kind = 'none';
  /** What is read at present, if something escapes it. */
  unit = '';
  /** Where the next begins. */
  next: number;

  constructor(text: string, at: number, end: number) {
    this.#text = text;
    this.#end = end;
    this.at = at;
    this.next = at;
    this.go(at);
  }

  go(at: number): void {
    this.at = at;
    this.unit = '';
    this.next = at + 1;
    if (at >= this.#end) {
      this.kind = 'none';
      this.next = at;
      return;
    }
    const code = this.#text.charCodeAt(at);
    if (code === BACKSLASH) this.kind = this.#readEscape(at);
    else if (code === PERCENT) this.kind = this.#readPercent(at);
    else this.kind = kindOf(code);
  }

  step(): void {
    this.go(this.next);
  }

  skip(...kinds: readonly Kind[]): void {
    while (this.is(...kinds)) this.step();
  }

  is(...kinds: readonly Kind[]): boolean {
    return kinds.includes(this.kind);
  }

  /** Goes over a letter and those right after it that nothing escapes. */
  takeLetters(): string {
    const { at, unit, next } = this;
    let end = next;
    while (end < this.#end && kindOf(this.#text.charCodeAt(end)) === 'letter') end += 1;
    this.go(end);
    return unit === '' ? this.#text.slice(at, end) : unit + this.#text.slice(next, end);
  }

  /** Goes over what the expression matches here. */
  match(expression: RegExp): string | undefined {
    expression.lastIndex = this.at;
    const found = expression.exec(this.#text)?.[0];
    if (found === undefined || this.at + found.length > this.#end) return undefined;
    this.go(this.at + found.length);
    return found;
  }

  isAt(expression: RegExp): boolean {
    expression.lastIndex = this.at;
    return expression.test(this.#text);
  }

  /** Whether what ends here names a member of an object. */
  isName(): boolean {
    return this.#text.charAt(this.next) === ':';
  }

  #take(char: string): Kind {
    this.unit = char;
    return kindOf(char.charCodeAt(0));
  }

  #readEscape(from: number): Kind {
    const at = this.#findEscaped(from);
    const char = at < this.#end ? this.#text.charAt(at) : '';
    this.next = Math.min(at + char.length, this.#end);
    if (char === 'n' || char === 'r') return 'line';
    if (char === 't' || char === 'f' || char === 'b') return 'blank';
    if (char === '/' || char === '"') return this.#take(char);
    if (char === '%') return this.#readPercent(at);
    return char === 'u' ? this.#readCode(at + 1, 4) : 'other';
  }

  /** Where the backslashes end that begin here. */
  #findEscaped(from: number): number {
    // Of most there is one, and to see that by the expression takes five times as long.
    const after = this.#text.charCodeAt(from + 1);
    const isOne = this.#text.charCodeAt(from) === BACKSLASH;
    if (isOne && after !== BACKSLASH && after !== PERCENT) return from + 1;
    BACKSLASHES.lastIndex = from;
    return BACKSLASHES.test(this.#text) ? BACKSLASHES.lastIndex : from + 1;
  }

  #readPercent(from: number): Kind {
    let at = from + 1;
    while (this.#text.startsWith('25', at)) at += 2;
    const isBackslash = this.#text.charAt(at) === '5' && /[Cc]/.test(this.#text.charAt(at + 1));
    return isBackslash ? this.#readEscape(from) : this.#readCode(at, 2);
  }

  #readCode(at: number, length: number): Kind {
    const end = at + length;
    if (end > this.#end) return 'other';
    let code = 0;
    for (let digit = at; digit < end; digit += 1) {
      code = code * 16 + (DIGITS[this.#text.charCodeAt(digit)] ?? Number.NaN);
    }
    if (Number.isNaN(code)) return 'other';
    this.next = end;
    return this.#take(String.fromCharCode(code));
  }
}

const BACKSLASH = 0x5c;
const PERCENT = 0x25;

/** Of hexadecimal digits; of everything else none. */
const DIGITS: readonly number[] = Array.from({ length: 103 }, (_, code) =>
  Number(`0x${String.fromCharCode(code)}`),
);

/** By their codes, since they are looked up for each. */
const KINDS: readonly Kind[] = Array.from({ length: 128 }, (_, code) => judgeKind(code));

function kindOf(code: number): Kind {
  const known = KINDS[code];
  if (known !== undefined) return known;
  const kind = OTHERS.get(code) ?? judgeKind(code);
  OTHERS.set(code, kind);
  return kind;
}

/** Of other scripts, as far as they have been seen: no more than there are. */
const OTHERS = new Map<number, Kind>();

function judgeKind(code: number): Kind {
  const char = String.fromCharCode(code);
  if (/[A-Za-z0-9+/=]/.test(char)) return 'letter';
  if (char === '"') return 'quote';
  if (char === ',') return 'comma';
  if (/[\n\v\f\r\x85\u2028\u2029]/.test(char)) return 'line';
  return UNSEEN.test(char) ? 'blank' : 'other';
}

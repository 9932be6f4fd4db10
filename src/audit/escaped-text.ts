/** As they stand, and as URLs have them. */
const BACKSLASHES = /(?:\\|%(?:25)*5C)+/iy;
const DIGITS = /[0-9A-Fa-f]+/y;
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
  /** What is read at present, as it is when nothing escapes it. */
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
    const char = this.#text.charAt(at);
    if (char === '\\') this.kind = this.#readEscape(at);
    else if (char === '%') this.kind = this.#readPercent(at);
    else this.kind = this.#take(char);
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
    return kindOf(char);
  }

  #readEscape(from: number): Kind {
    BACKSLASHES.lastIndex = from;
    const at = from + (BACKSLASHES.exec(this.#text)?.[0].length ?? 1);
    const char = at < this.#end ? this.#text.charAt(at) : '';
    this.next = Math.min(at + char.length, this.#end);
    if (char === 'n' || char === 'r') return 'line';
    if (char === 't' || char === 'f' || char === 'b') return 'blank';
    if (char === '/' || char === '"') return this.#take(char);
    if (char === '%') return this.#readPercent(at);
    return char === 'u' ? this.#readCode(at + 1, 4) : 'other';
  }

  #readPercent(from: number): Kind {
    let at = from + 1;
    while (this.#text.startsWith('25', at)) at += 2;
    const isBackslash = /^5c$/i.test(this.#text.slice(at, at + 2));
    return isBackslash ? this.#readEscape(from) : this.#readCode(at, 2);
  }

  #readCode(at: number, length: number): Kind {
    const end = at + length;
    const digits = this.#text.slice(at, end);
    DIGITS.lastIndex = 0;
    if (end > this.#end || DIGITS.exec(digits)?.[0].length !== length) return 'other';
    this.next = end;
    return this.#take(String.fromCharCode(Number.parseInt(digits, 16)));
  }
}

/** Of the characters that most texts are made of, since they are looked up for each. */
const KINDS: readonly Kind[] = Array.from({ length: 128 }, (_, code) =>
  judgeKind(String.fromCharCode(code)),
);

const kindOf = (char: string): Kind => KINDS[char.charCodeAt(0)] ?? judgeKind(char);

function judgeKind(char: string): Kind {
  if (/[A-Za-z0-9+/=]/.test(char)) return 'letter';
  if (char === '"') return 'quote';
  if (char === ',') return 'comma';
  if (/[\n\v\f\r\x85\u2028\u2029]/.test(char)) return 'line';
  return UNSEEN.test(char) ? 'blank' : 'other';
}

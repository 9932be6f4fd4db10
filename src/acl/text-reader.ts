import { type Failure, invalid } from '../core/failure.ts';
import { type HclNode, placeOf } from './hcl-tree.ts';

const CODE = {
  tab: 0x09,
  newline: 0x0a,
  return: 0x0d,
  space: 0x20,
  quote: 0x22,
  backslash: 0x5c,
} as const;

/** Sticky, so that each looks only at the place where the reader is. */
export const SPACE = /[ \t\r\n]*/y;
export const IDENTIFIER = /[\p{L}_][\p{L}\p{N}_.-]*/uy;
/** Everything up to a character that means something inside a string, or may not be in one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const PLAIN = /[^"\\\u0000-\u0008\u000a-\u001f\u007f]*/y;

const IN_BOTH: readonly [string, string][] = [
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['\\', '\\'],
  ['"', '"'],
];
const SIMPLE_ESCAPES: Readonly<Record<'hcl' | 'json', ReadonlyMap<string, string>>> = {
  hcl: new Map([...IN_BOTH, ['a', '\u0007'], ['v', '\v']]),
  json: new Map([...IN_BOTH, ['/', '/']]),
};
const OCTAL_ESCAPE = /[0-3][0-7]{2}/y;
const HEX_ESCAPE = /x([0-9a-fA-F]{2})/y;
const SHORT_ESCAPE = /u([0-9a-fA-F]{4})/y;
const LONG_ESCAPE = /U([0-9a-fA-F]{8})/y;

/** One text being read: where we are in it and how deep, and what HCL and JSON have in common. */
export class TextReader {
  readonly text: string;
  readonly maxDepth: number;
  at = 0;
  depth = 0;

  constructor(text: string, maxDepth: number) {
    this.text = text;
    this.maxDepth = maxDepth;
  }

  refusal(because: string, at = this.at): Failure {
    return invalid(`${placeOf(this.text, at)}: ${because}`);
  }

  /** What stands at the current place, for a message. */
  found(): string {
    const character = this.text.codePointAt(this.at);
    return character === undefined
      ? 'the end of the text'
      : JSON.stringify(String.fromCodePoint(character));
  }

  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const hit = pattern.exec(this.text);
    if (hit) this.at = pattern.lastIndex;
    return hit;
  }

  enter(): void {
    if (++this.depth > this.maxDepth) {
      throw this.refusal(`more than ${this.maxDepth} lists and objects inside one another`);
    }
  }

  numberNode(text: string, at: number): HclNode {
    const value = text.startsWith('-') ? -Number(text.slice(1)) : Number(text);
    if (!Number.isFinite(value)) throw this.refusal('the number is too large', at);
    return { kind: 'number', value, at };
  }

  /** A quoted string on one line, quotes taken off and escapes resolved. */
  readString(dialect: 'hcl' | 'json'): string {
    const start = this.at++;
    let value = this.match(PLAIN)?.[0] ?? '';
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code === CODE.quote) {
        this.at++;
        if (!value.isWellFormed()) throw this.refusal('the string is not valid Unicode', start);
        return value;
      }
      if (code !== CODE.backslash) {
        if (Number.isNaN(code) || code === CODE.newline || code === CODE.return) {
          throw this.refusal('a string begins here and does not end on its line', start);
        }
        throw this.refusal('a control character in a string must be written as an escape');
      }
      value += this.readEscape(dialect);
      value += this.match(PLAIN)?.[0] ?? '';
    }
  }

  readEscape(dialect: 'hcl' | 'json'): string {
    const start = this.at++;
    const simple = SIMPLE_ESCAPES[dialect].get(this.text[this.at] ?? '');
    if (simple !== undefined) {
      this.at++;
      return simple;
    }
    const short = this.match(SHORT_ESCAPE);
    if (short) return String.fromCharCode(Number.parseInt(short[1] ?? '', 16));
    if (dialect === 'hcl') {
      // Octal and \x escapes stand for bytes; beyond ASCII they would be pieces of a character.
      const byte = this.match(OCTAL_ESCAPE) ?? this.match(HEX_ESCAPE);
      const code = byte && Number.parseInt(byte[1] ?? byte[0], byte[1] === undefined ? 8 : 16);
      if (code !== null && code < 0x80) return String.fromCharCode(code);
      const point = Number.parseInt(this.match(LONG_ESCAPE)?.[1] ?? '', 16);
      if (point <= 0x10ffff) return String.fromCodePoint(point);
    }
    throw this.refusal('unknown escape in a string', start);
  }
}

/** Quotes a piece of the text for a message, not more of it than helps. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

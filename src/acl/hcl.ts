import { Failure } from '../core/failure.ts';

/**
 * Reading the part of HCL version 1 that policies are written in, and its JSON equivalent:
 * attributes `key = value`, blocks `key "label" { … }`, lists, strings, heredocs, numbers, bools,
 * and comments of all three kinds. There is no interpolation and there are no expressions.
 *
 * The result is a tree of nodes and never an object keyed by what the text says, so no key can
 * reach a prototype; repeated keys are kept, and the reader of the tree says what they mean.
 */
export type HclNode =
  | { kind: 'string'; value: string; at: number }
  | { kind: 'number'; value: number; at: number }
  | { kind: 'bool'; value: boolean; at: number }
  | { kind: 'null'; at: number }
  | { kind: 'list'; items: readonly HclNode[]; at: number }
  | HclObject;

export interface HclObject {
  kind: 'object';
  items: readonly HclItem[];
  at: number;
}

/** `key = value`, or `key "label" { … }`. `at` counts characters from the start of the text. */
export interface HclItem {
  key: string;
  labels: readonly string[];
  value: HclNode;
  at: number;
}

export interface HclLimits {
  /** Most characters of text. */
  size: number;
  /** Most objects and lists inside one another. */
  depth: number;
}

const DEFAULT_LIMITS: HclLimits = { size: 1_048_576, depth: 16 };

/**
 * Parses a whole text; JSON when its first character is `{`. Takes time linear in its length.
 *
 * @throws Failure `invalid` with the place as `line:column`, e.g. `3:14: expected "=" or "{"`
 */
export function parseHcl(text: string, limits: Partial<HclLimits> = {}): HclObject {
  const { size, depth } = { ...DEFAULT_LIMITS, ...limits };
  if (text.length > size) {
    throw new Failure(
      'invalid',
      `the text has ${text.length} characters, at most ${size} are read`,
    );
  }
  const reader = new Reader(text, depth);
  return reader.readDocument();
}

/** Says where a node is, counting lines and columns from 1: `3:14`. */
export function placeOf(text: string, at: number): string {
  let line = 1;
  let start = 0;
  for (let next = text.indexOf('\n'); next >= 0 && next < at; next = text.indexOf('\n', next + 1)) {
    line++;
    start = next + 1;
  }
  return `${line}:${at - start + 1}`;
}

const CODE = {
  tab: 0x09,
  newline: 0x0a,
  return: 0x0d,
  space: 0x20,
  quote: 0x22,
  backslash: 0x5c,
} as const;

/** Sticky, so that each looks only at the place where the reader is. */
const SPACE = /[ \t\r\n]*/y;
const IDENTIFIER = /[\p{L}_][\p{L}\p{N}_.-]*/uy;
const NUMBER = /-?(?:0[xX][0-9a-fA-F]+|(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/y;
const JSON_NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y;
const HEREDOC = /<<(-?)([\p{L}\p{N}_]+)\r?\n/uy;
/** Everything up to a character that means something inside a string, or may not be in one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const PLAIN = /[^"\\\u0000-\u0008\u000a-\u001f\u007f]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

const SIMPLE_ESCAPES: Readonly<Record<'hcl' | 'json', ReadonlyMap<string, string>>> = {
  hcl: new Map([
    ['a', '\u0007'],
    ['b', '\b'],
    ['f', '\f'],
    ['n', '\n'],
    ['r', '\r'],
    ['t', '\t'],
    ['v', '\v'],
    ['\\', '\\'],
    ['"', '"'],
  ]),
  json: new Map([
    ['b', '\b'],
    ['f', '\f'],
    ['n', '\n'],
    ['r', '\r'],
    ['t', '\t'],
    ['\\', '\\'],
    ['/', '/'],
    ['"', '"'],
  ]),
};
const OCTAL_ESCAPE = /[0-3][0-7]{2}/y;
const HEX_ESCAPE = /x([0-9a-fA-F]{2})/y;
const SHORT_ESCAPE = /u([0-9a-fA-F]{4})/y;
const LONG_ESCAPE = /U([0-9a-fA-F]{8})/y;

/** One text being read: where we are in it and how deep. */
class Reader {
  readonly text: string;
  readonly maxDepth: number;
  at = 0;
  depth = 0;

  constructor(text: string, maxDepth: number) {
    this.text = text;
    this.maxDepth = maxDepth;
  }

  readDocument(): HclObject {
    this.match(SPACE);
    if (this.text[this.at] === '{') {
      const root = this.readJsonObject();
      this.match(SPACE);
      if (this.at < this.text.length) throw this.refusal('expected nothing after the JSON object');
      return root;
    }
    return { kind: 'object', items: this.readItems(false), at: 0 };
  }

  refusal(because: string, at = this.at): Failure {
    return new Failure('invalid', `${placeOf(this.text, at)}: ${because}`);
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

  /** Passes over white space and comments. */
  skip(): void {
    for (;;) {
      this.match(SPACE);
      const character = this.text[this.at];
      const next = this.text[this.at + 1];
      if (character === '#' || (character === '/' && next === '/')) {
        const end = this.text.indexOf('\n', this.at);
        this.at = end < 0 ? this.text.length : end + 1;
      } else if (character === '/' && next === '*') {
        const end = this.text.indexOf('*/', this.at + 2);
        if (end < 0) throw this.refusal('a comment begins here and does not end');
        this.at = end + 2;
      } else {
        return;
      }
    }
  }

  /** Items up to the closing brace (taken too), or up to the end of the text. */
  readItems(inBraces: boolean): HclItem[] {
    const items: HclItem[] = [];
    for (;;) {
      this.skip();
      if (this.at >= this.text.length) {
        if (inBraces) throw this.refusal('expected "}" before the end of the text');
        return items;
      }
      if (inBraces && this.text[this.at] === '}') {
        this.at++;
        return items;
      }
      items.push(this.readItem());
      this.skip();
      if (this.text[this.at] === ',') this.at++;
    }
  }

  readItem(): HclItem {
    const at = this.at;
    const key = this.readKey();
    if (key === undefined) throw this.refusal(`expected a key, found ${this.found()}`);
    const labels: string[] = [];
    for (;;) {
      this.skip();
      if (this.text[this.at] === '{') {
        return { key, labels, value: this.readObject(), at };
      }
      if (this.text[this.at] === '=' && labels.length === 0) {
        this.at++;
        this.skip();
        return { key, labels, value: this.readValue(), at };
      }
      const label = this.readKey();
      if (label === undefined) {
        const wanted = labels.length === 0 ? '"=" or "{"' : '"{"';
        throw this.refusal(`expected ${wanted} after ${quote(key)}, found ${this.found()}`);
      }
      labels.push(label);
    }
  }

  readKey(): string | undefined {
    if (this.text[this.at] === '"') return this.readString('hcl');
    return this.match(IDENTIFIER)?.[0];
  }

  readValue(): HclNode {
    const at = this.at;
    switch (this.text[at]) {
      case '"':
        return { kind: 'string', value: this.readString('hcl'), at };
      case '[':
        return this.readList();
      case '{':
        return this.readObject();
      case '<':
        return { kind: 'string', value: this.readHeredoc(), at };
    }
    const number = this.match(NUMBER);
    if (number) return this.numberNode(number[0], at);
    const word = this.match(IDENTIFIER)?.[0];
    if (word === 'true' || word === 'false') return { kind: 'bool', value: word === 'true', at };
    this.at = at;
    const found = word === undefined ? this.found() : word;
    throw this.refusal(`expected a string, number, bool, list or object, found ${found}`);
  }

  numberNode(text: string, at: number): HclNode {
    const value = text.startsWith('-') ? -Number(text.slice(1)) : Number(text);
    if (!Number.isFinite(value)) throw this.refusal('the number is too large', at);
    return { kind: 'number', value, at };
  }

  readObject(): HclObject {
    const at = this.at;
    this.enter();
    this.at++;
    const items = this.readItems(true);
    this.depth--;
    return { kind: 'object', items, at };
  }

  readList(): HclNode {
    const at = this.at;
    this.enter();
    this.at++;
    const items: HclNode[] = [];
    for (;;) {
      this.skip();
      if (this.text[this.at] === ']') break;
      items.push(this.readValue());
      this.skip();
      if (this.text[this.at] === ',') this.at++;
      else if (this.text[this.at] !== ']') {
        throw this.refusal(`expected "," or "]" in the list, found ${this.found()}`);
      }
    }
    this.at++;
    this.depth--;
    return { kind: 'list', items, at };
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

  /** `<<END`, lines, `END`; with `<<-END` the indentation that all lines share is taken off. */
  readHeredoc(): string {
    const start = this.at;
    const opening = this.match(HEREDOC);
    if (!opening) throw this.refusal('expected "<<" and a word at the end of a line');
    const [, dash = '', marker = ''] = opening;
    const lines: string[] = [];
    while (this.at < this.text.length) {
      const newline = this.text.indexOf('\n', this.at);
      const end = newline < 0 ? this.text.length : newline;
      const line = this.text.slice(this.at, end);
      if (line.trim() === marker) {
        // The line's end stays: nothing of it belongs to the value.
        this.at = end;
        const value = (dash ? withoutIndent(lines) : lines).map((text) => `${text}\n`).join('');
        if (CONTROL.test(value)) throw this.refusal('a control character in a heredoc', start);
        return value;
      }
      lines.push(line);
      this.at = end + 1;
    }
    throw this.refusal(`a heredoc begins here and "${marker}" does not end it`, start);
  }

  readJsonValue(): HclNode {
    const at = this.at;
    switch (this.text[at]) {
      case '"':
        return { kind: 'string', value: this.readString('json'), at };
      case '[':
        return this.readJsonList();
      case '{':
        return this.readJsonObject();
    }
    const number = this.match(JSON_NUMBER);
    if (number) return this.numberNode(number[0], at);
    const word = this.match(IDENTIFIER)?.[0];
    if (word === 'true' || word === 'false') return { kind: 'bool', value: word === 'true', at };
    if (word === 'null') return { kind: 'null', at };
    this.at = at;
    throw this.refusal(`expected a JSON value, found ${word ?? this.found()}`);
  }

  readJsonObject(): HclObject {
    const at = this.at;
    const items: HclItem[] = [];
    this.readJsonMembers('}', () => {
      const itemAt = this.at;
      if (this.text[this.at] !== '"') {
        throw this.refusal(`expected a key in double quotes, found ${this.found()}`);
      }
      const key = this.readString('json');
      this.match(SPACE);
      if (this.text[this.at] !== ':') {
        throw this.refusal(`expected ":" after ${quote(key)}, found ${this.found()}`);
      }
      this.at++;
      this.match(SPACE);
      items.push({ key, labels: [], value: this.readJsonValue(), at: itemAt });
    });
    return { kind: 'object', items, at };
  }

  readJsonList(): HclNode {
    const at = this.at;
    const items: HclNode[] = [];
    this.readJsonMembers(']', () => items.push(this.readJsonValue()));
    return { kind: 'list', items, at };
  }

  readJsonMembers(close: '}' | ']', readMember: () => void): void {
    this.enter();
    this.at++;
    this.match(SPACE);
    if (this.text[this.at] === close) {
      this.at++;
    } else {
      for (;;) {
        readMember();
        this.match(SPACE);
        const character = this.text[this.at];
        if (character !== ',' && character !== close) {
          throw this.refusal(`expected "," or "${close}", found ${this.found()}`);
        }
        this.at++;
        if (character === close) break;
        this.match(SPACE);
      }
    }
    this.depth--;
  }
}

function withoutIndent(lines: readonly string[]): string[] {
  let shared = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    if (line.trim() !== '') shared = Math.min(shared, /^[ \t]*/.exec(line)?.[0].length ?? 0);
  }
  return lines.map((line) => line.slice(Math.min(shared, line.length)));
}

/** Quotes a piece of the text for a message, not more of it than helps. */
function quote(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

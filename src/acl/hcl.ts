/**
 * Reading the part of HCL version 1 that policies are written in, and its JSON equivalent:
 * attributes `key = value`, blocks `key "label" { … }`, lists, strings, heredocs, numbers, bools,
 * and comments of all three kinds. There is no interpolation and there are no expressions.
 */

import { invalid } from '../core/failure.ts';
import type { HclItem, HclNode, HclObject } from './hcl-tree.ts';
import { JsonReader } from './json-reader.ts';
import { IDENTIFIER, quote, SPACE, TextReader } from './text-reader.ts';

interface HclLimits {
  /** Most characters of text. */
  size: number;
  /** Most objects and lists inside one another. */
  depth: number;
}

const DEFAULT_LIMITS: HclLimits = { size: 1_048_576, depth: 16 };

/** What a text in JSON begins with. */
const BRACE = /^[ \t\r\n]*\{/;

/**
 * Parses a whole text; JSON when its first character is `{`. Takes time linear in its length.
 *
 * @throws Failure `invalid` with the place as `line:column`, e.g. `3:14: expected "=" or "{"`
 */
export function parseHcl(text: string, limits: Partial<HclLimits> = {}): HclObject {
  const { size, depth } = { ...DEFAULT_LIMITS, ...limits };
  if (text.length > size) {
    throw invalid(`the text has ${text.length} characters, at most ${size} are read`);
  }
  return BRACE.test(text)
    ? new JsonReader(text, depth).readDocument()
    : new HclReader(text, depth).readDocument();
}

const NUMBER = /-?(?:0[xX][0-9a-fA-F]+|(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/y;
const HEREDOC = /<<(-?)([\p{L}\p{N}_]+)\r?\n/uy;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

class HclReader extends TextReader {
  readDocument(): HclObject {
    return { kind: 'object', items: this.readItems(false), at: 0 };
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
}

function withoutIndent(lines: readonly string[]): string[] {
  let shared = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    if (line.trim() !== '') shared = Math.min(shared, /^[ \t]*/.exec(line)?.[0].length ?? 0);
  }
  return lines.map((line) => line.slice(Math.min(shared, line.length)));
}

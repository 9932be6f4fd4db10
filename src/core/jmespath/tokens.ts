import { invalid } from '../failure.ts';

/** Operators and brackets by what they are called in the text; the longest that fits is taken. */
const SIGNS = [
  '[?',
  '[]',
  '&&',
  '||',
  '==',
  '!=',
  '<=',
  '>=',
  '<',
  '>',
  '.',
  '*',
  '[',
  ']',
  '{',
  '}',
  '(',
  ')',
  ',',
  ':',
  '|',
  '!',
  '&',
  '@',
] as const;
export type Sign = (typeof SIGNS)[number];

/** A piece of an expression; `name` is what stands unquoted, and may be a function's. */
export type Token =
  | { type: 'sign'; sign: Sign; at: number }
  | { type: 'name' | 'quoted'; text: string; at: number }
  | { type: 'number'; value: number; at: number }
  | { type: 'literal'; value: unknown; at: number }
  | { type: 'end'; at: number };

const BLANK = /[ \t\r\n]*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /-?\d{1,15}/y;
const QUOTED = /"(?:[^"\\]|\\.)*"/sy;
const RAW = /'(?:[^'\\]|\\.)*'/sy;
const LITERAL = /`(?:[^`\\]|\\.)*`/sy;

function take(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** @throws Failure `invalid` saying where a text is no expression */
export function readTokens(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at += take(BLANK, text, at)?.length ?? 0;
    if (at >= text.length) break;
    const { token, length } = readToken(text, at);
    tokens.push(token);
    at += length;
  }
  return [...tokens, { type: 'end', at }];
}

function readToken(text: string, at: number): { token: Token; length: number } {
  const name = take(NAME, text, at);
  if (name !== undefined) return { token: { type: 'name', text: name, at }, length: name.length };
  const digits = take(NUMBER, text, at);
  if (digits !== undefined) {
    return { token: { type: 'number', value: Number(digits), at }, length: digits.length };
  }
  const quoted = take(QUOTED, text, at);
  if (quoted !== undefined) {
    const value = parseJson(quoted, at);
    return { token: { type: 'quoted', text: String(value), at }, length: quoted.length };
  }
  const raw = take(RAW, text, at);
  if (raw !== undefined) {
    const value = raw.slice(1, -1).replaceAll(/\\(['\\])/g, '$1');
    return { token: { type: 'literal', value, at }, length: raw.length };
  }
  const literal = take(LITERAL, text, at);
  if (literal !== undefined) {
    const value = parseJson(literal.slice(1, -1).replaceAll('\\`', '`'), at);
    return { token: { type: 'literal', value, at }, length: literal.length };
  }
  const sign = SIGNS.find((one) => text.startsWith(one, at));
  if (sign === undefined) throw refuseAt(at, 'nothing that can stand in an expression');
  return { token: { type: 'sign', sign, at }, length: sign.length };
}

function parseJson(text: string, at: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refuseAt(at, 'a literal that is no JSON', error);
  }
}

/** The refusal of what stands somewhere in an expression. */
export function refuseAt(at: number, what: string, cause?: unknown) {
  return invalid(`at character ${at + 1}: ${what}`, cause === undefined ? undefined : { cause });
}

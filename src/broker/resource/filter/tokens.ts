/** Longer than any real filter is written. */
const MAX_TOKENS = 2000;
const MAX_LENGTH = 10_000;

export interface Token {
  kind: 'word' | 'text' | 'number' | 'symbol' | 'end';
  text: string;
  /** Where it starts, counted from 1. */
  at: number;
}

/** Thrown while a filter is parsed, and only then. */
export class SyntaxFault extends Error {}

const SPACE = /[ \t\r\n]+/y;
const SYMBOL = /==|!=|[(){}[\].,]/y;
const NUMBER = /-?\d+(?:\.\d+)?(?![A-Za-z_])/y;
const WORD = /[A-Za-z][A-Za-z0-9_/:-]*/y;
const QUOTED = /"((?:[^"\\\n]|\\.)*)"/y;
const BACK_QUOTED = /`([^`]*)`/y;

export function tokenise(text: string): Token[] {
  if (text.length > MAX_LENGTH) {
    throw new SyntaxFault(`it is longer than ${MAX_LENGTH} characters`);
  }
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  while (at < text.length) {
    const space = take(SPACE);
    if (space) {
      at += space[0].length;
      continue;
    }
    const start = at + 1;
    const found = readToken(take, start);
    if (!found) throw new SyntaxFault(`no match found at position ${start}`);
    tokens.push(found.token);
    at += found.length;
    if (tokens.length > MAX_TOKENS) throw new SyntaxFault(`it has more than ${MAX_TOKENS} parts`);
  }
  tokens.push({ kind: 'end', text: 'the end', at: text.length + 1 });
  return tokens;
}

function readToken(
  take: (pattern: RegExp) => RegExpExecArray | null,
  at: number,
): { token: Token; length: number } | undefined {
  const quoted = take(QUOTED);
  if (quoted) {
    const text = unescapeText(quoted[0], at);
    return { token: { kind: 'text', text, at }, length: quoted[0].length };
  }
  const back = take(BACK_QUOTED);
  if (back) {
    return { token: { kind: 'text', text: back[1] ?? '', at }, length: back[0].length };
  }
  for (const [kind, pattern] of [
    ['symbol', SYMBOL],
    ['number', NUMBER],
    ['word', WORD],
  ] as const) {
    const found = take(pattern);
    if (found) return { token: { kind, text: found[0], at }, length: found[0].length };
  }
  return undefined;
}

function unescapeText(quoted: string, at: number): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return String(JSON.parse(quoted));
  } catch {
    throw new SyntaxFault(`the text at position ${at} has an unknown escape sequence`);
  }
}

export const shorten = (text: string): string =>
  text.length > 64 ? `${text.slice(0, 64)}…` : text;

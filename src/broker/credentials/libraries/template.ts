import { findText } from '../../../core/text-search.ts';
/** What templates can speak of; a value that somebody lacks is empty. */
export const SELECTORS = [
  'User.Id',
  'User.Name',
  'User.FullName',
  'User.Email',
  'Account.Id',
  'Account.Name',
  'Account.LoginName',
  'Account.Subject',
  'Account.Email',
] as const;
type Selector = (typeof SELECTORS)[number];
export type TemplateFacts = Readonly<Partial<Record<Selector, string>>>;

type Expression =
  | { kind: 'text'; text: string }
  | { kind: 'selector'; selector: Selector }
  | { kind: 'call'; name: 'truncateFrom' | 'coalesce'; values: readonly Expression[] };

/** Fixed texts and expressions, in order. */
type Template = readonly (string | Expression)[];

type ParsedTemplate = { valid: true; template: Template } | { valid: false; because: string };

class Fault extends Error {}

/** Longest template, and so the most parts of one; {@link parseTemplate} takes another. */
export const MAX_TEMPLATE_LENGTH = 4096;
/** Brackets within brackets: more than a person would write, and far from the end of the stack. */
const MAX_DEPTH = 16;

/**
 * Reads a text with `{{.User.Name}}`, `{{truncateFrom .Account.Email "@"}}` and
 * `{{coalesce .Account.LoginName .User.Name "guest"}}` in it.
 *
 * @param longest characters it may have
 */
export function parseTemplate(text: string, longest = MAX_TEMPLATE_LENGTH): ParsedTemplate {
  if (text.length > longest) {
    return { valid: false, because: `it has more than ${longest} characters` };
  }
  try {
    return { valid: true, template: readParts(text) };
  } catch (error) {
    if (error instanceof Fault) return { valid: false, because: error.message };
    throw error;
  }
}

function readParts(text: string): Template {
  const template: (string | Expression)[] = [];
  let at = 0;
  let trim = false;
  for (;;) {
    const start = text.indexOf('{{', at);
    const fixed = text.slice(at, start < 0 ? text.length : start);
    const trimBefore = start >= 0 && text[start + 2] === '-' && isBlank(text[start + 3]);
    let shown = trim ? fixed.trimStart() : fixed;
    if (trimBefore) shown = shown.trimEnd();
    if (shown !== '') template.push(shown);
    if (start < 0) return template;
    const end = text.indexOf('}}', start);
    if (end < 0) throw new Fault('"{{" without "}}"');
    let inner = text.slice(start + (trimBefore ? 3 : 2), end);
    trim = inner.endsWith('-') && isBlank(inner.at(-2));
    if (trim) inner = inner.slice(0, -1);
    template.push(parseExpression(inner));
    at = end + 2;
  }
}

const isBlank = (letter: string | undefined): boolean =>
  letter !== undefined && letter.trim() === '';

const TOKEN = /\s*("(?:[^"\\]|\\["\\])*"|`[^`]*`|[()|]|[^\s()|"`]+)/y;

function parseExpression(text: string): Expression {
  const reader = new TokenReader(tokenise(text));
  const found = parseCall(reader, 0);
  const rest = reader.peek();
  if (rest !== undefined) throw new Fault(`"${rest}" is not expected here`);
  return found;
}

function tokenise(text: string): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  for (let at = 0; at < end; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw new Fault(`"${text.trim()}" cannot be read`);
    tokens.push(token);
  }
  return tokens;
}

class TokenReader {
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  peek(): string | undefined {
    return this.#tokens[this.#next];
  }

  take(): string | undefined {
    return this.#tokens[this.#next++];
  }
}

/** A value, or a function with all that follows up to the end or a closing bracket. */
function parseCall(reader: TokenReader, depth: number): Expression {
  const first = reader.peek();
  if (first !== 'truncateFrom' && first !== 'coalesce') return parseValue(reader, depth);
  reader.take();
  const values: Expression[] = [];
  for (let next = reader.peek(); next !== undefined && next !== ')'; next = reader.peek()) {
    values.push(parseValue(reader, depth));
  }
  if (first === 'truncateFrom' && values.length !== 2) {
    throw new Fault('truncateFrom takes a text and the separator that it ends before');
  }
  return { kind: 'call', name: first, values };
}

function parseValue(reader: TokenReader, depth: number): Expression {
  const token = reader.take();
  if (token === undefined) throw new Fault('"{{}}" is empty');
  if (token === '(') {
    if (depth === MAX_DEPTH) throw new Fault(`brackets are nested deeper than ${MAX_DEPTH}`);
    const inner = parseCall(reader, depth + 1);
    if (reader.take() !== ')') throw new Fault('"(" without ")"');
    return inner;
  }
  if (token.startsWith('"')) {
    return { kind: 'text', text: token.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') };
  }
  if (token.startsWith('`')) return { kind: 'text', text: token.slice(1, -1) };
  const selector = SELECTORS.find((known) => token === `.${known}`);
  if (selector === undefined) throw new Fault(`"${token}" is not known in templates`);
  return { kind: 'selector', selector };
}

/** Where a value goes. */
export interface Place {
  /** What has come since the value before: that one as it was filled in, and a fixed text. */
  added: string;
  after: string | undefined;
}

export type Encode = (value: string, place: Place) => string;

/** Longest text that a template becomes. */
export const MAX_FILLED_LENGTH = 65_536;

/**
 * Fills a template in.
 *
 * @param encode makes a value fit where it stands, or throws for one that cannot stand there; `after` is what comes
 *   next as it is written, undefined where it is another value. Whoever has to know all that stands before follows it as
 *   it grows: to look at all of it for each value would take the square of its length
 * @param longest characters that it becomes
 * @returns undefined for a longer one
 */
export function fillTemplate(
  template: Template,
  facts: TemplateFacts,
  encode: Encode,
  longest = MAX_FILLED_LENGTH,
): string | undefined {
  const filled: string[] = [];
  let length = 0;
  let added = '';
  for (const [at, part] of template.entries()) {
    const isFixed = typeof part === 'string';
    const place = { added, after: isFixed ? undefined : fixedText(template, at + 1) };
    const text = isFixed ? part : encode(evaluate(part, facts), place);
    added = isFixed ? added + text : text;
    length += text.length;
    if (length > longest) return undefined;
    filled.push(text);
  }
  return filled.join('');
}

function fixedText(template: Template, at: number): string | undefined {
  const part = template[at] ?? '';
  return typeof part === 'string' ? part : undefined;
}

function evaluate(expression: Expression, facts: TemplateFacts): string {
  if (expression.kind === 'text') return expression.text;
  if (expression.kind === 'selector') return facts[expression.selector] ?? '';
  const values = expression.values.map((value) => evaluate(value, facts));
  if (expression.name === 'coalesce') return values.find((value) => value !== '') ?? '';
  const [text = '', separator = ''] = values;
  const cut = separator === '' ? 0 : findText(text, separator);
  return cut < 0 ? text : text.slice(0, cut);
}

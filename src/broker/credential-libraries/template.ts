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
export type Selector = (typeof SELECTORS)[number];
export type TemplateFacts = Readonly<Partial<Record<Selector, string>>>;

type Expression =
  | { kind: 'text'; text: string }
  | { kind: 'selector'; selector: Selector }
  | { kind: 'call'; name: 'truncateFrom' | 'coalesce'; values: readonly Expression[] };

/** Fixed texts and expressions, in order. */
export type Template = readonly (string | Expression)[];

export type ParsedTemplate =
  | { valid: true; template: Template }
  | { valid: false; because: string };

class Fault extends Error {}

/**
 * Reads a text with `{{.User.Name}}`, `{{truncateFrom .Account.Email "@"}}` and
 * `{{coalesce .Account.LoginName .User.Name "guest"}}` in it.
 */
export function parseTemplate(text: string): ParsedTemplate {
  const template: (string | Expression)[] = [];
  let rest = text;
  let trim = false;
  try {
    for (;;) {
      const start = rest.indexOf('{{');
      const fixed = start < 0 ? rest : rest.slice(0, start);
      const trimBefore = start >= 0 && /^\{\{-\s/.test(rest.slice(start));
      let shown = trim ? fixed.trimStart() : fixed;
      if (trimBefore) shown = shown.trimEnd();
      if (shown !== '') template.push(shown);
      if (start < 0) return { valid: true, template };
      const end = rest.indexOf('}}', start);
      if (end < 0) throw new Fault('"{{" without "}}"');
      let inner = rest.slice(start + 2, end);
      if (trimBefore) inner = inner.slice(1);
      trim = /\s-$/.test(inner);
      if (trim) inner = inner.slice(0, -1);
      template.push(parseExpression(inner));
      rest = rest.slice(end + 2);
    }
  } catch (error) {
    if (error instanceof Fault) return { valid: false, because: error.message };
    throw error;
  }
}

const TOKEN = /\s*("(?:[^"\\]|\\["\\])*"|`[^`]*`|[()|]|[^\s()|"`]+)/y;

function parseExpression(text: string): Expression {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.trimEnd().length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) throw new Fault(`"${text.trim()}" cannot be read`);
    tokens.push(token);
  }
  const found = parseCall(tokens);
  if (tokens.length > 0) throw new Fault(`"${tokens[0]}" is not expected here`);
  return found;
}

/** A value, or a function with all that follows up to the end or a closing bracket. */
function parseCall(tokens: string[]): Expression {
  const [first] = tokens;
  if (first !== 'truncateFrom' && first !== 'coalesce') return parseValue(tokens);
  tokens.shift();
  const values: Expression[] = [];
  while (tokens.length > 0 && tokens[0] !== ')') values.push(parseValue(tokens));
  if (first === 'truncateFrom' && values.length !== 2) {
    throw new Fault('truncateFrom takes a text and the separator that it ends before');
  }
  return { kind: 'call', name: first, values };
}

function parseValue(tokens: string[]): Expression {
  const token = tokens.shift();
  if (token === undefined) throw new Fault('"{{}}" is empty');
  if (token === '(') {
    const inner = parseCall(tokens);
    if (tokens.shift() !== ')') throw new Fault('"(" without ")"');
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

/**
 * Fills a template in.
 *
 * @param encode makes a value fit where it stands, or throws for one that cannot stand there
 */
export function fillTemplate(
  template: Template,
  facts: TemplateFacts,
  encode: (value: string) => string,
): string {
  return template
    .map((part) => (typeof part === 'string' ? part : encode(evaluate(part, facts))))
    .join('');
}

function evaluate(expression: Expression, facts: TemplateFacts): string {
  if (expression.kind === 'text') return expression.text;
  if (expression.kind === 'selector') return facts[expression.selector] ?? '';
  const values = expression.values.map((value) => evaluate(value, facts));
  if (expression.name === 'coalesce') return values.find((value) => value !== '') ?? '';
  const [text = '', separator = ''] = values;
  const cut = separator === '' ? 0 : text.indexOf(separator);
  return cut < 0 ? text : text.slice(0, cut);
}

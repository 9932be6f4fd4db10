import { compilePattern, type Pattern } from './pattern.ts';
import { measurePattern } from './pattern-size.ts';
import { MAX_SELECTOR, readPointer, type Selector, tooDeep } from './selector.ts';
import { SyntaxFault, shorten, type Token, tokenise } from './tokens.ts';

/** A parsed filter: what `evaluate.ts` runs. */
export type Expression =
  | { kind: 'and' | 'or'; left: Expression; right: Expression }
  | { kind: 'not'; of: Expression }
  | { kind: 'test'; selector: Selector; operator: Operator; value?: string; pattern?: Pattern }
  | { kind: 'any' | 'all'; selector: Selector; names: readonly string[]; of: Expression };

export type Operator =
  | '=='
  | '!='
  | 'contains'
  | 'not contains'
  | 'matches'
  | 'not matches'
  | 'is empty'
  | 'is not empty'
  | 'is nil'
  | 'is not nil';

type Parsed = { valid: true; expression: Expression } | { valid: false; because: string };

/** What a filter may cost: nested deeper than any real one. */
const MAX_DEPTH = 50;
/** Each `any` or `all` within another multiplies the rounds. */
const MAX_NESTED_ROUNDS = 3;
/**
 * What regular expressions may become: in instructions, each of which takes some microseconds to
 * compile, and is run for every letter that is looked at.
 */
const MAX_PATTERN_LENGTH = 1000;
const MAX_PATTERN_SIZE = 1000;
const MAX_PATTERNS_SIZE = 3000;

/**
 * Parses a boolean expression such as `"/item/name" == "web" and not "x" in "/item/tags"`:
 * the language that clients of this API write filters in.
 *
 * @returns the expression, or why it cannot be read, for the person who wrote it
 * @see B-24
 */
export function parseExpression(text: string): Parsed {
  try {
    return { valid: true, expression: new Parser(tokenise(text)).parse() };
  } catch (error) {
    if (error instanceof SyntaxFault) return { valid: false, because: error.message };
    throw error;
  }
}

const RESERVED = new Set(['and', 'or', 'not', 'in', 'is', 'contains', 'matches', 'any', 'all']);

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;
  #rounds = 0;
  /** Of all regular expressions so far. */
  #size = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Expression {
    const expression = this.#or();
    const rest = this.#peek();
    if (rest.kind !== 'end') throw this.#unexpected(rest);
    return expression;
  }

  #peek(ahead = 0): Token {
    const token = this.#tokens[this.#next + ahead] ?? this.#tokens.at(-1);
    if (!token) throw new SyntaxFault('it is empty');
    return token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#next++;
    return token;
  }

  #is(text: string, ahead = 0): boolean {
    const token = this.#peek(ahead);
    return (token.kind === 'word' || token.kind === 'symbol') && token.text === text;
  }

  #skip(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#next++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#skip(text)) throw this.#unexpected(this.#peek(), `"${text}"`);
  }

  #unexpected(token: Token, wanted?: string): SyntaxFault {
    const found = token.kind === 'end' ? 'it ends' : `"${shorten(token.text)}" stands`;
    return new SyntaxFault(
      `${found} at position ${token.at}${wanted ? ` where ${wanted} is expected` : ', where it cannot'}`,
    );
  }

  #or(): Expression {
    let left = this.#and();
    while (this.#skip('or')) left = { kind: 'or', left, right: this.#and() };
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.#skip('and')) left = { kind: 'and', left, right: this.#not() };
    return left;
  }

  #not(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new SyntaxFault(`it is nested deeper than ${MAX_DEPTH}`);
    const expression = this.#skip('not')
      ? ({ kind: 'not', of: this.#not() } as const)
      : this.#primary();
    this.#depth--;
    return expression;
  }

  #primary(): Expression {
    if (this.#skip('(')) {
      const inner = this.#or();
      this.#expect(')');
      return inner;
    }
    if (this.#is('any') || this.#is('all')) return this.#collection();
    // `"x" in selector`: the value comes first.
    if (this.#is('in', 1)) return this.#membership('contains', 1);
    if (this.#is('not', 1) && this.#is('in', 2)) return this.#membership('not contains', 2);
    return this.#test();
  }

  #membership(operator: Operator, words: number): Expression {
    const value = this.#value();
    this.#next += words;
    return { kind: 'test', selector: this.#selector(), operator, value };
  }

  #collection(): Expression {
    const kind = this.#take().text === 'any' ? 'any' : 'all';
    const selector = this.#selector();
    this.#expect('as');
    const names = [this.#name()];
    if (this.#skip(',')) names.push(this.#name());
    this.#expect('{');
    if (++this.#rounds > MAX_NESTED_ROUNDS) {
      throw new SyntaxFault(
        `it has more than ${MAX_NESTED_ROUNDS} of "any" and "all" in each other`,
      );
    }
    const of = this.#or();
    this.#rounds--;
    this.#expect('}');
    return { kind, selector, names, of };
  }

  #name(): string {
    const token = this.#take();
    if (token.kind !== 'word' || RESERVED.has(token.text)) {
      throw this.#unexpected(token, 'a name');
    }
    return token.text;
  }

  #test(): Expression {
    const selector = this.#selector();
    const operator = this.#operator();
    if (operator.startsWith('is ')) return { kind: 'test', selector, operator };
    const value = this.#value();
    if (!operator.endsWith('matches')) return { kind: 'test', selector, operator, value };
    return { kind: 'test', selector, operator, value, pattern: this.#pattern(value) };
  }

  /** Its size is known before it is compiled: compiling is what takes time and memory. */
  #pattern(text: string): Pattern {
    if (text.length > MAX_PATTERN_LENGTH) {
      throw new SyntaxFault(`a regular expression is longer than ${MAX_PATTERN_LENGTH} characters`);
    }
    const size = measurePattern(text);
    this.#size += size;
    if (size > MAX_PATTERN_SIZE) {
      throw new SyntaxFault(
        `the regular expression "${shorten(text)}" is too large: it repeats or lists too much`,
      );
    }
    if (this.#size > MAX_PATTERNS_SIZE) {
      throw new SyntaxFault('its regular expressions are too large together');
    }
    return compilePattern(text);
  }

  #operator(): Operator {
    const token = this.#take();
    switch (token.kind === 'word' || token.kind === 'symbol' ? token.text : '') {
      case '==':
        return '==';
      case '!=':
        return '!=';
      case 'contains':
        return 'contains';
      case 'matches':
        return 'matches';
      case 'not':
        if (this.#skip('contains')) return 'not contains';
        if (this.#skip('matches')) return 'not matches';
        throw this.#unexpected(this.#peek(), '"contains", "matches" or "in"');
      case 'is': {
        const negated = this.#skip('not');
        if (this.#skip('empty')) return negated ? 'is not empty' : 'is empty';
        if (this.#skip('nil')) return negated ? 'is not nil' : 'is nil';
        throw this.#unexpected(this.#peek(), '"empty" or "nil"');
      }
      default:
        throw this.#unexpected(token, 'an operator');
    }
  }

  #value(): string {
    const token = this.#take();
    if (token.kind === 'text' || token.kind === 'number') return token.text;
    if (token.kind === 'word' && !RESERVED.has(token.text)) return token.text;
    throw this.#unexpected(token, 'a value');
  }

  #selector(): Selector {
    const token = this.#take();
    if (token.kind === 'text') return readPointer(token);
    if (token.kind !== 'word' || RESERVED.has(token.text)) {
      throw this.#unexpected(token, 'a selector');
    }
    const path = [token.text];
    for (;;) {
      if (this.#skip('.')) {
        const part = this.#take();
        if (part.kind !== 'word' && part.kind !== 'number') {
          throw this.#unexpected(part, 'a name');
        }
        path.push(part.text);
      } else if (this.#skip('[')) {
        const part = this.#take();
        if (part.kind !== 'text') throw this.#unexpected(part, 'a quoted name');
        path.push(part.text);
        this.#expect(']');
      } else {
        return path;
      }
      if (path.length > MAX_SELECTOR) throw tooDeep(token.at);
    }
  }
}

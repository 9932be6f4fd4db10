import { invalid } from '../failure.ts';
import type { Expression } from './expression.ts';
import { isFunction } from './functions.ts';
import { readTokens, refuseAt, type Sign, type Token } from './tokens.ts';

/** Characters of an expression. */
export const LONGEST_EXPRESSION = 2_048;
/** Brackets within brackets; those that people write are a handful. */
const DEEPEST = 32;

/**
 * Reads an expression.
 *
 * @throws Failure `invalid` saying where it is none, or that it is too long
 */
export function parseExpression(text: string): Expression {
  if (text.length > LONGEST_EXPRESSION) {
    throw invalid(`more than ${LONGEST_EXPRESSION} characters`);
  }
  return new Parser(readTokens(text)).read();
}

/** How strongly what follows something holds to it. */
const POWER: Partial<Record<Sign, number>> = {
  '|': 1,
  '||': 2,
  '&&': 3,
  '==': 5,
  '!=': 5,
  '<': 5,
  '<=': 5,
  '>': 5,
  '>=': 5,
  '[]': 9,
  '[?': 21,
  '.': 40,
  '[': 55,
};
/** What is weaker than this ends a projection. */
const PROJECTED = 10;
const STAR = 20;
const NOT = 45;

const CURRENT: Expression = { kind: 'current' };

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  read(): Expression {
    const expression = this.#expression(0);
    if (this.#next.type !== 'end') throw this.#refuse();
    return expression;
  }

  get #next(): Token {
    const token = this.#tokens[Math.min(this.#at, this.#tokens.length - 1)];
    if (!token) throw invalid('there is no expression');
    return token;
  }

  #is(sign: Sign): boolean {
    const next = this.#next;
    return next.type === 'sign' && next.sign === sign;
  }

  #takeIf(sign: Sign): boolean {
    const found = this.#is(sign);
    if (found) this.#at += 1;
    return found;
  }

  #require(sign: Sign): void {
    if (!this.#takeIf(sign)) throw refuseAt(this.#next.at, `"${sign}" is missing`);
  }

  #refuse(): Error {
    const { at, type } = this.#next;
    return refuseAt(
      at,
      type === 'end' ? 'the expression ends too early' : 'this cannot stand here',
    );
  }

  #power(): number {
    const next = this.#next;
    return next.type === 'sign' ? (POWER[next.sign] ?? 0) : 0;
  }

  #expression(power: number): Expression {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw refuseAt(this.#next.at, 'nested too deep');
    let left = this.#first();
    while (this.#power() > power) left = this.#further(left);
    this.#depth -= 1;
    return left;
  }

  #first(): Expression {
    const token = this.#next;
    switch (token.type) {
      case 'literal':
        this.#at += 1;
        return { kind: 'literal', value: token.value };
      case 'quoted':
        this.#at += 1;
        if (this.#is('(')) throw refuseAt(token.at, 'the name of a function is not quoted');
        return { kind: 'field', name: token.text };
      case 'name':
        this.#at += 1;
        return this.#is('(') ? this.#call(token) : { kind: 'field', name: token.text };
      case 'sign':
        this.#at += 1;
        return this.#firstSign(token);
      default:
        throw this.#refuse();
    }
  }

  #firstSign({ sign, at }: Token & { type: 'sign' }): Expression {
    switch (sign) {
      case '@':
        return CURRENT;
      case '!':
        return { kind: 'not', of: this.#expression(NOT) };
      case '&':
        return { kind: 'reference', of: this.#expression(0) };
      case '*':
        return this.#project('object', CURRENT, STAR);
      case '[]':
        return this.#project('list', { kind: 'flatten', left: CURRENT }, 9);
      case '[?':
        return this.#filter(CURRENT);
      case '[':
        return this.#isIndex() ? this.#index(CURRENT) : this.#starOrList(CURRENT);
      case '{':
        return this.#object();
      case '(': {
        const inner = this.#expression(0);
        this.#require(')');
        return inner;
      }
      default:
        throw refuseAt(at, 'this cannot stand here');
    }
  }

  #further(left: Expression): Expression {
    const token = this.#next;
    if (token.type !== 'sign') throw this.#refuse();
    this.#at += 1;
    const power = POWER[token.sign] ?? 0;
    switch (token.sign) {
      case '.':
        if (this.#takeIf('*')) return this.#project('object', left, STAR);
        return { kind: 'chain', left, right: this.#afterDot(power) };
      case '|':
        return { kind: 'chain', left, right: this.#expression(power) };
      case '||':
        return { kind: 'or', left, right: this.#expression(power) };
      case '&&':
        return { kind: 'and', left, right: this.#expression(power) };
      case '[]':
        return this.#project('list', { kind: 'flatten', left }, power);
      case '[?':
        return this.#filter(left);
      case '[':
        if (this.#isIndex()) return this.#index(left);
        this.#require('*');
        this.#require(']');
        return this.#project('list', left, STAR);
      case '==':
      case '!=':
      case '<':
      case '<=':
      case '>':
      case '>=':
        return { kind: 'comparison', sign: token.sign, left, right: this.#expression(power) };
      default:
        throw refuseAt(token.at, 'this cannot stand here');
    }
  }

  /** What may be asked of the object before it. */
  #afterDot(power: number): Expression {
    const next = this.#next;
    if (next.type === 'name' || next.type === 'quoted') return this.#expression(power);
    if (this.#takeIf('[')) return this.#list();
    if (this.#takeIf('{')) return this.#object();
    throw this.#refuse();
  }

  #project(of: 'list' | 'object', left: Expression, power: number): Expression {
    return { kind: 'projection', of, left, right: this.#projected(power) };
  }

  #projected(power: number): Expression {
    if (this.#power() < PROJECTED) return CURRENT;
    if (this.#is('[') || this.#is('[?')) return this.#expression(power);
    if (this.#takeIf('.')) {
      return this.#takeIf('*') ? this.#project('object', CURRENT, STAR) : this.#afterDot(power);
    }
    throw this.#refuse();
  }

  #filter(left: Expression): Expression {
    const filter = this.#expression(0);
    this.#require(']');
    const right = this.#is('[]') ? CURRENT : this.#projected(POWER['[?'] ?? 0);
    return { kind: 'projection', of: 'list', left, right, filter };
  }

  #isIndex(): boolean {
    return this.#next.type === 'number' || this.#is(':');
  }

  #index(left: Expression): Expression {
    const parts: (number | undefined)[] = [undefined];
    while (!this.#is(']')) {
      const next = this.#next;
      if (next.type === 'number' && parts.at(-1) === undefined) {
        parts[parts.length - 1] = next.value;
        this.#at += 1;
      } else if (this.#is(':') && parts.length < 3) {
        parts.push(undefined);
        this.#at += 1;
      } else {
        throw this.#refuse();
      }
    }
    const { at } = this.#next;
    this.#require(']');
    const [start, stop, step = 1] = parts;
    if (parts.length === 1) {
      return { kind: 'chain', left, right: { kind: 'index', index: start ?? 0 } };
    }
    if (step === 0) throw refuseAt(at, 'a step of 0');
    const sliced: Expression = { kind: 'chain', left, right: { kind: 'slice', start, stop, step } };
    return this.#project('list', sliced, STAR);
  }

  /** After `[` at the beginning: `*]` is a projection, anything else a list. */
  #starOrList(left: Expression): Expression {
    const [star, close] = this.#tokens.slice(this.#at, this.#at + 2);
    const isSign = (token: Token | undefined, sign: Sign): boolean =>
      token?.type === 'sign' && token.sign === sign;
    if (!isSign(star, '*') || !isSign(close, ']')) return this.#list();
    this.#at += 2;
    return this.#project('list', left, STAR);
  }

  #list(): Expression {
    const items: Expression[] = [];
    do items.push(this.#expression(0));
    while (this.#takeIf(','));
    this.#require(']');
    return { kind: 'list', items };
  }

  #object(): Expression {
    const members: (readonly [string, Expression])[] = [];
    do {
      const name = this.#next;
      if (name.type !== 'name' && name.type !== 'quoted') throw this.#refuse();
      this.#at += 1;
      this.#require(':');
      members.push([name.text, this.#expression(0)]);
    } while (this.#takeIf(','));
    this.#require('}');
    return { kind: 'object', members };
  }

  #call({ text: name, at }: Token & { type: 'name' | 'quoted' }): Expression {
    if (!isFunction(name)) throw refuseAt(at, `there is no function ${name}`);
    this.#require('(');
    const args: Expression[] = [];
    if (!this.#is(')')) {
      do args.push(this.#expression(0));
      while (this.#takeIf(','));
    }
    this.#require(')');
    return { kind: 'call', name, args };
  }
}

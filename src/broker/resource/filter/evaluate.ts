import { findText } from '../../../core/text-search.ts';
import type { Expression, Operator } from './expression.ts';
import type { Selector } from './selector.ts';

/**
 * What an expression says of a value. `missing`: it looks at something that is not there;
 * `mismatch`: it compares what cannot be compared. Neither is a match, and neither becomes
 * one by a `not` before it. `exhausted`: it was not run to its end, so that nothing is known.
 */
export type FilterVerdict =
  | { matches: boolean }
  | { matches: false; fault: 'missing' | 'mismatch' | 'exhausted'; because: string };

/**
 * What a filter may still cost, in steps of about 20 nanoseconds: a comparison is some of them,
 * a regular expression one for each of its instructions and each letter that it looks at.
 */
export interface Budget {
  steps: number;
}

/** What one value may cost: some ten milliseconds, in which nobody else is served. */
export const STEPS_OF_ONE = 500_000;

/** Passed up instead of an answer. */
class Fault {
  readonly fault: 'missing' | 'mismatch' | 'exhausted';
  readonly because: string;

  constructor(fault: Fault['fault'], because: string) {
    this.fault = fault;
    this.because = because;
  }
}

/** Said to whoever wrote the filter. */
const TOO_COSTLY =
  'It takes too long: it would be taken with fewer or shorter regular expressions and comparisons, or with less "any" and "all" in each other';

const EXHAUSTED = new Fault('exhausted', TOO_COSTLY);

/**
 * Runs a filter on one value.
 *
 * @param value  plain JSON data, e.g. `{ item: { name: 'web' } }`
 * @param budget what is left for several values together; what this one takes is taken away
 * @see B-23
 */
export function evaluateFilter(
  expression: Expression,
  value: unknown,
  budget: Budget = { steps: STEPS_OF_ONE },
): FilterVerdict {
  const outcome = run(expression, { value, budget }, undefined);
  if (!(outcome instanceof Fault)) return { matches: outcome };
  return { matches: false, fault: outcome.fault, because: outcome.because };
}

/** A name that `any` or `all` has bound, and those around it. */
interface Scope {
  name: string;
  value: unknown;
  around: Scope | undefined;
}

/** What is looked at, and what that may cost. */
interface Root {
  readonly value: unknown;
  readonly budget: Budget;
}

/** Whether there was enough left for it. */
function spend({ budget }: Root, steps: number): boolean {
  budget.steps -= steps;
  return budget.steps >= 0;
}

function run(expression: Expression, root: Root, scope: Scope | undefined): boolean | Fault {
  if (!spend(root, 2)) return EXHAUSTED;
  switch (expression.kind) {
    case 'and': {
      const left = run(expression.left, root, scope);
      return left === true ? run(expression.right, root, scope) : left;
    }
    case 'or': {
      const left = run(expression.left, root, scope);
      return left === false ? run(expression.right, root, scope) : left;
    }
    case 'not': {
      const of = run(expression.of, root, scope);
      return of instanceof Fault ? of : !of;
    }
    case 'any':
    case 'all':
      return runRounds(expression, root, scope);
    case 'test':
      return runTest(expression, root, scope);
  }
}

/** Runs what stands in braces for one element after the other, until one decides. */
function runRounds(
  { kind, selector, names, of }: Extract<Expression, { kind: 'any' | 'all' }>,
  root: Root,
  scope: Scope | undefined,
): boolean | Fault {
  const found = select(selector, root, scope);
  if (found instanceof Fault) return found;
  if (typeof found !== 'object' || found === null) {
    return new Fault('mismatch', '"any" and "all" need a list or an object');
  }
  const list: readonly unknown[] | undefined = Array.isArray(found) ? found : undefined;
  const keys = list ? undefined : Object.keys(found);
  const count = list?.length ?? keys?.length ?? 0;
  if (!spend(root, count)) return EXHAUSTED;
  const [first = '', second] = names;
  for (let at = 0; at < count; at++) {
    const key = keys?.[at] ?? at;
    const element: unknown = list ? list[at] : undefined;
    // One name is that of a list's element, but of an object's key.
    let bound: Scope = {
      name: first,
      value: list && second === undefined ? element : key,
      around: scope,
    };
    if (second !== undefined) {
      const value: unknown = list ? element : Reflect.get(found, key);
      bound = { name: second, value, around: bound };
    }
    const outcome = run(of, root, bound);
    if (outcome !== (kind === 'all')) return outcome;
  }
  return kind === 'all';
}

function select(selector: Selector, root: Root, scope: Scope | undefined): unknown {
  const [first = ''] = selector;
  let bound = scope;
  while (bound !== undefined && bound.name !== first) bound = bound.around;
  let value = bound === undefined ? member(root.value, first, selector) : bound.value;
  for (let at = 1; at < selector.length && !(value instanceof Fault); at++) {
    value = member(value, selector[at] ?? '', selector);
  }
  return value;
}

function member(value: unknown, name: string, selector: Selector): unknown {
  if (Array.isArray(value)) {
    const index = /^\d{1,9}$/.test(name) ? Number(name) : -1;
    if (index >= 0 && index < value.length) return value[index];
  } else if (typeof value === 'object' && value !== null && Object.hasOwn(value, name)) {
    return Reflect.get(value, name);
  }
  return new Fault('missing', `there is no "/${selector.join('/')}"`);
}

type Test = Extract<Expression, { kind: 'test' }>;

function runTest(expression: Test, root: Root, scope: Scope | undefined): boolean | Fault {
  const { operator, selector } = expression;
  if (!spend(root, 3 + selector.length)) return EXHAUSTED;
  const found = select(selector, root, scope);
  if (found instanceof Fault) return found;
  if (!spend(root, costOf(expression, found))) return EXHAUSTED;
  const outcome = ask(expression, found);
  return outcome instanceof Fault || !isNegated(operator) ? outcome : !outcome;
}

const isNegated = (operator: Operator): boolean => operator === '!=' || operator.includes('not ');

/** Steps of one comparison, at most. */
function costOf({ value = '', pattern }: Test, found: unknown): number {
  const once = 1 + (value.length >> 4);
  if (Array.isArray(found)) return found.length * once;
  if (typeof found !== 'string') return once;
  if (pattern) return (pattern.size + 8) * (found.length + 1);
  return once + ((found.length + value.length) >> 3);
}

/** What is asked, without the "not" in it. */
function ask({ operator, value = '', pattern }: Test, found: unknown): boolean | Fault {
  switch (operator) {
    case '==':
    case '!=':
      return equals(found, value);
    case 'contains':
    case 'not contains':
      return contains(found, value);
    case 'matches':
    case 'not matches':
      if (typeof found !== 'string') return cannot(operator, found);
      return pattern?.compiled.matcher(found).find() ?? false;
    case 'is empty':
    case 'is not empty':
      return isEmpty(found);
    case 'is nil':
    case 'is not nil':
      return found === null;
  }
}

function cannot(operator: Operator, found: unknown): Fault {
  const kind = Array.isArray(found) ? 'a list' : found === null ? 'nil' : typeof found;
  return new Fault('mismatch', `"${operator}" cannot be asked of ${kind}`);
}

/** The value on the right is text; the field's own type decides how it is read. */
function equals(found: unknown, value: string): boolean | Fault {
  switch (typeof found) {
    case 'string':
      return found === value;
    case 'number': {
      const wanted = value.trim() === '' ? Number.NaN : Number(value);
      if (Number.isNaN(wanted)) return new Fault('mismatch', `"${value}" is no number`);
      return found === wanted;
    }
    case 'boolean':
      if (/^(1|t|true)$/i.test(value)) return found;
      if (/^(0|f|false)$/i.test(value)) return !found;
      return new Fault('mismatch', `"${value}" is neither true nor false`);
    default:
      return cannot('==', found);
  }
}

function contains(found: unknown, value: string): boolean | Fault {
  if (typeof found === 'string') return findText(found, value) >= 0;
  if (Array.isArray(found)) {
    for (const item of found) {
      const outcome = equals(item, value);
      if (outcome !== false) return outcome;
    }
    return false;
  }
  if (typeof found === 'object' && found !== null) return Object.hasOwn(found, value);
  return cannot('contains', found);
}

function isEmpty(found: unknown): boolean | Fault {
  if (typeof found === 'string' || Array.isArray(found)) return found.length === 0;
  if (typeof found === 'object' && found !== null) return Object.keys(found).length === 0;
  return cannot('is empty', found);
}

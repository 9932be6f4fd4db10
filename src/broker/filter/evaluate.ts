import type { Expression, Operator, Selector } from './expression.ts';

/**
 * What an expression says of a value. `missing`: it looks at something that is not there;
 * `mismatch`: it compares what cannot be compared. Neither is a match, and neither becomes
 * one by a `not` before it.
 */
export type FilterVerdict =
  | { matches: boolean }
  | { matches: false; fault: 'missing' | 'mismatch'; because: string };

/** Thrown inside the evaluation only. */
class EvaluationFault extends Error {
  readonly fault: 'missing' | 'mismatch';

  constructor(fault: 'missing' | 'mismatch', message: string) {
    super(message);
    this.fault = fault;
  }
}

/**
 * Runs a filter on one value.
 *
 * @param value plain JSON data, e.g. `{ item: { name: 'web' } }`
 */
export function evaluateFilter(expression: Expression, value: unknown): FilterVerdict {
  try {
    return { matches: run(expression, { value, rounds: 0 }, new Map()) };
  } catch (error) {
    if (!(error instanceof EvaluationFault)) throw error;
    return { matches: false, fault: error.fault, because: error.message };
  }
}

/** How many elements `any` and `all` may look at: more than any item has, a fraction of a second. */
const MAX_ROUNDS = 10_000;

/** Names that `any` and `all` have bound. */
type Scope = ReadonlyMap<string, unknown>;

/** What is looked at, and how much has been. */
interface Root {
  readonly value: unknown;
  rounds: number;
}

function run(expression: Expression, root: Root, scope: Scope): boolean {
  switch (expression.kind) {
    case 'and':
      return run(expression.left, root, scope) && run(expression.right, root, scope);
    case 'or':
      return run(expression.left, root, scope) || run(expression.right, root, scope);
    case 'not':
      return !run(expression.of, root, scope);
    case 'any':
    case 'all': {
      const rounds = bindings(select(expression.selector, root, scope), expression.names);
      const inner = (bound: ReadonlyMap<string, unknown>): boolean => {
        if (++root.rounds > MAX_ROUNDS) {
          throw new EvaluationFault('mismatch', `it looks at more than ${MAX_ROUNDS} elements`);
        }
        return run(expression.of, root, new Map([...scope, ...bound]));
      };
      return expression.kind === 'any' ? rounds.some(inner) : rounds.every(inner);
    }
    case 'test':
      return test(expression, select(expression.selector, root, scope));
  }
}

function select(selector: Selector, root: Root, scope: Scope): unknown {
  const [first = '', ...rest] = selector;
  let value = scope.has(first) ? scope.get(first) : member(root.value, first, selector);
  for (const name of rest) value = member(value, name, selector);
  return value;
}

function member(value: unknown, name: string, selector: Selector): unknown {
  if (Array.isArray(value)) {
    const index = /^\d{1,9}$/.test(name) ? Number(name) : -1;
    if (index >= 0 && index < value.length) return value[index];
  } else if (typeof value === 'object' && value !== null && Object.hasOwn(value, name)) {
    return Reflect.get(value, name);
  }
  throw new EvaluationFault('missing', `there is no "/${selector.join('/')}"`);
}

function bindings(value: unknown, names: readonly string[]): Map<string, unknown>[] {
  const [first = '', second] = names;
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) =>
      second === undefined
        ? new Map([[first, item]])
        : new Map<string, unknown>([
            [first, index],
            [second, item],
          ]),
    );
  }
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).map(([key, item]) =>
      second === undefined
        ? new Map<string, unknown>([[first, key]])
        : new Map<string, unknown>([
            [first, key],
            [second, item],
          ]),
    );
  }
  throw new EvaluationFault('mismatch', '"any" and "all" need a list or an object');
}

function test(expression: Extract<Expression, { kind: 'test' }>, found: unknown): boolean {
  const { operator, value = '', pattern } = expression;
  switch (operator) {
    case '==':
      return equals(found, value);
    case '!=':
      return !equals(found, value);
    case 'contains':
      return contains(found, value);
    case 'not contains':
      return !contains(found, value);
    case 'matches':
    case 'not matches': {
      if (typeof found !== 'string') throw cannot(operator, found);
      const hit = pattern?.matcher(found).find() ?? false;
      return operator === 'matches' ? hit : !hit;
    }
    case 'is empty':
      return isEmpty(found);
    case 'is not empty':
      return !isEmpty(found);
    case 'is nil':
      return found === null;
    case 'is not nil':
      return found !== null;
  }
}

function cannot(operator: Operator, found: unknown): EvaluationFault {
  const kind = Array.isArray(found) ? 'a list' : found === null ? 'nil' : typeof found;
  return new EvaluationFault('mismatch', `"${operator}" cannot be asked of ${kind}`);
}

/** The value on the right is text; the field's own type decides how it is read. */
function equals(found: unknown, value: string): boolean {
  switch (typeof found) {
    case 'string':
      return found === value;
    case 'number': {
      const wanted = value.trim() === '' ? Number.NaN : Number(value);
      if (Number.isNaN(wanted)) throw new EvaluationFault('mismatch', `"${value}" is no number`);
      return found === wanted;
    }
    case 'boolean':
      if (/^(1|t|true)$/i.test(value)) return found;
      if (/^(0|f|false)$/i.test(value)) return !found;
      throw new EvaluationFault('mismatch', `"${value}" is neither true nor false`);
    default:
      throw cannot('==', found);
  }
}

function contains(found: unknown, value: string): boolean {
  if (typeof found === 'string') return found.includes(value);
  if (Array.isArray(found)) return found.some((item: unknown) => equals(item, value));
  if (typeof found === 'object' && found !== null) return Object.hasOwn(found, value);
  throw cannot('contains', found);
}

function isEmpty(found: unknown): boolean {
  if (typeof found === 'string' || Array.isArray(found)) return found.length === 0;
  if (typeof found === 'object' && found !== null) return Object.keys(found).length === 0;
  throw cannot('is empty', found);
}

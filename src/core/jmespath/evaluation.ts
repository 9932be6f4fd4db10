import { Budget } from './budget.ts';
import type { Comparison, Expression } from './expression.ts';
import { callFunction } from './functions.ts';
import { isObject, isSame, isTrue } from './values.ts';

/**
 * What an expression comes to. However it is written, it takes so many steps, and makes and returns so many values and
 * characters, at most.
 *
 * @param value JSON
 * @throws Failure `invalid` for more than that, and for a function that is given what it does not take
 */
export function evaluate(expression: Expression, value: unknown): unknown {
  const budget = new Budget();
  const result = evaluateWithin(expression, value, budget);
  // What is in it more than once is written more than once.
  budget.measure(result);
  return result ?? null;
}

function evaluateWithin(expression: Expression, value: unknown, budget: Budget): unknown {
  budget.spend(1);
  const ask = (of: Expression, about: unknown): unknown => evaluateWithin(of, about, budget);
  switch (expression.kind) {
    case 'current':
      return value;
    case 'literal':
      return expression.value;
    case 'field':
      return isObject(value) && Object.hasOwn(value, expression.name)
        ? (value[expression.name] ?? null)
        : null;
    case 'index':
      return Array.isArray(value) ? (value.at(expression.index) ?? null) : null;
    case 'slice':
      return Array.isArray(value) ? slice(value, expression, budget) : null;
    case 'chain':
      return ask(expression.right, ask(expression.left, value));
    case 'projection':
      return project(expression, ask(expression.left, value), budget);
    case 'flatten':
      return flatten(ask(expression.left, value), budget);
    case 'comparison':
      return compare(
        expression.sign,
        ask(expression.left, value),
        ask(expression.right, value),
        budget,
      );
    case 'or': {
      const left = ask(expression.left, value);
      return isTrue(left, budget) ? left : ask(expression.right, value);
    }
    case 'and': {
      const left = ask(expression.left, value);
      return isTrue(left, budget) ? ask(expression.right, value) : left;
    }
    case 'not':
      return !isTrue(ask(expression.of, value), budget);
    case 'list':
      return value === null ? null : expression.items.map((item) => ask(item, value));
    case 'object':
      if (value === null) return null;
      return Object.fromEntries(expression.members.map(([name, of]) => [name, ask(of, value)]));
    case 'call': {
      const args = expression.args.map((arg) =>
        arg.kind === 'reference' ? (about: unknown) => ask(arg.of, about) : ask(arg, value),
      );
      return callFunction(expression.name, args, budget);
    }
    case 'reference':
      return null;
  }
}

/** Null where there is nothing to go through; what comes to null is left out. */
function project(
  { of, right, filter }: Expression & { kind: 'projection' },
  found: unknown,
  budget: Budget,
): unknown[] | null {
  const items =
    of === 'list'
      ? Array.isArray(found)
        ? found
        : undefined
      : isObject(found)
        ? Object.values(found)
        : undefined;
  if (!items) return null;
  const projected: unknown[] = [];
  for (const item of items) {
    if (filter && !isTrue(evaluateWithin(filter, item, budget), budget)) continue;
    const one = evaluateWithin(right, item, budget);
    if (one !== null) projected.push(one);
  }
  return projected;
}

function flatten(found: unknown, budget: Budget): unknown[] | null {
  if (!Array.isArray(found)) return null;
  const flat: unknown[] = [];
  for (const item of found) {
    budget.spend(Array.isArray(item) ? item.length + 1 : 1);
    if (Array.isArray(item)) for (const one of item) flat.push(one);
    else flat.push(item);
  }
  return flat;
}

function slice(
  items: readonly unknown[],
  { start, stop, step }: Expression & { kind: 'slice' },
  budget: Budget,
): unknown[] {
  const { length } = items;
  const lowest = step > 0 ? 0 : -1;
  const highest = step > 0 ? length : length - 1;
  const within = (wanted: number | undefined, otherwise: number): number =>
    wanted === undefined
      ? otherwise
      : Math.min(Math.max(wanted < 0 ? wanted + length : wanted, lowest), highest);
  const from = within(start, step > 0 ? 0 : highest);
  const to = within(stop, step > 0 ? highest : lowest);
  const sliced: unknown[] = [];
  for (let at = from; step > 0 ? at < to : at > to; at += step) {
    budget.spend(1);
    sliced.push(items[at]);
  }
  return sliced;
}

function compare(sign: Comparison, left: unknown, right: unknown, budget: Budget): boolean | null {
  if (sign === '==') return isSame(left, right, budget);
  if (sign === '!=') return !isSame(left, right, budget);
  if (typeof left !== 'number' || typeof right !== 'number') return null;
  switch (sign) {
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    case '>=':
      return left >= right;
  }
}

import { isDeepStrictEqual } from 'node:util';
import type { Comparisons } from './comparisons.ts';

/** What comparing two values of another kind than texts, lists and maps takes, as comparisons go. */
const OTHER_KIND = 100;

/**
 * Whether two values are the same, part by part; each part is taken from the budget. When nothing is
 * left of it, `false` says nothing.
 */
export function isSame(one: unknown, other: unknown, budget: Comparisons): boolean {
  budget.left -= 1;
  if (typeof one === 'string') budget.left -= one.length >> 6;
  if (budget.left < 0) return false;
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, at) => isSame(item, other[at], budget))
    );
  }
  if (!isObject(one) || !isObject(other)) return Object.is(one, other);
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  if (!isMap(one)) {
    budget.left -= OTHER_KIND;
    return isDeepStrictEqual(one, other);
  }
  const count = Object.keys(other).length;
  budget.left -= count;
  return Object.keys(one).length === count && holdsAll(other, one, budget);
}

/** Whether a map has every entry of another that has some; as {@link isSame}. */
export function holdsEntries(whole: unknown, part: unknown, budget: Comparisons): boolean {
  if (!isObject(whole) || !isObject(part)) return false;
  if (Array.isArray(whole) || Array.isArray(part)) return false;
  return Object.keys(part).length > 0 && holdsAll(whole, part, budget);
}

function holdsAll(whole: object, part: object, budget: Comparisons): boolean {
  const entries = Object.entries(part);
  budget.left -= entries.length;
  return entries.every(
    ([name, value]) =>
      Object.hasOwn(whole, name) && isSame(value, Reflect.get(whole, name), budget),
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isMap(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

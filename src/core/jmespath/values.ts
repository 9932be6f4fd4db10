import type { Budget } from './budget.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Null, false and what is empty are not; 0 is. */
export function isTrue(value: unknown, budget: Budget): boolean {
  if (value === null || value === undefined || value === false || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return !isObject(value) || namesOf(value, budget).length > 0;
}

/** The engine makes a list of them all each time, also where only their number is asked for. */
function namesOf(value: JsonObject, budget: Budget): string[] {
  const names = Object.keys(value);
  budget.spend(names.length);
  return names;
}

/** Whether two values are the same in all parts. */
export function isSame(left: unknown, right: unknown, budget: Budget): boolean {
  if (typeof left === 'string') budget.spendOnText(left);
  else budget.spend(1);
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((one, at) => isSame(one, right[at], budget));
  }
  if (isObject(left) && isObject(right)) {
    const names = namesOf(left, budget);
    return (
      names.length === namesOf(right, budget).length &&
      names.every((name) => Object.hasOwn(right, name) && isSame(left[name], right[name], budget))
    );
  }
  return left === right;
}

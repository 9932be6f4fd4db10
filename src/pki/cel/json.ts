import { type CelInput, isCelList, isCelMap, isCelUint } from '@bufbuild/cel';
import type { Budget } from './budget.ts';

/** How many lists and maps may lie within each other. */
const DEEPEST = 16;

/** A value of JSON as programs see it: whole numbers are whole numbers. */
export function toCel(value: unknown, budget: Budget, depth = 0): CelInput {
  if (depth > DEEPEST) throw new Error(`at most ${DEEPEST} lists and objects within each other`);
  budget.spend(1);
  if (Array.isArray(value)) {
    budget.list(value.length);
    return value.map((one) => toCel(one, budget, depth + 1));
  }
  if (value instanceof Uint8Array) return value;
  switch (typeof value) {
    case 'string':
      budget.spend(value.length);
      return value;
    case 'boolean':
      return value;
    case 'number':
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    case 'object':
      if (value === null) return null;
      return new Map(
        Object.entries(value).map(([name, one]) => [name, toCel(one, budget, depth + 1)]),
      );
    default:
      return null;
  }
}

/** @returns false for what is no JSON, as the function is known */
export function fromJsonText(text: string, budget: Budget): CelInput {
  budget.spend(text.length);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return false;
  }
  return toCel(parsed, budget);
}

/** @returns false for what JSON has no form for */
export function toJsonText(value: unknown, budget: Budget): string | false {
  const plain = toPlain(value, budget, 0);
  return plain === undefined ? false : JSON.stringify(plain);
}

function toPlain(value: unknown, budget: Budget, depth: number): unknown {
  if (depth > DEEPEST) throw new Error(`at most ${DEEPEST} lists and maps within each other`);
  budget.spend(typeof value === 'string' ? value.length + 1 : 1);
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (isCelUint(value)) return Number(value.value);
  if (isCelList(value)) {
    const items = [...value].map((one) => toPlain(one, budget, depth + 1));
    return items.includes(undefined) ? undefined : items;
  }
  if (!isCelMap(value)) return undefined;
  const entries = [...value.entries()].map(([name, one]) => [
    String(name),
    toPlain(one, budget, depth + 1),
  ]);
  return entries.some(([, one]) => one === undefined) ? undefined : Object.fromEntries(entries);
}

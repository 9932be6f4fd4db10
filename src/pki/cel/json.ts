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
  return writeJson(value, budget, 0) ?? false;
}

/** Written piece by piece: whole numbers of 64 bits have all their digits, which numbers of JavaScript have not. */
function writeJson(value: unknown, budget: Budget, depth: number): string | undefined {
  if (depth > DEEPEST) throw new Error(`at most ${DEEPEST} lists and maps within each other`);
  budget.spend(typeof value === 'string' ? value.length + 1 : 1);
  if (value === null || ['string', 'boolean', 'number'].includes(typeof value)) {
    return JSON.stringify(value);
  }
  if (typeof value === 'bigint') return String(value);
  if (isCelUint(value)) return String(value.value);
  if (isCelList(value)) {
    const items: string[] = [];
    for (const one of value) {
      const item = writeJson(one, budget, depth + 1);
      if (item === undefined) return undefined;
      items.push(item);
    }
    return `[${items.join(',')}]`;
  }
  if (!isCelMap(value)) return undefined;
  const members = new Map<string, string>();
  for (const [name, one] of value.entries()) {
    const member = writeJson(one, budget, depth + 1);
    if (member === undefined) return undefined;
    const key = isCelUint(name) ? name.value : name;
    members.set(JSON.stringify(String(key)), member);
  }
  return `{${[...members].map(([name, member]) => `${name}:${member}`).join(',')}}`;
}

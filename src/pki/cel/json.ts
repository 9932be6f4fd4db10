import { type CelInput, isCelList, isCelMap, isCelUint } from '@bufbuild/cel';
import type { Budget } from './budget.ts';
import { isInt64 } from './numbers.ts';

/** How many lists and maps may lie within each other. */
const DEEPEST = 16;

/**
 * A value of a body as programs see it: whole numbers are whole numbers.
 *
 * @throws Error for one beyond 2^53, which may have been another one when it was sent
 */
export const toCel = (value: unknown, budget: Budget): CelInput =>
  giveValue(value, budget, (number) => {
    if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
      throw new Error('a whole number beyond 2^53 is not held exactly: send it as a text');
    }
    return wholeOrDouble(number);
  });

const wholeOrDouble = (number: number): CelInput =>
  Number.isSafeInteger(number) ? BigInt(number) : number;

function giveValue(
  value: unknown,
  budget: Budget,
  giveNumber: (number: number) => CelInput,
  depth = 0,
): CelInput {
  if (depth > DEEPEST) throw new Error(`at most ${DEEPEST} lists and objects within each other`);
  budget.spend(1);
  if (Array.isArray(value)) {
    budget.list(value.length);
    return value.map((one) => giveValue(one, budget, giveNumber, depth + 1));
  }
  if (value instanceof Uint8Array) return value;
  switch (typeof value) {
    case 'string':
      budget.spend(value.length);
      return value;
    case 'boolean':
    case 'bigint':
      return value;
    case 'number':
      return giveNumber(value);
    case 'object':
      if (value === null) return null;
      return new Map(
        Object.entries(value).map(([name, one]) => [
          name,
          giveValue(one, budget, giveNumber, depth + 1),
        ]),
      );
    default:
      return null;
  }
}

/**
 * @returns false for what is no JSON, as the function is known
 * @throws Error for numbers that neither 64 bits nor a double hold
 */
export function fromJsonText(text: string, budget: Budget): CelInput {
  budget.spend(text.length);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text, readNumber);
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
  return giveValue(parsed, budget, wholeOrDouble);
}

/** Whole numbers are read from their digits: numbers of JavaScript have fewer. */
function readNumber(_: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  if (!Number.isFinite(value)) throw new Error('decode_json: a number is too large');
  const source = context?.source ?? '';
  if (!/^-?[0-9]+$/.test(source)) return value;
  const whole = BigInt(source);
  if (isInt64(whole)) return whole;
  throw new Error('decode_json: a whole number has more than 64 bits');
}

/** @returns false for what JSON has no form for */
export function toJsonText(value: unknown, budget: Budget): string | false {
  return writeJson(value, budget, 0) ?? false;
}

/** Written piece by piece: whole numbers of 64 bits have all their digits, which numbers of JavaScript have not. */
function writeJson(value: unknown, budget: Budget, depth: number): string | undefined {
  if (depth > DEEPEST) throw new Error(`at most ${DEEPEST} lists and maps within each other`);
  budget.spend(typeof value === 'string' ? value.length + 1 : 1);
  if (typeof value === 'number' && !Number.isFinite(value)) return undefined;
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

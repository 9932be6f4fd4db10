import {
  type CelFunc,
  type CelInput,
  type CelValue,
  celEnv,
  celFunc,
  celMethod,
  isCelError,
  isCelList,
  isCelMap,
} from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { isReflectList, isReflectMessage, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import type { Budget } from './budget.ts';

/** Of the language and its strings: what takes as long as its texts, bytes or lists are. */
const WEIGHED = new Set([
  ...['_==_', '_!=_', '_<_', '_<=_', '_>_', '_>=_', '@in', 'size'],
  ...['bool', 'timestamp', 'duration'],
  ...['startsWith', 'endsWith', 'trim'],
]);

/** What values of a type take that are made each time, in characters. */
const MADE = new Map([
  ['google.protobuf.Timestamp', 16],
  ['google.protobuf.Duration', 16],
  ['uint', 4],
]);

const LIBRARY = [...celEnv({ funcs: strings }).funcs].filter(
  ({ name, result }) => WEIGHED.has(name) || MADE.has(result.name),
);

/** Functions of the library that spend steps of the budget before they begin. */
export const weighFunctions = (budget: Budget): CelFunc[] =>
  LIBRARY.map((func) => {
    const { name, target, arguments: types, result } = func;
    const weigh = weighing(name);
    const made = MADE.get(result.name) ?? 0;
    const call = (on: CelValue | undefined, args: CelValue[]): CelInput => {
      weigh(on === undefined ? args : [on, ...args], budget);
      budget.spend(made);
      const found = func.call(0, on, args);
      if (isCelError(found)) throw new Error(found.message);
      if (found === undefined) throw new Error(`${name}: no such overload`);
      return found;
    };
    return target
      ? celMethod(name, target, types, result, function (...args) {
          return call(this, args);
        })
      : celFunc(name, types, result, (...args) => call(undefined, args));
  });

type Weigh = (values: readonly CelValue[], budget: Budget) => void;

function weighing(name: string): Weigh {
  if (name === 'size')
    return ([value], budget) => budget.look(typeof value === 'string' ? value.length : 0);
  if (name === 'timestamp' || name === 'duration' || name === 'bool') return weighReading;
  return name === '@in' ? weighMembership : weighValues;
}

/** Each unit of a duration is read by itself, and is a character or two; what is none of them is an error with a cause. */
function weighReading([value]: readonly CelValue[], budget: Budget): void {
  const length = lengthOf(value);
  budget.step(READING_STEPS + Math.min(length, LONGEST_DURATION));
  budget.look(length);
}

const READING_STEPS = 8;
const LONGEST_DURATION = 128;

function weighMembership([value, list]: readonly CelValue[], budget: Budget): void {
  if (isCelMap(list)) budget.look(typeof value === 'string' ? value.length : list.size);
  else if (list !== undefined) weighValue(list, budget);
  // What is neither list nor map is the same as none of them, at once.
  if (typeof value === 'object') weighValue(value, budget);
}

function weighValues(values: readonly CelValue[], budget: Budget): void {
  for (const value of values) weighValue(value, budget);
}

/**
 * What it takes to go through all of a value. Items of a list and a map are taken one by one, here as where they are
 * compared; these steps are spent before the first is.
 */
export function weighValue(value: CelValue, budget: Budget): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) {
    budget.look(lengthOf(value));
  } else if (isCelList(value)) {
    budget.take(value.size);
    for (const one of value) weighPart(one, budget);
  } else if (isCelMap(value)) {
    budget.take(4 * value.size);
    for (const [key, one] of value) {
      if (typeof key !== 'string') weighIndexed(value, budget);
      weighPart(one, budget);
    }
  } else if (isReflectMessage(value)) weighMessage(value, budget);
}

/**
 * Spends what it takes to find something in a value by another key than a text: in a map all of them are gone through.
 *
 * @returns the value
 */
export function weighIndexed(value: CelValue, budget: Budget): CelValue {
  budget.look(isCelMap(value) ? value.size : 0);
  return value;
}

/**
 * Spends what it takes to begin with what a macro goes through, which is copied, however soon the macro ends.
 *
 * @returns the value
 */
export function weighRange(value: CelValue, budget: Budget): CelValue {
  if (isCelList(value) || isCelMap(value)) budget.take(value.size >> 2);
  return value;
}

/** Building one, or comparing each of its fields. */
function weighMessage(message: ReflectMessage, budget: Budget): void {
  budget.take(FIELD_STEPS * message.desc.fields.length);
  for (const field of message.desc.fields) {
    if (!message.isSet(field)) continue;
    const value: unknown = message.get(field);
    if (isReflectMessage(value)) weighMessage(value, budget);
    else if (isReflectList(value)) {
      budget.take(ITEM_STEPS * value.size);
      for (const one of value) weighOwn(one, budget);
    } else weighOwn(value, budget);
  }
}

function weighOwn(value: unknown, budget: Budget): void {
  if (isReflectMessage(value)) weighMessage(value, budget);
  else if (typeof value === 'string' || value instanceof Uint8Array) budget.look(value.length);
}

/**
 * Spends what it takes to put a value into a field of a message, where each item of a list is copied.
 *
 * @returns the value
 */
export function weighFieldValue(value: CelValue, budget: Budget): CelValue {
  budget.step(MESSAGE_STEPS);
  // What it makes is there until the end.
  budget.spend(MESSAGE_STEPS);
  if (isCelList(value)) {
    budget.take(ITEM_STEPS * value.size);
    budget.spend(value.size);
    for (const one of value) weighPart(one, budget);
  } else if (typeof value === 'string' || value instanceof Uint8Array) budget.look(value.length);
  return value;
}

const FIELD_STEPS = 2;
const ITEM_STEPS = 4;
/** Of each field that is written, with its part of the message around it. */
const MESSAGE_STEPS = 16;

/** Shorter texts are as quick as other items. */
const LONG = 256;

function weighPart(value: CelValue, budget: Budget): void {
  if (typeof value === 'object') weighValue(value, budget);
  else if (typeof value === 'string' && value.length > LONG) budget.look(value.length);
}

function lengthOf(value: CelValue | undefined): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
}

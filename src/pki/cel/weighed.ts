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
import type { Budget } from './budget.ts';

/** Of the language and its strings: what takes as long as its texts, bytes or lists are. */
const WEIGHED = new Set([
  ...['_==_', '_!=_', '_<_', '_<=_', '_>_', '_>=_', '@in', 'size'],
  ...['int', 'uint', 'double', 'bool', 'timestamp', 'duration'],
  ...['startsWith', 'endsWith', 'trim'],
]);
const SEARCHES = new Set(['contains', 'indexOf', 'lastIndexOf']);

const LIBRARY = [...celEnv({ funcs: strings }).funcs].filter(
  ({ name }) => WEIGHED.has(name) || SEARCHES.has(name),
);

/** Functions of the library that spend steps of the budget before they begin. */
export const weighFunctions = (budget: Budget): CelFunc[] =>
  LIBRARY.map((func) => {
    const { name, target, arguments: types, result } = func;
    const weigh = weighing(name);
    const call = (on: CelValue | undefined, args: CelValue[]): CelInput => {
      weigh(on === undefined ? args : [on, ...args], budget);
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
  if (SEARCHES.has(name)) return weighSearch;
  if (name === 'size')
    return ([value], budget) => budget.look(typeof value === 'string' ? value.length : 0);
  return name === '@in' ? weighMembership : weighValues;
}

function weighSearch([text, wanted]: readonly CelValue[], budget: Budget): void {
  budget.search(lengthOf(text), lengthOf(wanted));
}

function weighMembership([value, list]: readonly CelValue[], budget: Budget): void {
  budget.search(lengthOf(list), lengthOf(value));
  // What is neither list nor map is the same as none of them, at once.
  if (typeof value === 'object' && list !== undefined) weighValue(list, budget);
}

function weighValues(values: readonly CelValue[], budget: Budget): void {
  for (const value of values) weighValue(value, budget);
}

function weighValue(value: CelValue, budget: Budget): void {
  budget.look(lengthOf(value));
  if (isCelList(value)) for (const one of value) weighPart(one, budget);
  else if (isCelMap(value)) for (const [, one] of value) weighPart(one, budget);
}

/** Shorter texts are as quick as other items. */
const LONG = 256;

function weighPart(value: CelValue, budget: Budget): void {
  if (typeof value === 'object') weighValue(value, budget);
  else if (typeof value === 'string' && value.length > LONG) budget.look(value.length);
}

function lengthOf(value: CelValue | undefined): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  return isCelList(value) || isCelMap(value) ? value.size : 0;
}

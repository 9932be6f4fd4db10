import { invalid } from '../failure.ts';
import { findText } from '../text-search.ts';
import type { Budget } from './budget.ts';
import { isObject, isSame, type JsonObject } from './values.ts';

/** An expression that is given to a function. */
type Asked = (about: unknown) => unknown;

/** What is given to a function, each as it has to be. */
class Arguments {
  readonly #name: string;
  readonly #given: readonly unknown[];
  readonly budget: Budget;

  constructor(name: string, given: readonly unknown[], budget: Budget) {
    this.#name = name;
    this.#given = given;
    this.budget = budget;
  }

  get all(): readonly unknown[] {
    return this.#given.map((one) => (typeof one === 'function' ? this.#refuse('a value') : one));
  }

  any(at: number): unknown {
    const given = this.#given[at];
    return typeof given === 'function' ? this.#refuse('a value') : given;
  }

  text(at: number): string {
    const given = this.#given[at];
    if (typeof given !== 'string') return this.#refuse('a text');
    this.budget.spendOnText(given);
    return given;
  }

  number(at: number): number {
    const given = this.#given[at];
    return typeof given === 'number' ? given : this.#refuse('a number');
  }

  list(at: number): readonly unknown[] {
    const given = this.#given[at];
    if (!Array.isArray(given)) return this.#refuse('a list');
    this.budget.spend(given.length);
    return given;
  }

  numbers(at: number): number[] {
    const list = this.list(at);
    return list.every((one) => typeof one === 'number') ? [...list] : this.#refuse('numbers');
  }

  texts(at: number): string[] {
    const list = this.list(at);
    if (!list.every((one) => typeof one === 'string')) return this.#refuse('texts');
    for (const one of list) this.budget.spendOnText(one);
    return [...list];
  }

  object(at: number): JsonObject {
    const given = this.#given[at];
    if (!isObject(given)) return this.#refuse('an object');
    this.budget.spend(Object.keys(given).length);
    return given;
  }

  expression(at: number): Asked {
    const given = this.#given[at];
    if (typeof given !== 'function') return this.#refuse('an expression after "&"');
    return (about) => given(about);
  }

  /**
   * Things by which others are put into order: all numbers, or all texts.
   *
   * @param times how often each may be compared
   */
  keys(of: readonly unknown[], times = 1): (string | number)[] {
    const isAll = (type: 'string' | 'number'): boolean => of.every((one) => typeof one === type);
    if (!isAll('number') && !isAll('string')) this.#refuse('all numbers or all texts');
    for (const one of of) this.budget.measure(one, times);
    return of as (string | number)[];
  }

  #refuse(what: string): never {
    throw invalid(`${this.#name}() takes ${what} there`);
  }
}

interface Defined {
  least: number;
  most: number;
  run(given: Arguments): unknown;
}

const define = (count: number, run: Defined['run']): Defined => ({
  least: count,
  most: count,
  run,
});

/** How often sorting compares each of so many. */
const comparisonsOf = (length: number): number => Math.ceil(Math.log2(length + 1));

const isLess = (a: string | number, b: string | number): boolean => a < b;

function sortBy(given: Arguments, items: readonly unknown[], keys: readonly unknown[]): unknown[] {
  // Long texts that only differ at their ends are gone through whole each time.
  const known = given.keys(keys, comparisonsOf(items.length));
  const order = known.map((key, at) => ({ key, item: items[at] }));
  order.sort((a, b) => (isLess(a.key, b.key) ? -1 : isLess(b.key, a.key) ? 1 : 0));
  return order.map(({ item }) => item);
}

function findExtreme(
  given: Arguments,
  items: readonly unknown[],
  keys: readonly unknown[],
  isBetter: (a: string | number, b: string | number) => boolean,
): unknown {
  const known = given.keys(keys);
  let best = 0;
  for (const [at, key] of known.entries()) if (isBetter(key, known[best] ?? key)) best = at;
  return items[best] ?? null;
}

const byExpression = (given: Arguments): [items: readonly unknown[], keys: unknown[]] => {
  const items = given.list(0);
  return [items, items.map(given.expression(1))];
};

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function contains(given: Arguments): boolean {
  const within = given.any(0);
  if (typeof within === 'string') {
    given.text(0);
    // The engine's own search takes the product of both lengths where they repeat themselves.
    return typeof given.any(1) === 'string' && findText(within, given.text(1)) >= 0;
  }
  return given.list(0).some((one) => isSame(one, given.any(1), given.budget));
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function lengthOf(given: Arguments): number {
  const of = given.any(0);
  if (typeof of === 'string') return countCharacters(given.text(0));
  return Array.isArray(of) ? of.length : Object.keys(given.object(0)).length;
}

function reverse(given: Arguments): unknown {
  const of = given.any(0);
  return typeof of === 'string'
    ? [...given.text(0)].reverse().join('')
    : given.list(0).toReversed();
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function toNumber(given: Arguments): number | null {
  const of = given.any(0);
  if (typeof of === 'number') return of;
  if (typeof of !== 'string' || !/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(given.text(0))) return null;
  return Number(of);
}

function toText(given: Arguments): string {
  const of = given.any(0);
  given.budget.measure(of);
  return typeof of === 'string' ? of : JSON.stringify(of ?? null);
}

const FUNCTIONS: ReadonlyMap<string, Defined> = new Map(
  Object.entries({
    abs: define(1, (given) => Math.abs(given.number(0))),
    avg: define(1, (given) => {
      const numbers = given.numbers(0);
      return numbers.length === 0 ? null : sum(numbers) / numbers.length;
    }),
    ceil: define(1, (given) => Math.ceil(given.number(0))),
    contains: define(2, contains),
    ends_with: define(2, (given) => given.text(0).endsWith(given.text(1))),
    floor: define(1, (given) => Math.floor(given.number(0))),
    join: define(2, (given) => {
      const glue = given.text(0);
      const texts = given.texts(1);
      for (const _ of texts) given.budget.spendOnText(glue);
      return texts.join(glue);
    }),
    keys: define(1, (given) => Object.keys(given.object(0))),
    length: define(1, lengthOf),
    map: define(2, (given) => given.list(1).map(given.expression(0))),
    max: define(1, (given) =>
      findExtreme(given, given.list(0), given.list(0), (a, b) => isLess(b, a)),
    ),
    max_by: define(2, (given) =>
      findExtreme(given, ...byExpression(given), (a, b) => isLess(b, a)),
    ),
    merge: {
      least: 1,
      most: 100,
      run: (given) =>
        Object.fromEntries(given.all.flatMap((_, at) => Object.entries(given.object(at)))),
    },
    min: define(1, (given) => findExtreme(given, given.list(0), given.list(0), isLess)),
    min_by: define(2, (given) => findExtreme(given, ...byExpression(given), isLess)),
    not_null: {
      least: 1,
      most: 100,
      run: (given) => given.all.find((one) => one !== null && one !== undefined) ?? null,
    },
    reverse: define(1, reverse),
    sort: define(1, (given) => sortBy(given, given.list(0), given.list(0))),
    sort_by: define(2, (given) => sortBy(given, ...byExpression(given))),
    starts_with: define(2, (given) => given.text(0).startsWith(given.text(1))),
    sum: define(1, (given) => sum(given.numbers(0))),
    to_array: define(1, (given) => {
      const of = given.any(0);
      return Array.isArray(of) ? of : [of];
    }),
    to_number: define(1, toNumber),
    to_string: define(1, toText),
    type: define(1, (given) => typeOf(given.any(0))),
    values: define(1, (given) => Object.values(given.object(0))),
  }),
);

export const isFunction = (name: string): boolean => FUNCTIONS.has(name);

/** @throws Failure `invalid` for what the function does not take */
export function callFunction(name: string, given: readonly unknown[], budget: Budget): unknown {
  const known = FUNCTIONS.get(name);
  if (!known) throw invalid(`there is no function ${name}`);
  if (given.length < known.least || given.length > known.most) {
    throw invalid(`${name}() is given ${given.length} values`);
  }
  return known.run(new Arguments(name, given, budget)) ?? null;
}

import { type CelFunc, CelScalar, celFunc, celUint } from '@bufbuild/cel';
import type { Budget } from './budget.ts';

const { STRING, INT, UINT, DOUBLE } = CelScalar;

const SIGNED = /^[+-]?[0-9]+$/;
const UNSIGNED = /^[0-9]+$/;
const DECIMAL = /^[+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const NO_FINITE = /^[+-]?(?:Infinity|inf)$|^NaN$/i;

/** Characters of a number: what is longer takes long, and is none that anybody means. */
const LONGEST = 1_024;
const READING_STEPS = 6;

/**
 * What makes numbers of texts. The library's take whatever the engine makes a number of: the empty text is 0 to it,
 * and a text that is none is a number all the same (NaN).
 */
export const numbersOfTexts = (budget: Budget): CelFunc[] => [
  celFunc('int', [STRING], INT, (text) => readWhole(text, SIGNED, INT64, budget)),
  celFunc('uint', [STRING], UINT, (text) => celUint(readWhole(text, UNSIGNED, UINT64, budget))),
  celFunc('double', [STRING], DOUBLE, (text) => readDouble(text, budget)),
];

interface Range {
  name: string;
  least: bigint;
  most: bigint;
}
const INT64: Range = { name: 'int', least: -(2n ** 63n), most: 2n ** 63n - 1n };
const UINT64: Range = { name: 'uint', least: 0n, most: 2n ** 64n - 1n };

export const isInt64 = (number: bigint): boolean => isWithin(INT64, number);

const isWithin = ({ least, most }: Range, number: bigint): boolean =>
  least <= number && number <= most;

/** What is none is an error, which takes longer than most that is. */
function spendReading(text: string, budget: Budget): void {
  budget.step(READING_STEPS);
  budget.look(text.length);
}

function readWhole(text: string, form: RegExp, range: Range, budget: Budget): bigint {
  spendReading(text, budget);
  const { name } = range;
  if (text.length > LONGEST || !form.test(text)) throw new Error(`${name}: the text is no number`);
  const number = BigInt(text.replace('+', ''));
  if (!isWithin(range, number)) throw new Error(`${name} overflow during type conversion`);
  return number;
}

function readDouble(text: string, budget: Budget): number {
  spendReading(text, budget);
  if (text.length <= LONGEST && NO_FINITE.test(text)) {
    return Number(text.replace(/inf(?:inity)?$/i, 'Infinity'));
  }
  const number = text.length <= LONGEST && DECIMAL.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(number)) throw new Error('double: the text is no number');
  return number;
}

import {
  type CelFunc,
  type CelList,
  CelScalar,
  type CelValue,
  celFunc,
  celList,
  celMethod,
  listType,
} from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { RE2JS } from 're2js';
import { findLastText, findText } from '../../core/text-search.ts';
import type { Budget } from './budget.ts';
import { fromJsonText, toJsonText } from './json.ts';
import { numbersOfTexts } from './numbers.ts';
import { timeFunctions } from './times.ts';
import { weighFieldValue, weighFunctions, weighIndexed, weighRange } from './weighed.ts';

const { STRING, BYTES, BOOL, INT, DYN } = CelScalar;
const LIST = listType(DYN);
const STRINGS = listType(STRING);

/** Of a regular expression, in characters and in instructions of its program. */
const MAX_PATTERN = 512;
const MAX_INSTRUCTIONS = 2_000;
/** Of each instruction, which is there until the end. */
const INSTRUCTION_MADE = 4;
/** Of each character of a text, for some instructions of the program. */
const CHARACTER_STEPS = 4;
const EMAIL_STEPS = 16;

/** The function that counts what goes on within macros. */
export const STEPS = '@steps';
/** The function that weighs what is put into a field of a message. */
export const OF_FIELD = '@of_field';
/** The function that weighs what a macro goes through. */
export const RANGE = '@range';
/** The function that weighs what something is taken out of. */
export const INDEXED = '@indexed';

/** Functions that would make long values out of short ones, or take long: each spends from the budget. */
const REPLACED = new Set([
  ...['replace', 'join', 'split', 'format', 'strings.quote'],
  ...['lowerAscii', 'upperAscii', 'indexOf', 'lastIndexOf'],
]);

/**
 * What programs may call besides the language's own. What makes values is counted, so that no program makes more
 * than the budget has; regular expressions take time in proportion to the text.
 */
export function makeFunctions(budget: Budget): CelFunc[] {
  return [
    ...strings.filter(({ name }) => !REPLACED.has(name)),
    ...weighFunctions(budget),
    // What goes on within a macro, with what is evaluated each time. No program can name it.
    celFunc(STEPS, [BOOL, INT, INT], BOOL, (goes_on, steps, made) => {
      budget.step(Number(steps));
      budget.spend(Number(made));
      return goes_on;
    }),
    celFunc(OF_FIELD, [DYN], DYN, (value) => weighFieldValue(value, budget)),
    celFunc(RANGE, [DYN], DYN, (range) => weighRange(range, budget)),
    celFunc(INDEXED, [DYN], DYN, (value) => weighIndexed(value, budget)),
    ...numbersOfTexts(budget),
    ...timeFunctions(budget),
    ...conversions(budget),
    ...additions(budget),
    ...textFunctions(budget),
    ...searches(budget),
    celFunc('check_valid_email', [DYN], BOOL, (value) => {
      budget.step(EMAIL_STEPS);
      return isEmail(value);
    }),
    celFunc('decode_json', [DYN], DYN, (text) =>
      typeof text === 'string' ? fromJsonText(text, budget) : false,
    ),
    celFunc('encode_json', [DYN], DYN, (value) => toJsonText(value, budget)),
  ];
}

/** What makes another value of the same length. */
function conversions(budget: Budget): CelFunc[] {
  const counted = <Value extends string | Uint8Array>(value: Value): Value => {
    budget.spend(value.length);
    return value;
  };
  return [
    celFunc('bytes', [STRING], BYTES, (text) => Buffer.from(counted(text))),
    celFunc('string', [BYTES], STRING, (bytes) =>
      new TextDecoder('utf-8', { fatal: true }).decode(counted(bytes)),
    ),
    celMethod('lowerAscii', STRING, [], STRING, function () {
      return counted(this).replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
    }),
    celMethod('upperAscii', STRING, [], STRING, function () {
      return counted(this).replace(/[a-z]+/g, (letters) => letters.toUpperCase());
    }),
  ];
}

function additions(budget: Budget): CelFunc[] {
  return [
    celFunc('_+_', [STRING, STRING], STRING, (a, b) => {
      budget.spend(a.length + b.length);
      return a + b;
    }),
    celFunc('_+_', [BYTES, BYTES], BYTES, (a, b) => {
      budget.spend(a.length + b.length);
      return new Uint8Array(Buffer.concat([a, b]));
    }),
    // Macros build their lists so, one by one: those of the library would lie within each other.
    celFunc('_+_', [LIST, LIST], LIST, (a, b) => {
      budget.list(a.size + b.size);
      budget.spend(1 + b.size + (a.size >> 6));
      if (!arraysOf.has(a)) budget.take(a.size);
      if (!arraysOf.has(b)) budget.take(b.size);
      return append(a, b);
    }),
  ];
}

/** What the lists are of that were made here: to copy an array is quicker than to go through a list. */
const arraysOf = new WeakMap<CelList, CelValue[]>();

function append(a: CelList, b: CelList): CelList {
  const items = (arraysOf.get(a) ?? [...a]).concat(arraysOf.get(b) ?? [...b]);
  const list = celList(items);
  arraysOf.set(list, items);
  return list;
}

/** Where a piece begins in a text; the empty piece is before each character and at the end, as in Go. */
function* placesOf(text: string, piece: string, most: number): Generator<number> {
  let at = findText(text, piece);
  for (let found = 0; found < most && at >= 0 && at <= text.length; found += 1) {
    yield at;
    at = piece === '' ? at + lengthAt(text, at) : findText(text, piece, at + piece.length);
  }
}

/** As the library has them, which leave searching to the engine: that takes the product of both lengths at worst. */
function searches(budget: Budget): CelFunc[] {
  const startOf = (text: string, start: bigint): number => {
    if (start >= 0n && start < text.length) return Number(start);
    throw new Error(`index ${start} out of bounds [0, ${text.length})`);
  };
  const find = (text: string, piece: string, from = 0n): bigint => {
    budget.search(text.length, piece.length);
    return BigInt(findText(text, piece, Number(from)));
  };
  const findLast = (text: string, piece: string, from = BigInt(text.length)): bigint => {
    budget.search(text.length, piece.length);
    return BigInt(findLastText(text, piece, Number(from)));
  };
  return [
    celMethod('contains', STRING, [STRING], BOOL, function (piece) {
      return find(this, piece) >= 0n;
    }),
    celMethod('indexOf', STRING, [STRING], INT, function (piece) {
      return find(this, piece);
    }),
    celMethod('indexOf', STRING, [STRING, INT], INT, function (piece, start) {
      return find(this, piece, BigInt(startOf(this, start)));
    }),
    celMethod('lastIndexOf', STRING, [STRING], INT, function (piece) {
      return findLast(this, piece);
    }),
    celMethod('lastIndexOf', STRING, [STRING, INT], INT, function (piece, start) {
      return findLast(this, piece, BigInt(startOf(this, start)));
    }),
  ];
}

/** Of the character that begins there. */
const lengthAt = (text: string, at: number): number =>
  (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;

function textFunctions(budget: Budget): CelFunc[] {
  const replace = (text: string, from: string, to: string, most = -1n): string => {
    budget.search(text.length, from.length);
    const at = placesOf(text, from, most < 0n ? text.length + 1 : Number(most));
    let replaced = '';
    let rest = 0;
    for (const place of at) {
      budget.spend(1 + to.length);
      replaced += text.slice(rest, place) + to;
      rest = place + from.length;
    }
    budget.spend(text.length);
    return replaced + text.slice(rest);
  };
  const join = (list: CelList, separator = ''): string => {
    budget.take(list.size);
    const texts = [...list].map((one) => {
      if (typeof one !== 'string') throw new Error('join: a list of texts is wanted');
      budget.spend(one.length + separator.length);
      return one;
    });
    return texts.join(separator);
  };
  const split = (text: string, separator: string, most = -1n) => {
    budget.spend(text.length);
    budget.search(text.length, separator.length);
    if (most === 0n) return [];
    const pieces: string[] = [];
    const ends = most < 0n ? text.length : Number(most) - 1;
    let rest = 0;
    const take = (end: number, next: number): void => {
      budget.list(pieces.length + 1);
      pieces.push(text.slice(rest, end));
      rest = next;
    };
    if (separator === '') {
      while (rest < text.length && pieces.length < ends) {
        const end = rest + lengthAt(text, rest);
        take(end, end);
      }
      if (rest < text.length) take(text.length, text.length);
      return pieces;
    }
    for (const place of placesOf(text, separator, ends)) take(place, place + separator.length);
    take(text.length, text.length);
    return pieces;
  };
  return [
    celMethod('replace', STRING, [STRING, STRING], STRING, function (from, to) {
      return replace(this, from, to);
    }),
    celMethod('replace', STRING, [STRING, STRING, INT], STRING, function (from, to, most) {
      return replace(this, from, to, most);
    }),
    celMethod('join', LIST, [], STRING, function () {
      return join(this);
    }),
    celMethod('join', LIST, [STRING], STRING, function (separator) {
      return join(this, separator);
    }),
    celMethod('split', STRING, [STRING], STRINGS, function (separator) {
      return split(this, separator);
    }),
    celMethod('split', STRING, [STRING, INT], STRINGS, function (separator, most) {
      return split(this, separator, most);
    }),
  ];
}

/** A text with one `@`, in the form that certificates have mailboxes in. */
function isEmail(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > 320) return false;
  return /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?$/.test(
    value,
  );
}

/** What `matches` compiles with: nothing is tried twice (RE2). */
export function makeRegularExpressions(budget: Budget) {
  const known = new Map<string, RE2JS>();
  return {
    compile(pattern: string) {
      const compiled = known.get(pattern) ?? compilePattern(pattern, budget);
      known.set(pattern, compiled);
      return {
        test(text: string): boolean {
          budget.step(CHARACTER_STEPS * text.length * (1 + (compiled.programSize() >> 4)));
          return compiled.matcher(text).find();
        },
      };
    },
  };
}

function compilePattern(pattern: string, budget: Budget): RE2JS {
  if (pattern.length > MAX_PATTERN) {
    throw new Error(`matches: a regular expression has at most ${MAX_PATTERN} characters`);
  }
  budget.spend(pattern.length * 64);
  const compiled = RE2JS.compile(pattern);
  const size = compiled.programSize();
  // Ten thousand times as long as it is written took its time already: no other one is tried.
  if (size > MAX_INSTRUCTIONS) {
    budget.end('matches: the regular expression is too large once its repetitions are written out');
  }
  budget.spend(size * INSTRUCTION_MADE);
  return compiled;
}

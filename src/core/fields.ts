import { z } from 'zod';
import { comparedBy, eachText } from './comparison.ts';
import { parseDuration } from './durations.ts';
import type { Field, FieldKind, FieldWithDefault, OptionalField } from './field.ts';
import { countJsonParts } from './json-parts.ts';
import { parseCounted, parseJsonText } from './json-text.ts';
import { formatTimestamp, parseTimestamp } from './timestamps.ts';

interface Kind<Out> {
  /** What the field takes; the message when it is sent something else. */
  accepts: string;
  /** Never sees undefined or null. @returns `undefined` when the value is not of this kind */
  convert(value: unknown): Out | undefined;
  /** A reason of its own for refusing this value, more telling than `accepts`. */
  because?(value: unknown): string | undefined;
  output: z.ZodType<Out>;
}

function makeField<Out>(kind: Kind<Out>, byDefault: Out | undefined): Field<Out> {
  const conversion = new z.ZodTransform({
    type: 'transform',
    transform: (value, context): Out => {
      if (value === undefined || value === null) {
        if (byDefault !== undefined) return byDefault;
        return refuse(context, `a value is required, ${kind.accepts}`);
      }
      const converted = kind.convert(value);
      if (converted !== undefined) return converted;
      return refuse(context, kind.because?.(value) ?? kind.accepts);
    },
  }) as z.ZodTransform<Out, unknown>;
  return new z.ZodPipe({ type: 'pipe', in: conversion, out: kind.output }) as Field<Out>;
}

function refuse(context: z.core.ParsePayload, message: string): never {
  context.issues.push({ code: 'custom', message, input: context.value, continue: false });
  return z.NEVER;
}

/** Makes a kind of one's own, for a field that takes what none of the kinds below does. */
export function fieldKind<Out>(kind: Kind<Out>): FieldKind<Out> {
  function make(): Field<Out>;
  function make(byDefault: Out): FieldWithDefault<Out>;
  function make(byDefault?: Out): Field<Out> | FieldWithDefault<Out> {
    const field = makeField(kind, byDefault);
    return byDefault === undefined ? field : field.prefault(byDefault);
  }
  return make;
}

/**
 * Text of at most {@link MAX_TEXT} characters; numbers and booleans become their text (`true` is
 * `1`, as older servers had it).
 */
export const text: FieldKind<string> = fieldKind({
  accepts: 'a string',
  convert: (value) => convertText(value, MAX_TEXT),
  because: (value) =>
    typeof value === 'string' ? `a string of at most ${MAX_TEXT} characters` : undefined,
  output: z.string(),
});

/** {@link text} as long as a body may be: PEM, policies, lists of names in one text. */
export const longText: FieldKind<string> = fieldKind({
  accepts: 'a string',
  convert: (value) => convertText(value, Number.POSITIVE_INFINITY),
  output: z.string(),
});

/** Longest text of one line, so to speak: names, and what is compared with patterns. */
const MAX_TEXT = 8192;
/** A whole number, or its decimal text; the empty text is none and is refused. */
export const integer: FieldKind<number> = fieldKind({
  accepts: 'a whole number',
  convert: convertInteger,
  output: z.int(),
});

/**
 * true or false; also `1`, `t`, `0`, `f` and their like, as text or number; never the empty text.
 *
 * @see S-11
 */
export const flag: FieldKind<boolean> = fieldKind({
  accepts: 'true or false',
  convert: convertFlag,
  output: z.boolean(),
});

/**
 * A length of time in whole seconds: a number, or text such as `90s`, `1h30m`, `7d`. The empty
 * text is 0. Fractions are dropped. Negative values are refused.
 *
 * @see S-9
 */
export const duration: FieldKind<number> = fieldKind({
  accepts: 'a duration: seconds, or text such as "90s", "1h30m" or "7d"',
  convert: (value) => {
    const seconds = convertSeconds(value);
    return seconds === undefined || seconds < 0 ? undefined : Math.trunc(seconds);
  },
  because: (value) =>
    (convertSeconds(value) ?? 0) < 0 ? 'cannot provide negative value' : undefined,
  output: z.int().min(0),
});

/** Longer ones are none. */
const MAX_DURATION_TEXT = 64;

/**
 * A length of time that is kept, and read back, as the text it was written in; a number becomes
 * its decimal text. Whether it parses is for the rules of the record to say (`parseDuration`).
 */
export const durationText: FieldKind<string> = comparedBy(
  fieldKind({
    accepts: 'a duration as text, such as "90s", "72h" or "7d"',
    convert: (value) => convertText(value, MAX_DURATION_TEXT),
    output: z.string(),
  }),
  {
    form: eachText((written) => {
      const seconds = parseDuration(written);
      return seconds === undefined ? written : Math.trunc(seconds);
    }),
  },
);

/**
 * A list of strings: an array, or one string with commas between the items, or one string that
 * holds a JSON array. Items are trimmed; numbers become text; the empty string is the empty list.
 * As many and as long ones as {@link LONG_LIST} says.
 *
 * @see S-10
 */
export const list: FieldKind<string[]> = fieldKind({
  accepts: 'a list of strings, or one string with commas between the items',
  convert: (value) => convertList(value, LONG_LIST),
  because: (value) => complainOfList(value, LONG_LIST),
  output: z.array(z.string()),
});

/**
 * A {@link list} of few and short items: references to things, which are looked up one by one,
 * and whatever is held against every request.
 */
export const shortList: FieldKind<string[]> = fieldKind({
  accepts: 'a list of strings, or one string with commas between the items',
  convert: (value) => convertList(value, SHORT_LIST),
  because: (value) => complainOfList(value, SHORT_LIST),
  output: z.array(z.string()),
});

/**
 * A {@link shortList} that is copied from one thing to the next and kept in memory for each of them:
 * at most {@link MAX_LIST} characters in all.
 */
export const modestList: FieldKind<string[]> = fieldKind({
  accepts: 'a list of strings, or one string with commas between the items',
  convert: (value) => convertList(value, MODEST_LIST),
  because: (value) => complainOfList(value, MODEST_LIST),
  output: z.array(z.string()),
});

/** How many items a list may have, and how many characters each of them and all together. */
interface ListBounds {
  items: number;
  characters: number;
  in_all?: number;
}

/** Of a text that looks like JSON; what has more within one another, or objects, is no list of texts. */
const LIST_TEXT = { maxDepth: 32, maxMembers: 1_000 };

/** Characters of all items of a list that is kept for whatever it was given to. */
export const MAX_LIST = 65_536;

/** More would take longer to look at than one request may take. */
const LONG_LIST: ListBounds = { items: 10_000, characters: MAX_TEXT };
const SHORT_LIST: ListBounds = { items: 1000, characters: 1024 };
const MODEST_LIST: ListBounds = { ...SHORT_LIST, in_all: MAX_LIST };

function complainOfList(value: unknown, bounds: ListBounds): string | undefined {
  const { items, characters, in_all } = bounds;
  if (!Array.isArray(value) && typeof value !== 'string') return undefined;
  const each = `a list of at most ${items} strings of at most ${characters} characters each`;
  return in_all === undefined ? each : `${each} and ${in_all} in all`;
}

/** Characters of all items together. */
export function countCharacters(items: readonly string[]): number {
  return items.reduce((sum, { length }) => sum + length, 0);
}

function isWithin(items: readonly string[], { in_all }: ListBounds): boolean {
  return in_all === undefined || countCharacters(items) <= in_all;
}

/** An RFC 3339 timestamp kept as text, e.g. `2030-01-31T12:00:00Z`; empty for none. */
export const timestampText: FieldKind<string> = comparedBy(
  fieldKind({
    accepts: 'an RFC 3339 timestamp, such as "2030-01-31T12:00:00Z"',
    convert: (value) => {
      const written = typeof value === 'string' ? value : undefined;
      return written === '' || (written !== undefined && parseTimestamp(written) !== undefined)
        ? written
        : undefined;
    },
    output: z.string(),
  }),
  {
    form: eachText((written) => {
      const seconds = parseTimestamp(written);
      return seconds === undefined ? written : formatTimestamp(seconds);
    }),
  },
);

/** An instant in Unix seconds, sent as that number or as an RFC 3339 timestamp. */
export const instant: FieldKind<number> = fieldKind({
  accepts: 'an RFC 3339 timestamp, or Unix seconds',
  convert: (value) =>
    (typeof value === 'string' ? parseTimestamp(value) : undefined) ?? convertInteger(value),
  output: z.int(),
});

/**
 * Names with text values: an object, or `k=v` text, one or a list of them. At most 1000 of them
 * with at most {@link MAX_MAP} characters in all: they are kept, and read again with every request.
 */
export const stringMap: FieldKind<Record<string, string>> = fieldKind({
  accepts:
    'an object with string values, or a list of "key=value", of at most 1000 names and 65536 characters in all',
  convert: (value) => {
    const map = convertStringMap(value);
    return map && isSmallMap(map) ? map : undefined;
  },
  output: z.record(z.string(), z.string()),
});

const MAX_MAP_ENTRIES = 1000;
const MAX_MAP = 65_536;

const MAP_TEXT = { maxDepth: 1, maxValues: MAX_MAP_ENTRIES, maxMembers: MAX_MAP_ENTRIES };

/** Whether a map is within the bounds of a {@link stringMap}. */
export function isSmallMap(map: Readonly<Record<string, string>>): boolean {
  const entries = Object.entries(map);
  if (entries.length > MAX_MAP_ENTRIES) return false;
  return entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0) <= MAX_MAP;
}

/**
 * One of a fixed set of words.
 *
 * @param options.complaint replaces the message that lists the words, e.g. `unknown key type dsa`
 */
export function choice<const Word extends string>(words: readonly Word[]): Field<Word>;
export function choice<const Word extends string>(
  words: readonly Word[],
  byDefault: Word,
  options?: { complaint(sent: string): string },
): FieldWithDefault<Word>;
export function choice<const Word extends string>(
  words: readonly Word[],
  byDefault?: Word,
  options?: { complaint(sent: string): string },
): Field<Word> | FieldWithDefault<Word> {
  const make = fieldKind<Word>({
    accepts: `one of ${words.map((word) => `"${word}"`).join(', ')}`,
    convert: (value) => words.find((word) => word === value),
    because: (value) => options?.complaint(String(value).slice(0, 64)),
    output: z.enum(words),
  });
  return byDefault === undefined ? make() : make(byDefault);
}

/** A field that may be left out, with no default; null counts as left out. */
export function optional<Out>(kind: z.ZodType<Out>): OptionalField<Out> {
  const described = z
    .transform<unknown, unknown>((value) => (value === null ? undefined : value))
    .pipe(kind.optional());
  return kind.description === undefined ? described : described.describe(kind.description);
}

type Inner<F> = F extends z.ZodPrefault<infer Kind extends z.ZodType> ? Kind : F;
export type PatchShape<Shape extends Record<string, z.ZodType>> = {
  [Name in keyof Shape]: OptionalField<z.output<Inner<Shape[Name]>>>;
};

/**
 * The input of a partial update: every field may be left out, and none falls to its default.
 * Apply the result with {@link mergePatch}.
 */
export function patchOf<Shape extends Record<string, z.ZodType>>(
  fields: Shape,
): z.ZodObject<PatchShape<Shape>> {
  const shape: Record<string, z.ZodType> = {};
  for (const [name, declared] of Object.entries(fields)) {
    const kind = declared instanceof z.ZodPrefault ? declared.unwrap() : declared;
    const patch = optional(kind as z.ZodType);
    shape[name] = declared.description === undefined ? patch : patch.describe(declared.description);
  }
  return z.object(shape as PatchShape<Shape>);
}

/** A copy of the record with the sent fields replaced; a field that is undefined was not sent. */
export function mergePatch<Whole extends object>(
  existing: Whole,
  patch: { [Name in keyof Whole]?: Whole[Name] | undefined },
): Whole {
  const merged = { ...existing };
  for (const name in patch) {
    const value = patch[name];
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}

/** What is wrong with each field, by its name: the first complaint for each. */
export function fieldErrors(error: z.core.$ZodError): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const issue of error.issues) {
    const name = String(issue.path[0] ?? '');
    if (!Object.hasOwn(errors, name)) errors[name] = issue.message;
  }
  return errors;
}

function convertText(value: unknown, longest: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return value.length <= longest ? value : undefined;
    case 'number':
      return String(value);
    case 'boolean':
      return value ? '1' : '0';
    default:
      return undefined;
  }
}

function convertInteger(value: unknown): number | undefined {
  const number =
    typeof value === 'string' && /^[+-]?\d{1,16}$/.test(value)
      ? Number(value)
      : typeof value === 'boolean'
        ? Number(value)
        : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number + 0 : undefined;
}

function convertFlag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  switch (typeof value === 'string' ? value.toLowerCase() : value) {
    case 1:
    case '1':
    case 't':
    case 'true':
      return true;
    case 0:
    case '0':
    case 'f':
    case 'false':
      return false;
    default:
      return undefined;
  }
}

function convertSeconds(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  return parseDuration(String(value));
}

function convertList(value: unknown, bounds: ListBounds): string[] | undefined {
  if (Array.isArray(value)) {
    if (value.length > bounds.items) return undefined;
    const items: string[] = [];
    for (const item of value) {
      const written = convertText(item, bounds.characters);
      if (written === undefined) return undefined;
      items.push(written.trim());
    }
    return isWithin(items, bounds) ? items : undefined;
  }
  const written = convertText(value, Number.POSITIVE_INFINITY);
  if (written === undefined) return undefined;
  const trimmed = written.trim();
  if (trimmed === '') return [];
  if (trimmed.startsWith('[') && trimmed.endsWith(']')) {
    if (countJsonParts(trimmed, { ...LIST_TEXT, maxValues: bounds.items }).beyond) return undefined;
    const parsed = parseCounted(trimmed);
    if (Array.isArray(parsed)) return convertList(parsed, bounds);
  }
  const items = trimmed.split(',', bounds.items + 1);
  if (items.length > bounds.items || items.some(({ length }) => length > bounds.characters)) {
    return undefined;
  }
  const trimmedItems = items.map((item) => item.trim());
  return isWithin(trimmedItems, bounds) ? trimmedItems : undefined;
}

function convertStringMap(value: unknown): Record<string, string> | undefined {
  const pairs: [string, string][] = [];
  if (isPlainObject(value)) {
    for (const [key, entry] of Object.entries(value)) {
      const written = convertText(entry, MAX_MAP);
      if (written === undefined) return undefined;
      pairs.push([key, written]);
    }
    return Object.fromEntries(pairs);
  }
  if (typeof value === 'string' && value.trim().startsWith('{')) {
    const parsed = parseJsonText(value, MAP_TEXT);
    return isPlainObject(parsed) ? convertStringMap(parsed) : undefined;
  }
  for (const item of convertList(value, LONG_LIST) ?? ['']) {
    const equals = item.indexOf('=');
    if (equals < 1) return undefined;
    pairs.push([item.slice(0, equals).trim(), item.slice(equals + 1).trim()]);
  }
  return Object.fromEntries(pairs);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Names are keys of the database, which takes so many of the longest characters. */
export const MAX_NAME_LENGTH = 512;

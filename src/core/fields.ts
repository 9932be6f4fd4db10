import { z } from 'zod';
import { comparedBy, eachText } from './comparison.ts';
import {
  complainOfList,
  convertFlag,
  convertInteger,
  convertList,
  convertSeconds,
  convertStringMap,
  convertText,
  isSmallMap,
  type ListBounds,
  LONG_LIST,
  MAX_TEXT,
  MODEST_LIST,
  SHORT_LIST,
} from './conversions.ts';
import { parseDuration } from './durations.ts';
import type { Field, FieldKind, FieldWithDefault, OptionalField } from './field.ts';
import { fieldKind } from './field-kind.ts';
import { formatTimestamp, parseTimestamp } from './timestamps.ts';

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
 * text is 0. Fractions are dropped. Negative values are refused, and so is less than a second: what is not 0 does not
 * become 0, which stands for a default.
 *
 * @see S-9
 */
export const duration: FieldKind<number> = fieldKind({
  accepts: 'a duration: seconds, or text such as "90s", "1h30m" or "7d"',
  convert: (value) => {
    const seconds = convertSeconds(value);
    return seconds === undefined || seconds < 0 || isFraction(seconds)
      ? undefined
      : Math.trunc(seconds);
  },
  because: (value) => {
    const seconds = convertSeconds(value) ?? 0;
    if (isFraction(seconds)) return 'less than a second';
    return seconds < 0 ? 'cannot provide negative value' : undefined;
  },
  output: z.int().min(0),
});

const isFraction = (seconds: number): boolean => seconds > 0 && seconds < 1;

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

const listWithin = (bounds: ListBounds): FieldKind<string[]> =>
  fieldKind({
    accepts: 'a list of strings, or one string with commas between the items',
    convert: (value) => convertList(value, bounds),
    because: (value) => complainOfList(value, bounds),
    output: z.array(z.string()),
  });

/**
 * A list of strings: an array, or one string with commas between the items, or one string that
 * holds a JSON array. Items are trimmed; numbers become text; the empty string is the empty list.
 * As many and as long ones as {@link LONG_LIST} says.
 *
 * @see S-10
 */
export const list: FieldKind<string[]> = listWithin(LONG_LIST);

/**
 * A {@link list} of few and short items: references to things, which are looked up one by one,
 * and whatever is held against every request.
 */
export const shortList: FieldKind<string[]> = listWithin(SHORT_LIST);

/**
 * A {@link shortList} that is copied from one thing to the next and kept in memory for each of them:
 * at most `MAX_LIST` characters in all.
 */
export const modestList: FieldKind<string[]> = listWithin(MODEST_LIST);

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
 * with at most `MAX_MAP` characters in all: they are kept, and read again with every request.
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

/** What is wrong with each field, by its name: the first complaint for each. */
export function fieldErrors(error: z.core.$ZodError): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const issue of error.issues) {
    const name = String(issue.path[0] ?? '');
    if (!Object.hasOwn(errors, name)) errors[name] = issue.message;
  }
  return errors;
}

/** Names are keys of the database, which takes so many of the longest characters. */
export const MAX_NAME_LENGTH = 512;

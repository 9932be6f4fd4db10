/**
 * The kinds of value that settings have. Each says what it takes: in the reference by `takes`, in
 * a refusal by a message that goes on from the setting's name.
 */

import { z } from 'zod';
import { parseDuration } from '../core/durations.ts';
import { Failure, invalid } from '../core/failure.ts';
import { bareHost } from '../core/host.ts';
import { requireCidrs } from './cidrs.ts';

/** Goes on with what a function makes of a value, or with its refusal. */
export function readBy<In, Out>(schema: z.ZodType<In>, read: (value: In) => Out): z.ZodType<Out> {
  return schema.transform((value, context) => {
    try {
      return read(value);
    } catch (refusal) {
      if (!(refusal instanceof Failure)) throw refusal;
      context.addIssue({ code: 'custom', message: refusal.message });
      return z.NEVER;
    }
  });
}

/** An object that may be left out, or null; what it holds then goes by its own defaults. */
export function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.preprocess((value) => value ?? {}, z.strictObject(shape, AN_OBJECT));
}

/** Takes null for a setting that is left out. */
export function absentAsNull<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => value ?? undefined, schema);
}

const AN_OBJECT = ' must be an object';

/** Of a section whose keys depend on one of them, that one's refusal. */
export const oneOf =
  (message: string) =>
  ({ code }: { code?: string }): string =>
    code === 'invalid_type' ? AN_OBJECT : message;

const A_TEXT = ' must be a text that is not empty';
export const text = z.string(A_TEXT).min(1, A_TEXT).meta({ takes: 'text' });

export const TRUE_OR_FALSE = ' must be true or false';
export const flag = z.boolean(TRUE_OR_FALSE).meta({ takes: 'true or false' });

/** What is not looked at beside the setting that it does not go with. */
export const ignored = z.unknown().optional();

/** One of some words. */
export function choice<const Word extends string>(words: readonly Word[]) {
  return z.enum(words, mustBeOneOf(words)).meta({ takes: listWords(words) });
}

export const mustBeOneOf = (words: readonly string[]): string =>
  ` must be one of ${words.join(', ')}`;
const listWords = (words: readonly string[]): string =>
  words.map((word) => `\`${word}\``).join(', ');

/**
 * A whole number.
 *
 * @param hint what to do in place of giving fewer, to end the refusal with
 */
export function count(least: 0 | 1, hint = '') {
  const numbers = least === 0 ? 'a whole number of zero or more' : '1 or more, a whole number';
  const message = ` must be ${numbers}${hint}`;
  return z
    .int(message)
    .min(least, message)
    .meta({ takes: `number, ${least} or more` });
}

const SECONDS = ' must be seconds, or text such as "15m"; 1 second or more';
/** Whole seconds, one or more, given as such or as text such as `15m`. */
export const seconds = readBy(z.union([z.string(), z.number()], SECONDS), (given) => {
  const read = given === '' ? undefined : parseDuration(String(given));
  if (read !== undefined && read >= 1) return Math.trunc(read);
  throw invalid(SECONDS);
}).meta({ takes: 'duration, 1 s or more' });

/** `HOST:PORT` as it is written, and what it says. */
export const address = readBy(text, (written) => ({ written, at: parseAddress('', written) })).meta(
  {
    takes: '`HOST:PORT`',
  },
);

/**
 * Reads `HOST:PORT`, `[::1]:8200` or `:8200`. A name is as DNS has it, an international one in its ASCII form: what is told
 * to clients stands in certificates, too.
 *
 * @param what the setting's name, for the refusal
 */
export function parseAddress(what: string, text: string): { host: string; port: number } {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]{0,253})):(\d{1,5})$/.exec(text);
  const port = Number(parts?.[3]);
  if (!parts || port > 65535) {
    throw invalid(`${what} must be HOST:PORT, such as "127.0.0.1:8200", not "${text}"`);
  }
  return { host: parts[1] ?? (parts[2] || '0.0.0.0'), port };
}

const areTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

const TEXTS = ' must be a list of texts';
export const texts = z
  .custom<readonly string[]>((value) => areTexts(value) && !value.includes(''), TEXTS)
  .meta({ takes: 'list of texts' });

const BLOCKS = ' must be a list of address blocks';
/** Address blocks such as `10.0.0.0/8`. */
export const blocks = readBy(z.custom<readonly string[]>(areTexts, BLOCKS), (cidrs) => {
  requireCidrs('', cidrs);
  return cidrs;
}).meta({ takes: 'list of address blocks' });

const HOSTS =
  ' must be names or addresses without a port, such as "gatehouse.example.com" or "[2001:db8::1]"';
export const hosts = readBy(z.custom<readonly string[]>(areTexts, HOSTS), (listed) =>
  parseHosts('', listed),
).meta({ takes: 'list of names and addresses' });

/** @param name of the setting, for the refusal */
export function parseHosts(name: string, listed: readonly string[]): readonly string[] {
  return listed.map((text) => {
    const host = /:\d+$/.test(text.replace(/^\[.*\]/, '')) ? '' : bareHost(text);
    if (host !== '') return host;
    throw invalid(`${name}${HOSTS}`);
  });
}

/** Reads the values of a configuration file; each refusal names the key and what would be accepted. */

import { parseDuration } from '../core/durations.ts';
import { Failure } from '../core/failure.ts';

/** An object of the file, every key of which is known. */
export type Section = Readonly<Record<string, unknown>>;

/**
 * Reads an object.
 *
 * @param name what it is called in the file, e.g. `audit.sinks[0]`; empty for the whole
 * @throws Failure `invalid` naming a key that is not known, and those that are
 */
export function section(name: string, value: unknown, keys: readonly string[]): Section {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Failure('invalid', `${name || 'the configuration'} must be an object`);
  }
  const prefix = name === '' ? '' : `${name}.`;
  for (const key of Object.keys(value)) {
    if (!keys.includes(key)) {
      const known = keys.map((known) => prefix + known).join(', ');
      throw new Failure(
        'invalid',
        `unknown key "${prefix}${key}" in the configuration; known are ${known}`,
      );
    }
  }
  return Object.fromEntries(Object.entries(value));
}

/** A text that is not empty; one that is absent is `byDefault`, or refused. */
export function textOf(name: string, value: unknown, byDefault?: string): string {
  if (value === undefined && byDefault !== undefined) return byDefault;
  if (typeof value !== 'string' || value === '') {
    throw new Failure('invalid', `${name} must be a text that is not empty`);
  }
  return value;
}

/** True or false; absent is false. */
export function flagOf(name: string, value: unknown): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw new Failure('invalid', `${name} must be true or false`);
  return value;
}

/** One of some words. */
export function choiceOf<const Word extends string>(
  name: string,
  value: unknown,
  words: readonly Word[],
): Word {
  const found = words.find((word) => word === value);
  if (found === undefined) {
    throw new Failure('invalid', `${name} must be one of ${words.join(', ')}`);
  }
  return found;
}

/** A whole number of zero or more. */
export function countOf(name: string, value: unknown, byDefault: number): number {
  if (value === undefined) return byDefault;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new Failure('invalid', `${name} must be a whole number of zero or more`);
  }
  return value;
}

/** Whole seconds, one or more, given as such or as text such as `15m`. */
export function secondsOf(name: string, value: unknown, byDefault: number): number {
  if (value === undefined) return byDefault;
  const isText = typeof value === 'string' && value !== '';
  const seconds = isText || typeof value === 'number' ? parseDuration(String(value)) : undefined;
  if (seconds === undefined || seconds < 1) {
    throw new Failure('invalid', `${name} must be seconds, or text such as "15m"`);
  }
  return Math.trunc(seconds);
}

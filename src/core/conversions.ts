/** How what clients send becomes a value of one type; undefined where it does not. */

import { parseDuration } from './durations.ts';
import { countJsonParts } from './json-parts.ts';
import { parseCounted, parseJsonText } from './json-text.ts';

/** Longest text of one line, so to speak: names, and what is compared with patterns. */
export const MAX_TEXT = 8192;

/** How many items a list may have, and how many characters each of them and all together. */
export interface ListBounds {
  items: number;
  characters: number;
  in_all?: number;
}

/** Of a text that looks like JSON; what has more within one another, or objects, is no list of texts. */
const LIST_TEXT = { maxDepth: 32, maxMembers: 1_000 };

/** Characters of all items of a list that is kept for whatever it was given to. */
export const MAX_LIST = 65_536;

/** More would take longer to look at than one request may take. */
export const LONG_LIST: ListBounds = { items: 10_000, characters: MAX_TEXT };
export const SHORT_LIST: ListBounds = { items: 1000, characters: 1024 };
export const MODEST_LIST: ListBounds = { ...SHORT_LIST, in_all: MAX_LIST };

export function complainOfList(value: unknown, bounds: ListBounds): string | undefined {
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

const MAX_MAP_ENTRIES = 1000;
const MAX_MAP = 65_536;

const MAP_TEXT = { maxDepth: 1, maxValues: MAX_MAP_ENTRIES, maxMembers: MAX_MAP_ENTRIES };

/** Whether a map is within the bounds of a `stringMap`. */
export function isSmallMap(map: Readonly<Record<string, string>>): boolean {
  const entries = Object.entries(map);
  if (entries.length > MAX_MAP_ENTRIES) return false;
  return entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0) <= MAX_MAP;
}

export function convertText(value: unknown, longest: number): string | undefined {
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

export function convertInteger(value: unknown): number | undefined {
  const number =
    typeof value === 'string' && /^[+-]?\d{1,16}$/.test(value)
      ? Number(value)
      : typeof value === 'boolean'
        ? Number(value)
        : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number + 0 : undefined;
}

export function convertFlag(value: unknown): boolean | undefined {
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

export function convertSeconds(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  return parseDuration(String(value));
}

export function convertList(value: unknown, bounds: ListBounds): string[] | undefined {
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

export function convertStringMap(value: unknown): Record<string, string> | undefined {
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

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

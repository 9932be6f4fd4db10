import { parseDuration } from '../core/durations.ts';
import { parseTimestamp } from '../core/timestamps.ts';
import { parseIpAddress } from '../x509/ip-addresses.ts';
import { parseSerial } from '../x509/serial.ts';
import { type Items, TextItems } from './text-items.ts';

/** Another script's own letters, or what stands for them in ASCII. */
export const FOREIGN = /[^\x20-\x7e]|xn--/i;

/** No field takes a list of more items, and looking at each takes time: a text of more never passes. */
export const MAX_ITEMS = 10_000;

/** Items and what is in them, of a list in a text. */
const MAX_PARTS = 2 * MAX_ITEMS;

/** A text of fewer characters is cut into its items at once. */
const SHORT = 256;

/** Stands for more items than are looked at. */
const TOO_MANY: Items = { length: MAX_ITEMS + 1, at: () => undefined };

/** The items of a text that can be read as a list; undefined for any other. */
export function listItems(sent: string): Items | undefined {
  const text = sent.trim();
  if (text.startsWith('[') && text.endsWith(']')) {
    if (hasManyParts(text)) return TOO_MANY;
    const parsed = parseList(text);
    if (parsed) return parsed.map(trimmed);
  }
  if (!text.includes(',')) return undefined;
  return text.length > SHORT ? new TextItems(text, MAX_ITEMS + 1) : text.split(',').map(trimmed);
}

/** Looks at what is outside its strings: to read a long one to its end would take far longer. */
function hasManyParts(text: string): boolean {
  let parts = 0;
  for (let at = 0; at < text.length && parts <= MAX_PARTS; at++) {
    const letter = text[at];
    if (letter === '"') at = endOfString(text, at);
    else if (letter === ',' || letter === '[' || letter === '{') parts += 1;
  }
  return parts > MAX_PARTS;
}

/** Where the string ends that begins there. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

function parseList(text: string): unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const trimmed = (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value);

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string'
    ? value
    : typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : undefined;

/** A text, and the same without the dot that may end a name of a host. */
export function spellingsOf(text: string): string[] {
  return text.length > 1 && text.endsWith('.') ? [text, text.slice(0, -1)] : [text];
}

/** What has many texts for one value: addresses and serial numbers. */
const VALUES: readonly ((text: string) => Uint8Array | undefined)[] = [parseIpAddress, parseSerial];

/** Characters of those, in lower case; most texts have others, and need not be read. */
const OF_VALUES = /^[0-9a-f:.-]+$/;

/** Whether {@link valuesIn} may find something in a text, of lower case. */
export function mayBeValue(text: string): boolean {
  return OF_VALUES.test(text);
}

/** The address, and the serial number, that a text is, in a form that is the same for all its texts. */
export function valuesIn(text: string): string[] {
  return VALUES.flatMap((parse, kind) => {
    const value = parse(text);
    return value ? [`${kind} ${value.toHex()}`] : [];
  });
}

/** How lengths of time, and times, are written: `1h` and 3600, `…T12:00:00Z` and `…+01:00`. */
const INSTANTS = [parseDuration, parseTimestamp];

/** The length of time, and the time, that a text is; likewise. */
export function instantsIn(text: string): string[] {
  return INSTANTS.flatMap((parse, kind) => {
    const instant = parse(text);
    return instant === undefined ? [] : [`${kind} ${instant}`];
  });
}

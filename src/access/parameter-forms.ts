import { parseDuration } from '../core/durations.ts';
import { foldName } from '../core/fold.ts';
import { parseTimestamp } from '../core/timestamps.ts';
import { parseIpAddress } from '../x509/ip-addresses.ts';
import { parseSerial } from '../x509/serial.ts';
import type { ParameterValue } from './policy.ts';
import { isGlob } from './value-set.ts';

/** How the endpoint that is asked reads its fields. */
export interface ParameterReader {
  knows(name: string): boolean;
  /** What a value comes to; undefined for one that the endpoint refuses. */
  read(name: string, value: unknown): unknown;
  /** More that a text which was read says. */
  also(name: string, text: string): readonly string[];
  /** All names of the field that has this one, itself among them. */
  namesOf(name: string): readonly string[];
}

/** Of an endpoint whose fields are not known. */
export const NO_READER: ParameterReader = {
  knows: () => false,
  read: () => undefined,
  also: () => [],
  namesOf: (name) => [name],
};

/** A parameter as it was sent, and as the endpoint reads it. */
export interface Sent {
  /** With the letter case that it came in. */
  written: string;
  /** Lower case. */
  name: string;
  /** All names of its field, lower case. */
  names: readonly string[];
  value: unknown;
  /** Undefined for what the endpoint does not know or refuses. */
  readonly read: unknown;
  /** What a value of the policy would be read as. */
  readNamed(named: ParameterValue): unknown;
  /** The items of a text that it is or is read as, as {@link listItems} has it. */
  itemsIn(text: unknown): readonly unknown[] | undefined;
  readonly forms: Forms;
  /** The lengths of time and the times that it may stand for. */
  readonly instants: ReadonlySet<string>;
  /** How many of its texts take long to read: names in other scripts, in whichever form. */
  readonly foreign: number;
}

/** All names of the field that is written so, lower case. */
export function namesSent(written: string, reader: ParameterReader = NO_READER): string[] {
  const names = reader.knows(written) ? reader.namesOf(written) : [written];
  return names.map((name) => name.toLowerCase());
}

/** @param written with the letter case that it came in */
export function readSent(written: string, value: unknown, reader: ParameterReader): Sent {
  const known = reader.knows(written);
  let read: { of: unknown } | undefined;
  let forms: Forms | undefined;
  let instants: ReadonlySet<string> | undefined;
  const meanings = new Map<ParameterValue, unknown>();
  const items = new Map<unknown, readonly unknown[] | undefined>();
  let foreign: number | undefined;
  return {
    written,
    name: written.toLowerCase(),
    names: namesSent(written, reader),
    value,
    get read() {
      read ??= { of: known ? reader.read(written, value) : undefined };
      return read.of;
    },
    readNamed(named) {
      if (known && !meanings.has(named)) meanings.set(named, reader.read(written, named));
      return meanings.get(named);
    },
    itemsIn(text) {
      if (!items.has(text)) items.set(text, listItems(text));
      return items.get(text);
    },
    get forms() {
      forms ??= formsOf(value, this.read, (text) => reader.also(written, text));
      return forms;
    },
    get instants() {
      instants ??= instantsOf([value, this.read]);
      return instants;
    },
    get foreign() {
      foreign ??= known ? countForeign(value) : 0;
      return foreign;
    },
  };
}

/** Another script's own letters, or what stands for them in ASCII. */
export const FOREIGN = /[^\x20-\x7e]|xn--/i;

function countForeign(value: unknown): number {
  const items = Array.isArray(value) ? value : (listItems(value) ?? [value]);
  return items.filter((item) => typeof item === 'string' && FOREIGN.test(item)).length;
}

/** The items of a text that can be read as a list; undefined for any other value. */
export function listItems(sent: unknown): readonly unknown[] | undefined {
  if (typeof sent !== 'string') return undefined;
  const text = sent.trim();
  if (text.startsWith('[') && text.endsWith(']')) {
    const parsed = parseList(text);
    if (parsed) return parsed.map(trimmed);
  }
  return text.includes(',') ? text.split(',', MAX_ITEMS + 1).map(trimmed) : undefined;
}

/** No field takes a list of more items, and looking at each takes time: a text of more never passes. */
export const MAX_ITEMS = 10_000;

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

const readAsHex = (parse: (typeof VALUES)[number], text: string): string | undefined =>
  parse(text)?.toHex();

/** A value's texts in lower case, those of its items too, and the lists that it is or is read as. */
export interface Forms {
  /** Undefined when there are more than can be looked at. */
  texts: ReadonlySet<string> | undefined;
  lists: readonly (readonly unknown[])[];
  /** Of the list that is read. */
  items: ReadonlySet<unknown>;
  /** Whether one of the texts is the address, or the serial number, that another text is. */
  hasValue(wanted: string): boolean;
}

const TOO_MANY: Forms = {
  texts: undefined,
  lists: [],
  items: new Set(),
  hasValue: () => true,
};

function formsOf(value: unknown, read: unknown, also: (text: string) => readonly string[]): Forms {
  const sent = new Set<string>();
  const lists: (readonly unknown[])[] = [];
  for (const whole of [value, read]) {
    const items = Array.isArray(whole) ? whole : listItems(whole);
    if (items && items.length > MAX_ITEMS) return TOO_MANY;
    if (Array.isArray(whole)) lists.push(whole);
    for (const each of [whole, ...(items ?? [])]) {
      const text = textOf(each);
      if (text !== undefined) sent.add(foldName(text));
    }
  }
  for (const each of Array.isArray(read) ? read : [read]) {
    const text = textOf(each);
    if (text === undefined) continue;
    for (const other of also(text)) sent.add(foldName(other));
  }
  const texts = new Set(sent);
  for (const text of sent) for (const spelling of spellingsOf(text.trim())) texts.add(spelling);
  const items = new Set<unknown>(Array.isArray(read) ? read : []);
  return { texts, lists, items, hasValue: findValues(sent) };
}

/** Reads thousands of texts only once a rule names something of the kind. */
function findValues(texts: ReadonlySet<string>): Forms['hasValue'] {
  const known = new Map<(typeof VALUES)[number], ReadonlySet<string | undefined>>();
  return (wanted) =>
    VALUES.some((parse) => {
      const value = readAsHex(parse, wanted);
      if (value === undefined) return false;
      const own =
        known.get(parse) ?? new Set([...texts].map((text) => readAsHex(parse, text.trim())));
      known.set(parse, own);
      return own.has(value);
    });
}

/** What of a value named stands for one item: itself, and what the endpoint would read of it. */
export function itemsNamed(named: ParameterValue, { readNamed }: Sent): unknown[] {
  const meant = readNamed(named);
  const [item, ...more]: unknown[] = Array.isArray(meant) ? meant : [meant];
  const isOne = item !== undefined && more.length === 0 && item !== named;
  // A pattern that is read as one stays one: `*.bücher.example` is a pattern of A-labels.
  if (isGlob(named))
    return isOne && isGlob(item) && sameEnds(named, item) ? [named, item] : [named];
  return isOne ? [named, item] : [named];
}

function sameEnds(one: string, other: string): boolean {
  return one.startsWith('*') === other.startsWith('*') && one.endsWith('*') === other.endsWith('*');
}

/** How lengths of time, and times, are written: `1h` and 3600, `…T12:00:00Z` and `…+01:00`. */
const INSTANTS = [parseDuration, parseTimestamp];

function instantsIn(text: string): string[] {
  return INSTANTS.flatMap((parse, kind) => {
    const instant = parse(text);
    return instant === undefined ? [] : [`${kind} ${instant}`];
  });
}

function instantsOf(values: readonly unknown[]): ReadonlySet<string> {
  const texts = values.map((each) => (typeof each === 'boolean' ? '' : textOf(each)?.trim()));
  return new Set(texts.flatMap((text) => (text ? instantsIn(text) : [])));
}

/** Whether a value is the same length of time, or time. */
export function isSameInstant(named: string, sent: Sent): boolean {
  return named !== '' && instantsIn(named).some((instant) => sent.instants.has(instant));
}

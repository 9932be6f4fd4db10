import { isDeepStrictEqual } from 'node:util';
import { parseDuration } from '../core/durations.ts';
import { parseTimestamp } from '../core/timestamps.ts';
import { parseIpAddress } from '../x509/ip-addresses.ts';
import { parseSerial } from '../x509/serial.ts';
import type { ParameterRules, ParameterValue } from './policy.ts';

/** The three conditions on parameters of a rule; names in lower case. */
export interface ParameterConditions {
  allowed_parameters: ParameterRules;
  denied_parameters: ParameterRules;
  required_parameters: readonly string[];
}

/** How the endpoint that is asked reads its fields. */
export interface ParameterReader {
  knows(name: string): boolean;
  /** What is made of a value; undefined for one that the endpoint refuses. */
  read(name: string, value: unknown): unknown;
  /** All names of the field that has this one, itself among them. */
  namesOf(name: string): readonly string[];
}

/** Of an endpoint whose fields are not known. */
const NO_READER: ParameterReader = {
  knows: () => false,
  read: () => undefined,
  namesOf: (name) => [name],
};

/** A parameter as it was sent, and as the endpoint reads it. */
interface Sent {
  /** Lower case. */
  name: string;
  /** All names of its field, lower case. */
  names: readonly string[];
  value: unknown;
  /** Undefined for what the endpoint does not know or refuses. */
  read: unknown;
  /** What a value of the policy would be read as. */
  readNamed(named: ParameterValue): unknown;
  forms(): Forms;
}

/**
 * Says why a request's parameters are refused, or undefined if they are not (contract 5.4). The
 * reason names parameters and never has a value in it. A value counts as what was sent and as
 * what the endpoint reads of it: neither `"t"` nor `1` gets past a rule about `true`.
 *
 * @param parameters as sent; names are compared without regard to case
 */
export function judgeParameters(
  rule: ParameterConditions,
  parameters: Readonly<Record<string, unknown>>,
  reader: ParameterReader = NO_READER,
): string | undefined {
  const { allowed_parameters, denied_parameters, required_parameters } = rule;
  const free = allowed_parameters.size === 0 && denied_parameters.size === 0;
  if (free && required_parameters.length === 0) return undefined;

  const missing = required_parameters.find((wanted) => !isThere(wanted, parameters, reader));
  if (missing !== undefined) return `parameter "${missing}" is required`;

  const sent = Object.keys(parameters).map((name) => readSent(name, parameters[name], reader));
  if (denied_parameters.has('*') && sent.length > 0) return 'no parameter is allowed';
  for (const each of sent) {
    const rules = each.names.flatMap((name) => denied_parameters.get(name) ?? []);
    const any = each.names.some((name) => denied_parameters.get(name)?.length === 0);
    if (any || rules.some((named) => isDenied(named, each))) {
      return `parameter "${each.name}" is denied`;
    }
  }

  if (allowed_parameters.size === 0) return undefined;
  const others = allowed_parameters.has('*');
  for (const each of sent) {
    const rules = each.names.flatMap((name) => {
      const values = allowed_parameters.get(name);
      return values ? [values] : [];
    });
    if (rules.length === 0 && !others) return `parameter "${each.name}" is not allowed`;
    const isBeyond = (values: readonly ParameterValue[]): boolean =>
      values.length > 0 && !isAllowed(values, each.value) && !isReadAllowed(values, each);
    if (rules.some(isBeyond)) return `parameter "${each.name}" is not allowed with this value`;
  }
  return undefined;
}

function readSent(written: string, value: unknown, reader: ParameterReader): Sent {
  const known = reader.knows(written);
  const read = known ? reader.read(written, value) : undefined;
  let forms: Forms | undefined;
  return {
    name: written.toLowerCase(),
    names: (known ? reader.namesOf(written) : [written]).map((name) => name.toLowerCase()),
    value,
    read,
    readNamed: (named) => (known ? reader.read(written, named) : undefined),
    forms: () => (forms ??= formsOf([value, read])),
  };
}

/**
 * Whether a required parameter came along. A field of the endpoint must be there as the endpoint
 * finds it: by its own name, and not as null, which stands for nothing sent.
 */
function isThere(
  wanted: string,
  parameters: Readonly<Record<string, unknown>>,
  reader: ParameterReader,
): boolean {
  if (!reader.knows(wanted)) {
    return Object.keys(parameters).some((name) => name.toLowerCase() === wanted);
  }
  return reader
    .namesOf(wanted)
    .some((name) => Object.hasOwn(parameters, name) && (parameters[name] ?? null) !== null);
}

/** Unites what several stanzas say about parameters; a name with any value stays with any value. */
export function mergeParameters(all: readonly ParameterRules[]): ParameterRules {
  const [first, second] = all.filter(({ size }) => size > 0);
  if (!second) return first ?? NO_PARAMETERS;
  const merged = new Map<string, ParameterValue[]>();
  for (const [name, values] of all.flatMap((rules) => [...rules])) {
    const known = merged.get(name);
    if (!known) merged.set(name, [...values]);
    else if (values.length === 0) known.length = 0;
    else if (known.length > 0) for (const value of values) known.push(value);
  }
  return merged;
}

const NO_PARAMETERS: ParameterRules = new Map();

/**
 * Whether a value sent is among those named. A text may be read as a list later, `a,b` or
 * `["a","b"]`, so a pattern lets such a text pass only where some pattern fits each item of it:
 * `*.example.com` must not let in `evil.test,www.example.com`.
 */
function isAllowed(allowed: readonly ParameterValue[], sent: unknown): boolean {
  const named = allowed.filter((each) => isValue(each, sent));
  const items = listItems(sent);
  if (items === undefined || named.some((each) => each === sent || each === '*')) {
    return named.length > 0;
  }
  return (
    items.length <= MAX_ITEMS && items.every((item) => allowed.some((each) => isValue(each, item)))
  );
}

/** The items of a text that can be read as a list; undefined for any other value. */
function listItems(sent: unknown): readonly unknown[] | undefined {
  if (typeof sent !== 'string') return undefined;
  const text = sent.trim();
  if (text.startsWith('[') && text.endsWith(']')) {
    const parsed = parseList(text);
    if (parsed) return parsed.map(trimmed);
  }
  return text.includes(',') ? text.split(',', MAX_ITEMS + 1).map(trimmed) : undefined;
}

/** No field takes a list of more items, and looking at each takes time: a text of more never passes. */
const MAX_ITEMS = 10_000;

function parseList(text: string): unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const trimmed = (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value);

/** Whether a value sent is the one a rule names; a list is compared whole, element by element. */
function isValue(named: ParameterValue, sent: unknown): boolean {
  if (typeof named === 'string') return typeof sent === 'string' && matchesGlob(named, sent);
  return isSame(named, sent);
}

/** Whether what the endpoint reads is what it would read of a value named, or a list of such. */
function isReadAllowed(allowed: readonly ParameterValue[], { read, readNamed }: Sent): boolean {
  if (read === undefined) return false;
  if (allowed.some((named) => named === '*' || isDeepStrictEqual(readNamed(named), read))) {
    return true;
  }
  if (!Array.isArray(read) || read.length === 0 || read.length > MAX_ITEMS) return false;
  return read.every((item) => allowed.some((named) => isValue(named, item)));
}

/**
 * Also true if an element of a list is what the rule names, or an item of a text that can be
 * read as one: otherwise a denied value would be let in by a bracket, a comma or a blank beside
 * it. Upper case, another form of the same length of time and another way to write the same
 * boolean or number are no ways around a denial either.
 */
function isDenied(named: ParameterValue, sent: Sent): boolean {
  const { texts, lists, hasValue } = sent.forms();
  if (!texts) return true;
  if (isList(named)) return [...lists].some((list) => isSame(named, list)) || isReadAs(named, sent);
  const wanted = textOf(named)?.toLowerCase();
  if (wanted === undefined) return sent.value === null;
  const isGlob = typeof named === 'string' && named.includes('*');
  const isNamed = isGlob
    ? [...texts].some((text) => matchesGlob(wanted, text))
    : spellingsOf(wanted).some((text) => texts.has(text)) || hasValue(wanted);
  if (isNamed) return true;
  return isSameInstant(wanted, sent) || isReadAs(named, sent);
}

/** A text, and the same without the dot that may end a name of a host. */
function spellingsOf(text: string): string[] {
  return text.length > 1 && text.endsWith('.') ? [text, text.slice(0, -1)] : [text];
}

/** What has many texts for one value: addresses and serial numbers. */
const VALUES: readonly ((text: string) => Uint8Array | undefined)[] = [parseIpAddress, parseSerial];

const readAsHex = (parse: (typeof VALUES)[number], text: string): string | undefined =>
  parse(text)?.toHex();

/** A value's texts in lower case, those of its items too, and the lists that it is or is read as. */
interface Forms {
  /** Undefined when there are more than can be looked at. */
  texts: ReadonlySet<string> | undefined;
  lists: readonly (readonly unknown[])[];
  /** Whether one of the texts is the address, or the serial number, that another text is. */
  hasValue(wanted: string): boolean;
}

function formsOf(values: readonly unknown[]): Forms {
  const sent = new Set<string>();
  const lists: (readonly unknown[])[] = [];
  for (const value of values) {
    const items = Array.isArray(value) ? value : listItems(value);
    if (items && items.length > MAX_ITEMS) {
      return { texts: undefined, lists: [], hasValue: () => true };
    }
    if (Array.isArray(value)) lists.push(value);
    for (const each of [value, ...(items ?? [])]) {
      const text = textOf(each)?.toLowerCase();
      if (text !== undefined) sent.add(text);
    }
  }
  const texts = new Set(sent);
  for (const text of sent) for (const spelling of spellingsOf(text.trim())) texts.add(spelling);
  return { texts, lists, hasValue: findValues(sent) };
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

/** Whether what is read is what the endpoint would read of a value named. */
function isReadAs(named: ParameterValue, { read, readNamed }: Sent): boolean {
  if (read === undefined) return false;
  const meant = readNamed(named);
  if (meant === undefined) return false;
  if (isDeepStrictEqual(meant, read) || holdsEntries(read, meant)) return true;
  if (isList(named) || !Array.isArray(meant) || !Array.isArray(read)) return false;
  const items: readonly unknown[] = read;
  return meant.length === 1 && items.includes(meant[0]);
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string'
    ? value
    : typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : undefined;

/** Whether a value is the same length of time, or time: `1h` and 3600, `…T12:00:00Z` and `…+01:00`. */
function isSameInstant(named: string, { value, read }: Sent): boolean {
  if (named === '') return false;
  return [parseDuration, parseTimestamp].some((parse) => {
    const instant = parse(named);
    if (instant === undefined) return false;
    return [value, read].some((each) => {
      const text = typeof each === 'boolean' ? undefined : textOf(each)?.trim();
      return text && parse(text) === instant;
    });
  });
}

/** Whether a map has every entry of another. */
function holdsEntries(whole: unknown, part: unknown): boolean {
  if (typeof whole !== 'object' || typeof part !== 'object' || !whole || !part) return false;
  if (Array.isArray(whole) || Array.isArray(part)) return false;
  const entries = Object.entries(part);
  return (
    entries.length > 0 &&
    entries.every(([key, value]) => isDeepStrictEqual(Reflect.get(whole, key), value))
  );
}

function isSame(named: ParameterValue, sent: unknown): boolean {
  if (!isList(named)) return named === sent;
  return (
    Array.isArray(sent) &&
    sent.length === named.length &&
    named.every((item, place) => isSame(item, sent[place]))
  );
}

function isList(value: ParameterValue): value is readonly ParameterValue[] {
  return Array.isArray(value);
}

/** A `*` at either end of the pattern stands for anything; elsewhere it stands for itself. */
function matchesGlob(pattern: string, text: string): boolean {
  if (pattern === '*') return true;
  const open = pattern.startsWith('*');
  const closed = pattern.endsWith('*');
  if (open && closed) return text.includes(pattern.slice(1, -1));
  if (open) return text.endsWith(pattern.slice(1));
  if (closed) return text.startsWith(pattern.slice(0, -1));
  return pattern === text;
}

import { isUtf8 } from 'node:buffer';
import { isPlainObject } from '../core/conversions.ts';
import { type Failure, invalid } from '../core/failure.ts';
import {
  countJsonParts,
  type JsonLimits,
  type JsonParts,
  weighJsonParts,
} from '../core/json-parts.ts';
import { findJsonFault } from './json-fault.ts';

const DEFAULT_LIMITS: JsonLimits = { maxDepth: 32, maxValues: 100_000, maxMembers: 10_000 };

/** Of those whom nobody knows yet: a log-in has few values, and many of them take milliseconds. */
export const UNAUTHENTICATED_BOUNDS: Partial<JsonLimits> = { maxValues: 1_000, maxMembers: 1_000 };

/**
 * Parses a request body that must be one JSON object. The empty body is an object without members,
 * and so is `null`, which command lines send where there is nothing to say.
 *
 * @param keep told how many bytes what is parsed takes besides its texts, before it is; throws where there is no room
 * @returns plain data with no key `__proto__` anywhere; look names up with `Object.hasOwn`
 * @throws Failure `invalid` for anything that is not one well-formed object: invalid UTF-8 or
 *   Unicode, a key given twice, more depth, values or members than the limits, anything after the object.
 *   The message says where and names keys, and never holds a value: it may be a secret
 * @see RFC 8259; RFC 7493 §2.1 to 2.3
 */
export function parseJsonBody(
  body: Uint8Array | string,
  limits: Partial<JsonLimits> = {},
  keep: (bytes: number) => void = () => {},
): Record<string, unknown> {
  const text = typeof body === 'string' ? body : decodeUtf8(body);
  const first = FIRST.exec(text)?.[0] ?? '';
  if (first === '' || NOTHING.test(text)) return {};
  if (!first.endsWith('{')) throw refusal('the body must be a JSON object, such as {"ttl": "1h"}');
  const parts = countWithin(text, { ...DEFAULT_LIMITS, ...limits });
  keep(weighJsonParts(parts));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Not the engine's own message, which quotes the body.
    throw refusal(findJsonFault(text) ?? 'the body is not JSON');
  }
  if (!isPlainObject(value)) throw refusal('the body must be a JSON object');
  const keys = new Inspector(text).inspect(value);
  if (keys !== parts.members) throw refusal(findJsonFault(text) ?? 'the body has a key twice');
  return value;
}

/** White space and what follows it, if there is anything. */
const FIRST = /^[ \t\r\n]*[^ \t\r\n]/;

const NOTHING = /^[ \t\r\n]*null[ \t\r\n]*$/;

function refusal(because: string): Failure {
  return invalid(`failed to parse JSON input: ${because}`);
}

const WORDS: Readonly<Record<keyof JsonLimits, string>> = {
  maxDepth: 'objects and arrays inside one another',
  maxValues: 'values',
  maxMembers: 'members of objects',
};

/** A key that was given twice is a member that is not there after parsing. @throws Failure `invalid` beyond limits */
function countWithin(text: string, limits: JsonLimits): JsonParts {
  const parts = countJsonParts(text, limits);
  const { beyond } = parts;
  if (beyond) throw refusal(`more than ${limits[beyond]} ${WORDS[beyond]}`);
  return parts;
}

function decodeUtf8(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw invalid('the body is not valid UTF-8');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** Goes through parsed data once: counts keys, and refuses what no endpoint can mean. */
class Inspector {
  /** Without an escape there can be no half of a character. */
  readonly escapes: boolean;

  constructor(text: string) {
    this.escapes = text.includes('\\u');
  }

  /** @returns the number of keys of all objects within */
  inspect(value: unknown): number {
    if (typeof value === 'string') {
      if (this.escapes && !value.isWellFormed()) throw refusal('a string is not valid Unicode');
      return 0;
    }
    if (typeof value === 'number' && !Number.isFinite(value))
      throw refusal('a number is too large');
    if (typeof value !== 'object' || value === null) return 0;
    let keys = 0;
    if (Array.isArray(value)) {
      for (const item of value) keys += this.inspect(item);
      return keys;
    }
    for (const key of Object.keys(value)) {
      const item: unknown = Reflect.get(value, key);
      if (key === '__proto__') throw refusal('the key "__proto__" is not accepted');
      // Merging such a value into another object would change what all objects inherit.
      if (key === 'constructor' && isPlainObject(item) && Object.hasOwn(item, 'prototype')) {
        throw refusal('the keys "constructor" and "prototype" are not accepted together');
      }
      if (this.escapes && !key.isWellFormed()) throw refusal('a key is not valid Unicode');
      keys += 1 + this.inspect(item);
    }
    return keys;
  }
}

/**
 * Whether a body begins as JSON does, whatever its type is said to be: tools say that everything is a
 * form. White space of any kind, and a byte order mark, say nothing of that.
 */
export function looksLikeJson(body: Uint8Array): boolean {
  const start = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, MAX_BLANK));
  const first = /^[\s\p{Cc}\ufeff]*([^\s\p{Cc}\ufeff]?)/u.exec(start.toString('utf8'))?.[1];
  // A form that begins with so many blanks is none that anybody sends.
  return first === '{' || first === '[' || (first === '' && body.byteLength > MAX_BLANK);
}

/** Bytes that may be blank before a body says what it is. */
const MAX_BLANK = 1024;

/**
 * The fields of a query, as those of a form: a name given more than once has a list.
 *
 * @throws Failure `invalid` for the name `__proto__`
 */
export function readQuery(query: URLSearchParams): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = {};
  for (const [name, value] of query) if (name !== 'list') addField(fields, name, value);
  return fields;
}

const MAX_FORM_FIELDS = 1000;

/**
 * Parses an `application/x-www-form-urlencoded` body. A name given more than once has a list.
 *
 * @param keep as of {@link parseJsonBody}
 * @throws Failure `invalid` for invalid UTF-8 or percent-encoding, and for the name `__proto__`
 */
export function parseFormBody(
  body: Uint8Array | string,
  keep: (bytes: number) => void = () => {},
): Record<string, string | string[]> {
  const text = typeof body === 'string' ? body : decodeUtf8(body);
  const pairs = text.split('&', MAX_FORM_FIELDS + 1);
  if (pairs.length > MAX_FORM_FIELDS) {
    throw invalid(`the form has more than ${MAX_FORM_FIELDS} fields`);
  }
  keep(weighJsonParts({ values: 0, members: pairs.length }));
  const fields: Record<string, string | string[]> = {};
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodeFormText(equals < 0 ? pair : pair.slice(0, equals));
    const value = decodeFormText(equals < 0 ? '' : pair.slice(equals + 1));
    addField(fields, name, value);
  }
  return fields;
}

function addField(fields: Record<string, string | string[]>, name: string, value: string): void {
  if (name === '__proto__') throw invalid('the form field "__proto__" is not accepted');
  const known = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (known === undefined) fields[name] = value;
  else if (typeof known === 'string') fields[name] = [known, value];
  else known.push(value);
}

const decodeFormText = (text: string): string => decodePercent('form', text.replaceAll('+', ' '));

/** @throws Failure `invalid` for percent-encoding that is not valid, or not of UTF-8 */
export function decodePercent(where: 'path' | 'query' | 'form', text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    const because = `the ${where} contains percent-encoding that is not valid, or not of UTF-8`;
    throw invalid(because, { cause });
  }
}

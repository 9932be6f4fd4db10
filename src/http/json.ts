import { Failure } from '../core/failure.ts';

const MAX_DEPTH = 32;
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a JSON body: one object. Depth, duplicate names and names that would reach into
 * objects (`__proto__`) are judged on the text, before anything is built from it.
 *
 * @throws Failure `invalid` saying what is wrong with it
 */
export function parseJsonBody(bytes: Uint8Array): Record<string, unknown> {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw new Failure('invalid', 'error parsing JSON: the body is not UTF-8', { cause });
  }
  scan(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Failure('invalid', 'error parsing JSON: the body is not one JSON object', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Failure('invalid', 'error parsing JSON: the body must be a JSON object');
  }
  return value as Record<string, unknown>;
}

/** Walks over the text once; whether it is JSON at all is for the parser to say. */
function scan(text: string): void {
  /** For each open object its names so far; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  let expectsName = false;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x7b: // {
        open.push(new Set());
        expectsName = true;
        break;
      case 0x5b: // [
        open.push(undefined);
        expectsName = false;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        open.pop();
        expectsName = false;
        break;
      case 0x2c: // ,
        expectsName = open.at(-1) !== undefined;
        break;
      case 0x22: {
        const end = endOfString(text, at);
        const names = open.at(-1);
        if (expectsName && names) {
          checkName(names, text.slice(at, end + 1));
          expectsName = false;
        }
        at = end;
        break;
      }
    }
    if (open.length > MAX_DEPTH) {
      throw new Failure('invalid', `error parsing JSON: more than ${MAX_DEPTH} levels deep`);
    }
  }
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

function checkName(names: Set<string>, quoted: string): void {
  let name = quoted.slice(1, -1);
  if (name.includes('\\')) {
    try {
      name = String(JSON.parse(quoted));
    } catch {
      return; // the parser will refuse the whole
    }
  }
  if (name === '__proto__') {
    throw new Failure('invalid', 'error parsing JSON: the name "__proto__" is not accepted');
  }
  if (names.has(name)) {
    throw new Failure('invalid', `error parsing JSON: the name "${name.slice(0, 64)}" occurs twice`);
  }
  names.add(name);
}

/**
 * Reads a form body; a name that occurs several times becomes a list.
 *
 * @throws Failure `invalid` when it is not UTF-8
 */
export function parseFormBody(bytes: Uint8Array): Record<string, unknown> {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw new Failure('invalid', 'the form is not UTF-8', { cause });
  }
  const fields: Record<string, unknown> = {};
  const form = new URLSearchParams(text);
  for (const name of new Set(form.keys())) {
    if (name === '__proto__') {
      throw new Failure('invalid', 'the field name "__proto__" is not accepted');
    }
    const values = form.getAll(name);
    fields[name] = values.length === 1 ? values[0] : values;
  }
  return fields;
}

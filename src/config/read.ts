import type { z } from 'zod';
import { isPlainObject } from '../core/conversions.ts';
import { invalid } from '../core/failure.ts';
import { hasKeyTwice } from '../core/json-keys.ts';
import { type Settings, settings } from './settings.ts';
import { itemsOf, type Schema, shapeOf } from './shape.ts';

/**
 * Reads a configuration file's content. Every key is known or refused by its name.
 *
 * @param text a JSON object
 * @throws Failure `invalid` naming the key and what would be accepted
 */
export function readSettings(text: string): Settings {
  return readBySchema(settings, text);
}

/** As {@link readSettings}, of another program's file. */
export function readBySchema<Read>(schema: z.ZodType<Read> & Schema, text: string): Read {
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch (cause) {
    throw invalid('the configuration file is not JSON', { cause });
  }
  if (hasKeyTwice(text, whole)) throw invalid('the configuration file has a key twice');
  if (!isPlainObject(whole)) throw invalid('the configuration must be an object');
  // A misspelt key is told by its own name, before what is missing since it is misspelt.
  requireKnown(schema, whole, []);
  const read = schema.safeParse(whole);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw invalid(`${nameOf(issue?.path ?? [])}${issue?.message ?? ''}`);
}

function requireKnown(schema: Schema, value: unknown, path: readonly PropertyKey[]): void {
  if (typeof value !== 'object' || value === null) return;
  const items = itemsOf(schema);
  if (items && Array.isArray(value)) {
    for (const [index, item] of value.entries()) requireKnown(items, item, [...path, index]);
  }
  const shape = shapeOf(schema, value);
  if (!shape || Array.isArray(value)) return;
  const unknown = Object.keys(value).find((key) => !shape.has(key));
  if (unknown !== undefined) {
    const known = [...shape.keys()].map((key) => nameOf([...path, key])).join(', ');
    throw invalid(
      `unknown key "${nameOf([...path, unknown])}" in the configuration; known are ${known}`,
    );
  }
  for (const [key, held] of Object.entries(value)) {
    const inner = shape.get(key);
    if (inner) requireKnown(inner, held, [...path, key]);
  }
}

/** As it is called in the file, e.g. `audit.sinks[0].type`. */
function nameOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

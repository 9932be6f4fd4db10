import { isPlainObject } from '../core/conversions.ts';
import type { Steps } from '../core/steps.ts';
import type { Json } from './json-schemas.ts';

/** An object that is shorter stands where it is used. */
const SHORT = 120;

interface Met {
  name: string;
  /** A schema of its own, or one that stands at more places than one. */
  isShared: boolean;
}

/**
 * The same schemas, and objects that stand more than once in them as schemas of their own, each of which is
 * referred to by its name. A schema of the name given stays, if only as a reference to one that is the same.
 *
 * @param roots whole requests and answers, by name
 */
export function* shareSchemas(roots: ReadonlyMap<string, Json>): Steps<Map<string, Json>> {
  const met = new Map<string, Met>();
  // What is an answer by itself is called so wherever it stands.
  for (const [name, schema] of roots) {
    const text = textOf(schema);
    if (text !== undefined && !met.has(text)) met.set(text, { name, isShared: true });
  }
  const taken = new Set(roots.keys());
  const shared = new Map<string, Json>();
  const within = (name: string, schema: Json): void => {
    for (const [field, child] of childrenOf(schema)) meet(name + pascal(field), child);
  };
  const meet = (name: string, schema: Json): void => {
    const text = textOf(schema);
    const known = text === undefined ? undefined : met.get(text);
    if (!known) {
      if (text !== undefined) met.set(text, { name, isShared: false });
      within(name, schema);
    } else if (!known.isShared) {
      known.name = freeName(taken, known.name);
      known.isShared = true;
      shared.set(known.name, coreOf(schema));
    }
  };
  const refer = (schema: Json): Json => {
    const text = textOf(schema);
    const known = text === undefined ? undefined : met.get(text);
    if (!known?.isShared) return mapChildren(schema, refer);
    const { description, title } = schema;
    const reference = refTo(known.name);
    // Beside a reference nothing else is looked at.
    const more = { ...(title ? { title } : {}), ...(description ? { description } : {}) };
    return Object.keys(more).length > 0 ? { ...more, allOf: [reference] } : reference;
  };
  for (const [name, schema] of roots) {
    within(name.replace(/(Request|Response)$/, ''), schema);
    yield;
  }
  const made = new Map<string, Json>();
  for (const [name, schema] of [...roots, ...shared]) {
    const text = textOf(schema);
    const same = text === undefined ? undefined : met.get(text)?.name;
    const isOther = same !== undefined && same !== name && roots.has(name);
    made.set(name, isOther ? refTo(same) : mapChildren(schema, refer));
    yield;
  }
  return made;
}

export const refTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

/** `pki-write-role` becomes `PkiWriteRole`. */
export const pascal = (text: string): string =>
  text
    .split(/[-_: ]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

function freeName(taken: Set<string>, wanted: string): string {
  let name = wanted;
  for (let at = 2; taken.has(name); at += 1) name = `${wanted}${at}`;
  taken.add(name);
  return name;
}

/** An object's schema without what is said of it where it stands. */
function coreOf({ description: _, title: _title, ...core }: Json): Json {
  return core;
}

/** By which equal objects are known; undefined for what is no object, or too short to be worth a name. */
function textOf(schema: Json): string | undefined {
  if (schema.type !== 'object' || schema.properties === undefined || schema.nullable) return;
  const text = JSON.stringify(coreOf(schema));
  return text.length < SHORT ? undefined : text;
}

const LISTS = ['anyOf', 'oneOf', 'allOf'] as const;

/** Schemas within one, each with the name of the field that it is of. */
function childrenOf(schema: Json): [field: string, child: Json][] {
  const found: [string, Json][] = [];
  const { properties, items, additionalProperties } = schema;
  if (isPlainObject(properties)) {
    for (const [name, child] of Object.entries(properties)) {
      if (isPlainObject(child)) found.push([name, child]);
    }
  }
  for (const child of [items, additionalProperties])
    if (isPlainObject(child)) found.push(['', child]);
  for (const list of LISTS) {
    for (const child of listOf(schema[list])) found.push([titleOf(child), child]);
  }
  return found;
}

const titleOf = ({ title }: Json): string => (typeof title === 'string' ? title : '');

function mapChildren(schema: Json, map: (child: Json) => Json): Json {
  const mapped: Json = { ...schema };
  const { properties, items, additionalProperties } = schema;
  if (isPlainObject(properties)) {
    mapped.properties = Object.fromEntries(
      Object.entries(properties).map(([name, child]) => [
        name,
        isPlainObject(child) ? map(child) : child,
      ]),
    );
  }
  if (isPlainObject(items)) mapped.items = map(items);
  if (isPlainObject(additionalProperties)) mapped.additionalProperties = map(additionalProperties);
  for (const list of LISTS) if (schema[list]) mapped[list] = listOf(schema[list]).map(map);
  return mapped;
}

const listOf = (value: unknown): Json[] =>
  Array.isArray(value) ? value.filter(isPlainObject) : [];

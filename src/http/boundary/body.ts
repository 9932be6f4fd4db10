import { ZodError } from 'zod';
import { IN_REQUEST, refuseField, TWICE } from '../../broker/resource/field-errors.ts';
import { deriveMask } from '../../broker/resource/mask.ts';
import type { AnyBoundaryRoute, BoundaryRequest } from '../../broker/resource/route.ts';
import { hasControl } from '../../core/control-characters.ts';
import { invalid } from '../../core/failure.ts';
import { fieldErrors } from '../../core/fields.ts';
import { parseJsonBody, UNAUTHENTICATED_BOUNDS } from '../json.ts';

/** A body's fields under the names of their declarations; of what types is not looked at yet. */
export type NamedFields = Readonly<Record<string, unknown>>;

/** @throws Failure `invalid` for what is no JSON object */
export function parseBoundaryBody(
  bytes: Uint8Array,
  route: AnyBoundaryRoute,
  { isUnauthenticated, keep }: { isUnauthenticated: boolean; keep(bytes: number): void },
): NamedFields {
  const fields = parseJsonBody(bytes, isUnauthenticated ? UNAUTHENTICATED_BOUNDS : {}, keep);
  return renameCamel(fields, route.input.shape);
}

/** Longest text that can name anything: an id, or a name. */
export const MAX_REFERENCE = 512;

/** Those of the fields that say what the request is about, as far as they can name something. */
export function pickReferences(
  fields: NamedFields,
  named_by: readonly string[] = [],
): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of named_by) {
    const value = fields[name];
    if (typeof value === 'string' && value.length <= MAX_REFERENCE) picked[name] = value;
  }
  return picked;
}

/** @throws Failure `invalid` naming fields that are unknown or of another type */
export function checkFields(
  route: AnyBoundaryRoute,
  fields: NamedFields,
  update_mask: readonly string[],
): Pick<BoundaryRequest, 'item' | 'mask'> {
  // An endpoint that takes any field says so by a loose schema.
  if (route.method === 'PATCH' && !route.input.def.catchall) {
    refuseUnknown(fields, route.input.shape);
  }
  refuseLongLists(fields);
  refuseControls(fields);
  const mask = deriveMask(fields, update_mask, route.whole_fields);
  return { item: checkTypes(route, dropNulls(fields)), mask };
}

/**
 * Names may also come in the other spelling of the format's standard, `hostCatalogId`.
 *
 * @throws Failure `invalid` for a field that comes in both, of which a proxy may read the other
 * @see B-7
 */
function renameCamel(
  body: NamedFields,
  shape: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const named: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    const isNone = Object.hasOwn(shape, name) || name.length > LONGEST_NAME;
    const snake = isNone ? name : snakeOf(name);
    const key = Object.hasOwn(shape, snake) ? snake : name;
    if (Object.hasOwn(named, key)) refuseField(key, TWICE, IN_REQUEST);
    named[key] = value;
  }
  return named;
}

/** Of a field in its other spelling; there are none as long. */
const LONGEST_NAME = 64;

const snakeOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function refuseUnknown(body: NamedFields, shape: Readonly<Record<string, unknown>>): void {
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(shape, name));
  if (unknown !== undefined) {
    const shown = unknown.slice(0, MAX_REFERENCE);
    throw invalid(`could not find field "${shown}" in the resource`, {
      fields: { [shown]: 'There is no such field.' },
    });
  }
}

/** Most items of a list; each one that is wrong costs as much as a hundred right ones. */
const MAX_ITEMS = 10_000;

function refuseLongLists(body: NamedFields): void {
  for (const [name, value] of Object.entries(body)) {
    if (!hasLongList(value)) continue;
    throw invalid(IN_REQUEST, {
      fields: { [name]: `A list has at most ${MAX_ITEMS} items.` },
    });
  }
}

/** What is judged elsewhere, and secrets and bodies of others, which may hold what they like. */
const FREE: ReadonlySet<string> = new Set([
  'name', 'description', 'object', 'password', 'current_password', 'new_password', 'secret',
  'private_key', 'private_key_passphrase', 'http_request_body',
]); // biome-ignore format: one table

function refuseControls(body: NamedFields): void {
  for (const [name, value] of Object.entries(body)) {
    if (FREE.has(name)) continue;
    const isNested = name === 'attributes' && typeof value === 'object' && value !== null;
    const parts = isNested ? Object.entries(value) : [[name, value] as const];
    const wrong = parts.find(([part, each]) => !FREE.has(part) && hasControl(each));
    if (!wrong) continue;
    const path = isNested ? `${name}.${wrong[0].slice(0, MAX_REFERENCE)}` : name;
    throw invalid(IN_REQUEST, {
      fields: { [path.slice(0, MAX_REFERENCE)]: 'It cannot contain control characters.' },
    });
  }
}

/** Of no more depth than bodies have. */
function hasLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value) && value.length > MAX_ITEMS) return true;
  return Object.values(value).some(hasLongList);
}

/** Null is the same as absent, but for the mask, which is derived before. */
function dropNulls(body: NamedFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

function checkTypes(route: AnyBoundaryRoute, body: Record<string, unknown>): NamedFields {
  try {
    return route.input.parse(body);
  } catch (error) {
    if (!(error instanceof ZodError)) throw error;
    throw invalid(IN_REQUEST, { fields: fieldErrors(error) });
  }
}

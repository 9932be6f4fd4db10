import { hasKeyTwice } from '../../../core/json-keys.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { type Action, DEPRECATED_ACTIONS, isAction, parentAction } from '../actions.ts';
import { parseId } from '../ids.ts';
import { RESOURCE_TYPES, type ResourceTypeName } from '../types.ts';

/** One grant, read from its text. */
export interface Grant {
  /** Empty when the grant names none; `['*']` for all. May hold templates. */
  ids: readonly string[];
  /** Empty when it names none; `*` for all. */
  type: string;
  /** Lower case, as written; `['*']` for all. Empty when it only names output fields. */
  actions: readonly string[];
  /** Undefined when the grant says nothing of them; empty for "no field at all". */
  output_fields: readonly string[] | undefined;
  /** Written with `id=`, which is read but no longer accepted for new grants. */
  legacy_id: boolean;
}

export type GrantReading = { valid: true; grant: Grant } | { valid: false; because: string };

const invalid = (because: string): GrantReading => ({ valid: false, because });

/**
 * Reads a grant in either of its two syntaxes, `ids=*;type=target;actions=read` or
 * `{"ids":["*"],"type":"target","actions":["read"]}`, and says whether it can be used.
 *
 * @see B-48
 */
export function parseGrant(text: string): GrantReading {
  const reading = text.startsWith('{') ? parseJsonGrant(text) : parseTextGrant(text);
  if (!reading.valid) return reading;
  const because = findFault(reading.grant);
  return because === undefined ? reading : invalid(because);
}

/** Every request of a user is judged by all grants of the user's roles. */
const MAX_GRANTS = 1_000;
const MAX_GRANT_LENGTH = 8_192;
const MAX_GRANTS_LENGTH = 262_144;

/** What is too long or too many in the grants of a role, or of a request that changes them. */
export function faultOfGrantLengths(texts: readonly string[]): string | undefined {
  if (texts.length > MAX_GRANTS) return `A role has at most ${MAX_GRANTS} grants.`;
  if (texts.some(({ length }) => length > MAX_GRANT_LENGTH)) {
    return `A grant has at most ${MAX_GRANT_LENGTH} characters.`;
  }
  const total = texts.reduce((sum, { length }) => sum + length, 0);
  if (total <= MAX_GRANTS_LENGTH) return undefined;
  return `The grants of a role have at most ${MAX_GRANTS_LENGTH} characters together.`;
}

interface Parts {
  id?: string;
  ids?: string[];
  type?: string;
  actions?: string[];
  output_fields?: string[];
}

const LISTS = ['ids', 'actions', 'output_fields'] as const;
const TEXTS = ['id', 'type'] as const;

function parseTextGrant(text: string): GrantReading {
  if (text === '') return invalid('it is empty');
  const parts: Parts = {};
  for (const segment of text.split(';')) {
    const [key = '', value, ...more] = segment.split('=');
    if (value === undefined || more.length > 0 || key === '') {
      return invalid(`segment "${segment}" is not written as key=value`);
    }
    if (value === '' && key !== 'output_fields') return invalid(`"${key}" has no value`);
    if (Object.hasOwn(parts, key)) return invalid(`"${key}" is given twice`);
    const list = LISTS.find((name) => name === key);
    const single = TEXTS.find((name) => name === key);
    if (list) parts[list] = value === '' ? [] : value.split(',');
    else if (single) parts[single] = value;
    else return invalid(`"${key}" is none of ids, type, actions and output_fields`);
  }
  return makeGrant(parts);
}

function parseJsonGrant(text: string): GrantReading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalid('it is not JSON');
  }
  if (typeof value !== 'object' || value === null) return invalid('it is not a JSON object');
  if (hasKeyTwice(text, value)) return invalid('a key is given twice');
  const parts: Parts = {};
  for (const [key, part] of Object.entries(value)) {
    const list = LISTS.find((name) => name === key);
    const single = TEXTS.find((name) => name === key);
    if (list) {
      if (!Array.isArray(part) || !part.every((item) => typeof item === 'string')) {
        return invalid(`"${key}" is not a list of texts`);
      }
      if (part.length === 0 && list !== 'output_fields') return invalid(`"${key}" is empty`);
      parts[list] = part;
    } else if (single) {
      if (typeof part !== 'string' || part === '') return invalid(`"${key}" is not a text`);
      parts[single] = part;
    } else {
      return invalid(`"${key}" is none of ids, type, actions and output_fields`);
    }
  }
  return makeGrant(parts);
}

function makeGrant({ id, ids, type, actions, output_fields }: Parts): GrantReading {
  if (id !== undefined && ids !== undefined) return invalid('"id" and "ids" are both given');
  return {
    valid: true,
    grant: {
      ids: id === undefined ? (ids ?? []) : [id],
      type: (type ?? '').toLowerCase(),
      actions: (actions ?? []).map((action) => action.toLowerCase()),
      output_fields,
      legacy_id: id !== undefined,
    },
  };
}

/** `{{.User.Id}}` and its spellings; blanks inside the braces do no harm. */
const TEMPLATE = /^\{\{\s*(\.User\.Id|user\.id|\.Account\.Id|account\.id)\s*\}\}$/;

/** What is somebody's own. */
export type Own = 'user' | 'account';

/** What a template stands for. */
export function templateOf(id: string): Own | undefined {
  if (!id.startsWith('{{')) return undefined;
  const selector = TEMPLATE.exec(id)?.[1]?.toLowerCase();
  if (selector === undefined) return undefined;
  return selector.includes('user') ? 'user' : 'account';
}

const typeOfGrantId = (id: string): ResourceTypeName | undefined =>
  templateOf(id) ?? parseId(id)?.type;

const isCollectionAction = (action: string): boolean =>
  parentAction(action) === 'create' || parentAction(action) === 'list';

/** What keeps a grant from being used, or undefined. */
function findFault(grant: Grant): string | undefined {
  const { type, actions, output_fields } = grant;
  if (type !== '' && type !== '*' && !Object.hasOwn(RESOURCE_TYPES, type)) {
    return `unknown type "${type}"`;
  }
  const replaced = actions.find((action) => Object.hasOwn(DEPRECATED_ACTIONS, action));
  if (replaced) return `action "${replaced}" is now "${DEPRECATED_ACTIONS[replaced]}"`;
  const unknown = actions.find((action) => action !== '*' && !isAction(action));
  if (unknown !== undefined) return `unknown action "${unknown}"`;
  if (actions.includes('*') && actions.length > 1) return '"*" goes with no other action';
  if (actions.length === 0 && output_fields === undefined) {
    return 'it names neither actions nor output fields';
  }
  return findIdFault(grant) ?? findShapeFault(grant);
}

function findIdFault({ ids }: Grant): string | undefined {
  if (ids.includes('*')) return ids.length > 1 ? '"*" goes with no other id' : undefined;
  let first: ResourceTypeName | undefined;
  for (const id of ids) {
    const type = typeOfGrantId(id);
    if (!type) return `"${id}" is no id`;
    if (first !== undefined && type !== first) return 'its ids are of more than one type';
    first = type;
  }
  return undefined;
}

/** Whether the items of a type are made and listed in a scope, rather than in another item. */
function hasOwnCollection(type: string): boolean {
  const known = Object.entries(RESOURCE_TYPES).find(([name]) => name === type)?.[1];
  return known !== undefined && known.parent === undefined && known.actions.length > 0;
}

/** Which of ids, type and actions make sense together. @see B-50 */
function findShapeFault({ ids, type, actions }: Grant): string | undefined {
  if (ids.includes('*')) {
    return type === '' ? 'with ids=* it must name a type' : undefined;
  }
  const [id] = ids;
  if (id === undefined) {
    if (type === '') return 'it names neither ids nor a type';
    if (type === '*') return 'without ids it must name one type';
    if (!hasOwnCollection(type)) return `without ids nothing can be granted on type ${type}`;
    if (actions.some((action) => !isCollectionAction(action))) {
      return 'without ids only create and list can be granted';
    }
    return undefined;
  }
  const own = typeOfGrantId(id);
  if (type === '' || type === own) {
    const collection = actions.find(isCollectionAction);
    return collection && `"${collection}" cannot be granted on single ids`;
  }
  const children = Object.entries(RESOURCE_TYPES).filter(([, { parent }]) => parent === own);
  if (children.length === 0) return `ids of type ${own} go with no other type`;
  if (type !== '*' && !children.some(([child]) => child === type)) {
    return `type ${type} does not lie within ids of type ${own}`;
  }
  return undefined;
}

/** The one text for all ways to write a grant; what is stored and compared. */
export function canonicalGrant(grant: Grant): string {
  const { ids, type, actions, output_fields, legacy_id } = grant;
  const segments: string[] = [];
  if (ids.length > 0) segments.push(`${legacy_id ? 'id' : 'ids'}=${ids.join(',')}`);
  if (type !== '') segments.push(`type=${type}`);
  if (actions.length > 0) segments.push(`actions=${[...actions].sort().join(',')}`);
  if (output_fields) segments.push(`output_fields=${[...output_fields].sort().join(',')}`);
  return segments.join(';');
}

/** The `json` member of a role's `grants`. */
export function grantJson(grant: Grant) {
  const { ids, legacy_id, type, actions, output_fields } = grant;
  const named = legacy_id ? { id: ids[0] } : { ids };
  return omitEmpty({ ...named, type, actions, output_fields });
}

/**
 * Says whether a list of granted actions covers one: by name, by its parent, or by `*`.
 *
 * @see B-52
 */
export function coversAction(granted: readonly string[], action: Action): boolean {
  return (
    granted.includes('*') || granted.includes(action) || granted.includes(parentAction(action))
  );
}

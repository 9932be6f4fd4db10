import { base62 } from '../../core/base62.ts';
import { RESOURCE_TYPES, type ResourceTypeName, type ScopeType } from './types.ts';

const BY_PREFIX: ReadonlyMap<string, { type: ResourceTypeName; subtype: string }> = new Map(
  (Object.keys(RESOURCE_TYPES) as ResourceTypeName[]).flatMap((type) =>
    Object.entries(RESOURCE_TYPES[type].prefixes).map(
      ([prefix, subtype]) => [prefix, { type, subtype }] as const,
    ),
  ),
);

const ID = /^([a-z]+)_([A-Za-z0-9]*)$/;

/**
 * What an id's form says of it.
 *
 * @param id e.g. `ttcp_1234567890`, or `global`
 * @returns undefined for text that is no id of ours; that there is such a thing is not said
 */
export function parseId(id: string): { type: ResourceTypeName; subtype: string } | undefined {
  if (id === 'global') return { type: 'scope', subtype: 'global' };
  return BY_PREFIX.get(ID.exec(id)?.[1] ?? '');
}

/** The type of an id by its form; undefined for `*` and whatever is no id. */
export function typeOfId(id: string): ResourceTypeName | undefined {
  return parseId(id)?.type;
}

/** Says whether an id has the form of this type's ids, of the named subtypes only if any are. */
export function isIdOf(
  id: string,
  type: ResourceTypeName,
  ...subtypes: readonly string[]
): boolean {
  const parsed = parseId(id);
  return parsed?.type === type && (subtypes.length === 0 || subtypes.includes(parsed.subtype));
}

/** The prefix of new ids of a subtype. */
export function prefixOf(type: ResourceTypeName, subtype: string): string {
  const found = Object.entries(RESOURCE_TYPES[type].prefixes).find(([, name]) => name === subtype);
  if (!found) throw new TypeError(`${type} has no subtype ${subtype}`);
  return found[0];
}

/** The scope's kind by its id. */
export function scopeTypeOf(scope_id: string): ScopeType {
  if (scope_id === 'global') return 'global';
  return scope_id.startsWith('o_') ? 'org' : 'project';
}

/**
 * A new id: the prefix and ten base62 characters.
 *
 * @param random at least 16 random bytes
 */
export function newResourceId(prefix: string, random: Uint8Array): string {
  return `${prefix}_${base62(random, 10)}`;
}

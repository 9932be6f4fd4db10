import type { IdentityFacts } from './caller.ts';

/**
 * What `{{identity.…}}` may refer to in policy paths: the caller's entity, its aliases by mount
 * accessor, and the groups it is in, each by id, name or a key of its metadata.
 */
export type Selector =
  | { of: 'entity'; field: 'id' | 'name' }
  | { of: 'entity_metadata'; key: string }
  | { of: 'alias'; accessor: string; field: 'id' | 'name' }
  | { of: 'alias_metadata'; accessor: string; map: 'metadata' | 'custom_metadata'; key: string }
  | { of: 'group'; by: 'id' | 'name'; ref: string; field: 'id' | 'name' }
  | { of: 'group_metadata'; by: 'id' | 'name'; ref: string; key: string };

/**
 * Reads the inside of a template, e.g. `identity.entity.metadata.team`,
 * `identity.entity.aliases.auth_userpass_1a2b3c4d.name`, `identity.groups.names.ops.id`.
 * Metadata keys and group names may contain dots.
 *
 * @returns undefined for anything else
 */
export function parseSelector(text: string): Selector | undefined {
  const entity = /^identity\.entity\.(id|name)$/.exec(text);
  if (entity) return { of: 'entity', field: fieldOf(entity[1]) };
  const metadata = /^identity\.entity\.metadata\.(.+)$/.exec(text);
  if (metadata?.[1]) return { of: 'entity_metadata', key: metadata[1] };
  const alias = /^identity\.entity\.aliases\.([^.]+)\.(.+)$/.exec(text);
  if (alias?.[1] && alias[2]) return aliasSelector(alias[1], alias[2]);
  const group = /^identity\.groups\.(ids|names)\.(.+)$/.exec(text);
  if (group?.[2]) return groupSelector(group[1] === 'ids' ? 'id' : 'name', group[2]);
  return undefined;
}

function fieldOf(text: string | undefined): 'id' | 'name' {
  return text === 'id' ? 'id' : 'name';
}

function aliasSelector(accessor: string, rest: string): Selector | undefined {
  if (rest === 'id' || rest === 'name') return { of: 'alias', accessor, field: rest };
  const [, map, key] = /^(metadata|custom_metadata)\.(.+)$/.exec(rest) ?? [];
  if (key === undefined) return undefined;
  const from = map === 'metadata' ? 'metadata' : 'custom_metadata';
  return { of: 'alias_metadata', accessor, map: from, key };
}

function groupSelector(by: 'id' | 'name', rest: string): Selector | undefined {
  const [, owner, key] = /^(.+?)\.metadata\.(.+)$/.exec(rest) ?? [];
  if (owner !== undefined && key !== undefined)
    return { of: 'group_metadata', by, ref: owner, key };
  const [, ref, field] = /^(.+)\.(id|name)$/.exec(rest) ?? [];
  return ref === undefined ? undefined : { of: 'group', by, ref, field: fieldOf(field) };
}

/** @returns the value that the selector stands for, or undefined where the identity has none */
export function findSelected(identity: IdentityFacts, selector: Selector): string | undefined {
  switch (selector.of) {
    case 'entity':
      return identity[selector.field];
    case 'entity_metadata':
      return ownValue(identity.metadata, selector.key);
    case 'alias':
      return findAlias(identity, selector.accessor)?.[selector.field];
    case 'alias_metadata':
      return ownValue(findAlias(identity, selector.accessor)?.[selector.map], selector.key);
    case 'group':
      return findGroup(identity, selector)?.[selector.field];
    case 'group_metadata':
      return ownValue(findGroup(identity, selector)?.metadata, selector.key);
  }
}

function findAlias(identity: IdentityFacts, accessor: string) {
  return identity.aliases.find((alias) => alias.mount_accessor === accessor);
}

function findGroup(identity: IdentityFacts, { by, ref }: { by: 'id' | 'name'; ref: string }) {
  return identity.groups.find((group) => group[by] === ref);
}

function ownValue(
  map: Readonly<Record<string, string>> | undefined,
  key: string,
): string | undefined {
  return map && Object.hasOwn(map, key) ? map[key] : undefined;
}

import { textBytes } from './kept.ts';
import { memoizeWeak } from './memoize-weak.ts';

/**
 * What templates can say about the caller: their entity and groups that it is in. Of groups and of what is said of
 * aliases there may be any number: what no template names may be left out.
 */
export interface IdentityFacts {
  entity: {
    id: string;
    name: string;
    metadata: Readonly<Record<string, string>>;
    /** By the accessor of the auth mount. */
    aliases: Readonly<Record<string, IdentityAlias>>;
  };
  groups: readonly { id: string; name: string; metadata: Readonly<Record<string, string>> }[];
}

interface IdentityAlias {
  id: string;
  name: string;
  metadata: Readonly<Record<string, string>>;
  custom_metadata: Readonly<Record<string, string>>;
}

/** About how many bytes the facts take: pairs of metadata are most of them. */
export const weighFacts = memoizeWeak(({ entity, groups }: IdentityFacts) => {
  let bytes = weighPairs(entity.metadata);
  for (const alias of Object.values(entity.aliases)) {
    bytes += FACT_BYTES + weighPairs(alias.metadata) + weighPairs(alias.custom_metadata);
  }
  for (const { metadata } of groups) bytes += FACT_BYTES + weighPairs(metadata);
  return bytes;
});

/** An alias or a group, with its names; a pair besides its characters. */
const FACT_BYTES = 512;
const PAIR_BYTES = 128;

function weighPairs(pairs: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const [name, text] of Object.entries(pairs)) {
    bytes += PAIR_BYTES + textBytes(name) + textBytes(text);
  }
  return bytes;
}

/** Longest text that a template may become, in characters; as long as an item of a list may be. */
const MAX_EXPANDED = 8192;

/** Says whether a text has anything to be filled in. */
export function isTemplate(text: string): boolean {
  return text.includes('{{');
}

/**
 * Fills in `{{identity.entity.name}}` and its like.
 *
 * @param identity undefined when the caller's token has no entity
 * @param isHarmless whether a value may stand where the text goes, e.g. has no wildcard in it;
 *   `before` is the text up to there, filled in
 * @returns `undefined` when a selector is unknown, unanswered or answered with the empty text
 *          or a harmful one, when the braces do not pair, or the whole gets too long; the text must then be passed over
 */
export function expandTemplate(
  text: string,
  identity: IdentityFacts | undefined,
  isHarmless: (value: string, before: string) => boolean,
): string | undefined {
  if (!identity) return undefined;
  let expanded = '';
  let at = 0;
  for (;;) {
    const open = text.indexOf('{{', at);
    if (open < 0) break;
    const close = text.indexOf('}}', open);
    if (close < 0) return undefined;
    const selector = parseSelector(text.slice(open + 2, close).trim());
    const value = selector && findSelected(identity, selector);
    expanded += text.slice(at, open);
    if (!value || !isHarmless(value, expanded)) return undefined;
    expanded += value;
    // Long values, many times over, would make of a short text one that nobody can look at.
    if (expanded.length > MAX_EXPANDED) return undefined;
    at = close + 2;
  }
  const rest = text.slice(at);
  return rest.includes('}}') ? undefined : expanded + rest;
}

/**
 * What `{{identity.…}}` may refer to in role fields and policy paths: the caller's entity, its aliases by mount
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
  const map = '.metadata.';
  const at = rest.indexOf(map, 1);
  const key = at < 0 ? '' : rest.slice(at + map.length);
  if (key !== '') return { of: 'group_metadata', by, ref: rest.slice(0, at), key };
  const [, ref, field] = /^(.+)\.(id|name)$/.exec(rest) ?? [];
  return ref === undefined ? undefined : { of: 'group', by, ref, field: fieldOf(field) };
}

/** One that is about more than an entity and how it is called. */
export type LookedUp = Extract<Selector, { of: 'alias_metadata' | 'group' | 'group_metadata' }>;

export function isLookedUp(selector: Selector): selector is LookedUp {
  const { of } = selector;
  return of === 'alias_metadata' || of === 'group' || of === 'group_metadata';
}

/** What a text has to be filled in, as far as {@link expandTemplate} knows it. */
export function listSelectors(text: string): Selector[] {
  const selectors: Selector[] = [];
  for (let at = text.indexOf('{{'); at >= 0; at = text.indexOf('{{', at)) {
    const close = text.indexOf('}}', at);
    if (close < 0) break;
    const selector = parseSelector(text.slice(at + 2, close).trim());
    if (selector) selectors.push(selector);
    at = close + 2;
  }
  return selectors;
}

/** @returns the value that the selector stands for, or undefined where the identity has none */
export function findSelected(identity: IdentityFacts, selector: Selector): string | undefined {
  switch (selector.of) {
    case 'entity':
      return identity.entity[selector.field];
    case 'entity_metadata':
      return ownValue(identity.entity.metadata, selector.key);
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
  return ownValue(identity.entity.aliases, accessor);
}

function findGroup({ groups }: IdentityFacts, { by, ref }: { by: 'id' | 'name'; ref: string }) {
  return groupsOf(groups)[by].get(ref);
}

type Group = IdentityFacts['groups'][number];

/** Looked up by many templates, and there may be many groups; the first of a name counts. */
const groupsOf = memoizeWeak((groups: readonly Group[]) => {
  const reversed = groups.toReversed();
  return {
    id: new Map(reversed.map((group) => [group.id, group])),
    name: new Map(reversed.map((group) => [group.name, group])),
  };
});

function ownValue<Value>(
  map: Readonly<Record<string, Value>> | undefined,
  key: string,
): Value | undefined {
  return map && Object.hasOwn(map, key) ? map[key] : undefined;
}

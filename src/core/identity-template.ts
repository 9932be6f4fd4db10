/** What templates can say about the caller: their entity and the groups it is in. */
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

export interface IdentityAlias {
  id: string;
  name: string;
  metadata: Readonly<Record<string, string>>;
  custom_metadata: Readonly<Record<string, string>>;
}

/** Says whether a text has anything to be filled in. */
export function isTemplate(text: string): boolean {
  return text.includes('{{');
}

/**
 * Fills in `{{identity.entity.name}}` and its like.
 *
 * @param identity undefined when the caller's token has no entity
 * @param isHarmless whether a value may stand where the text goes, e.g. has no wildcard in it
 * @returns `undefined` when a selector is unknown, unanswered or answered with the empty text
 *          or a harmful one, or when the braces do not pair; the text must then be passed over
 */
export function expandTemplate(
  text: string,
  identity: IdentityFacts | undefined,
  isHarmless: (value: string) => boolean,
): string | undefined {
  if (!identity) return undefined;
  let expanded = '';
  let at = 0;
  for (;;) {
    const open = text.indexOf('{{', at);
    if (open < 0) break;
    const close = text.indexOf('}}', open);
    if (close < 0) return undefined;
    const value = findIdentityValue(text.slice(open + 2, close).trim(), identity);
    if (!value || !isHarmless(value)) return undefined;
    expanded += text.slice(at, open) + value;
    at = close + 2;
  }
  const rest = text.slice(at);
  return rest.includes('}}') ? undefined : expanded + rest;
}

/**
 * @param selector e.g. `identity.entity.aliases.auth_userpass_1a2b.name` or
 *   `identity.groups.ids.<id>.metadata.team`; a metadata key may hold dots
 */
function findIdentityValue(selector: string, identity: IdentityFacts): string | undefined {
  const path = selector.split('.');
  if (path[0] !== 'identity') return undefined;
  if (path[1] === 'entity') return findEntityValue(path.slice(2), identity.entity);
  if (path[1] === 'groups') return findGroupValue(path[2], path.slice(3).join('.'), identity);
  return undefined;
}

function findEntityValue(path: string[], entity: IdentityFacts['entity']): string | undefined {
  const [part, accessor = '', ...rest] = path;
  if (part === 'aliases') {
    const alias = own(entity.aliases, accessor);
    if (!alias) return undefined;
    if (rest.length === 1 && rest[0] === 'id') return alias.id;
    if (rest.length === 1 && rest[0] === 'name') return alias.name;
    const key = rest.slice(1).join('.');
    if (rest[0] === 'metadata') return own(alias.metadata, key);
    if (rest[0] === 'custom_metadata') return own(alias.custom_metadata, key);
    return undefined;
  }
  if (part === 'metadata') return own(entity.metadata, path.slice(1).join('.'));
  if (path.length !== 1) return undefined;
  if (part === 'id') return entity.id;
  if (part === 'name') return entity.name;
  return undefined;
}

function findGroupValue(
  by: string | undefined,
  rest: string,
  { groups }: IdentityFacts,
): string | undefined {
  if (by !== 'ids' && by !== 'names') return undefined;
  for (const group of groups) {
    const key = by === 'ids' ? group.id : group.name;
    if (!rest.startsWith(`${key}.`)) continue;
    const field = rest.slice(key.length + 1);
    if (field === 'id') return group.id;
    if (field === 'name') return group.name;
    if (field.startsWith('metadata.')) return own(group.metadata, field.slice('metadata.'.length));
  }
  return undefined;
}

function own<Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

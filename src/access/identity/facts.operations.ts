import type { App } from '../../app/app.ts';
import {
  type IdentityFacts,
  isLookedUp,
  type LookedUp,
  type Selector,
  weighFacts,
} from '../../core/identity-template.ts';
import { LastOf } from '../../core/kept.ts';
import { ROOMS } from '../../core/rooms.ts';
import { readAliases } from './aliases.store.ts';
import { listGroupsNamed, readGroupsById } from './groups.store.ts';
import { type Groups, withGroupsOf } from './memberships.operations.ts';

/**
 * What is known of somebody, with what some templates name besides. Others make them a member of groups, and
 * say what they like of those and of aliases: of all that no more is read than the templates name.
 *
 * @param identity as known without
 */
export async function tellFacts(
  app: App,
  identity: IdentityFacts,
  selectors: readonly Selector[],
): Promise<IdentityFacts> {
  const wanted = selectors.filter(isLookedUp);
  if (wanted.length === 0) return identity;
  const { entity } = identity;
  return {
    entity: { ...entity, aliases: await tellAliases(app, identity, wanted) },
    groups: await tellGroups(app, entity.id, wanted),
  };
}

/** What was told, and what it was told of: that of somebody who has changed since is another. */
interface Told {
  of: IdentityFacts;
  facts: IdentityFacts;
}

/** As {@link tellFacts}, kept as long as nothing changes: for what is asked for again and again. */
export async function tellKeptFacts(
  app: App,
  identity: IdentityFacts,
  asked: { selectors: readonly LookedUp[]; key: string },
): Promise<IdentityFacts> {
  const kept = await app.cached(
    'identity:told',
    async () => new LastOf<Told>(ROOMS.told_facts, ({ facts }) => weighFacts(facts)),
  );
  const key = `${identity.entity.id} ${asked.key}`;
  const known = kept.find(key);
  if (known?.of === identity) return known.facts;
  const facts = await tellFacts(app, identity, asked.selectors);
  kept.set(key, { of: identity, facts });
  return facts;
}

async function tellAliases(
  app: App,
  { entity }: IdentityFacts,
  wanted: readonly LookedUp[],
): Promise<IdentityFacts['entity']['aliases']> {
  const keys = new Keys();
  for (const one of wanted) {
    // What else there may be said of an alias has nothing in it.
    if (one.of === 'alias_metadata' && one.map === 'custom_metadata')
      keys.add(one.accessor, one.key);
  }
  if (keys.size === 0) return entity.aliases;
  const told = new Map(Object.entries(entity.aliases));
  for await (const { id, name, mount_accessor, custom_metadata } of readAliases(
    app.db,
    entity.id,
  )) {
    const picked = keys.pick(mount_accessor, custom_metadata);
    if (picked) told.set(mount_accessor, { id, name, metadata: {}, custom_metadata: picked });
  }
  return Object.fromEntries(told);
}

async function tellGroups(
  app: App,
  entity_id: string,
  wanted: readonly LookedUp[],
): Promise<IdentityFacts['groups']> {
  const of = wanted.filter((one) => one.of !== 'alias_metadata');
  if (of.length === 0) return [];
  const keys = await withGroupsOf(app, { id: entity_id, kind: 'entity' }, (groups) =>
    keysOfGroups(app, groups, of),
  );
  const told: IdentityFacts['groups'][number][] = [];
  for await (const { id, name, metadata } of readGroupsById(app.db, keys.ids())) {
    told.push({ id, name, metadata: keys.pick(id, metadata) ?? {} });
  }
  return told;
}

/**
 * The groups that an entity is in, by itself or by other groups.
 *
 * @returns undefined where they are more than `most`
 */
export function listGroupsOfEntity(
  app: App,
  entity_id: string,
  most: number,
): Promise<{ id: string; name: string }[] | undefined> {
  return withGroupsOf(app, { id: entity_id, kind: 'entity' }, async ({ direct, above }) => {
    const ids = [...new Set([...direct, ...above])];
    if (ids.length > most) return undefined;
    const groups: { id: string; name: string }[] = [];
    for await (const { id, name } of readGroupsById(app.db, ids)) groups.push({ id, name });
    return groups;
  });
}

/** What is asked for of those groups that somebody is in. */
async function keysOfGroups(
  app: App,
  { direct, above }: Groups,
  of: readonly Exclude<LookedUp, { of: 'alias_metadata' }>[],
): Promise<Keys> {
  const mine = new Set([...direct, ...above]);
  const names = of.flatMap(({ by, ref }) => (by === 'name' ? [ref] : []));
  const named = new Map((await listGroupsNamed(app.db, names)).map(({ id, name }) => [name, id]));
  const keys = new Keys();
  for (const one of of) {
    const id = one.by === 'id' ? one.ref : named.get(one.ref);
    if (id === undefined || !mine.has(id)) continue;
    keys.add(id, one.of === 'group_metadata' ? one.key : undefined);
  }
  return keys;
}

/** Which keys of whose metadata are asked for. */
class Keys {
  readonly #keys = new Map<string, Set<string>>();

  get size(): number {
    return this.#keys.size;
  }

  ids(): string[] {
    return [...this.#keys.keys()];
  }

  /** @param key undefined where none is asked for, but the group or alias is */
  add(id: string, key: string | undefined): void {
    const known = this.#keys.getOrInsertComputed(id, () => new Set());
    if (key !== undefined) known.add(key);
  }

  pick(id: string, pairs: Readonly<Record<string, string>>): Record<string, string> | undefined {
    const keys = this.#keys.get(id);
    return keys && Object.fromEntries(Object.entries(pairs).filter(([key]) => keys.has(key)));
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Answer } from '../../app/route.ts';
import { addEnded } from '../../core/ended-counts.ts';
import { Failure } from '../../core/failure.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { FewInTurn } from '../../core/fairness/few-in-turn.ts';
import { listThings, listTold } from '../../core/key-list.ts';
import { mergePatch } from '../../core/patches.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Effect } from '../../store/write.ts';
import { removeLogInsAfterCommit } from '../leases/expiration.operations.ts';
import { commitPlanned, type Planned } from '../standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow, requireAtNow } from '../standing/operations.ts';
import {
  countAliases,
  findAlias,
  findAliasById,
  listAliases,
  listAliasNames,
} from './aliases.store.ts';
import {
  type Alias,
  checkMetadata,
  checkName,
  describeAlias,
  describeEntity,
  type Entity,
  type EntitySettings,
  nameAlias,
  requireIdentityPolicies,
} from './entity.ts';
import { type Lookup, type LookupInput, parseLookup } from './lookup.ts';
import { requireFewPolicies, withGroupsOf } from './memberships.operations.ts';
import { deleteMemberships } from './memberships.store.ts';
import {
  endLogInsBeforehand,
  findAliasMount,
  newEntity,
  pagesOf,
  planAliasRemoval,
  readAliasMounts,
} from './operations.ts';
import {
  aliasPaths,
  CONCERNED,
  LOOKED_UP,
  otherPaths,
  ownPaths,
  pathsInBody,
} from './own-paths.ts';
import {
  deleteEntity,
  findEntityById,
  findEntityByName,
  insertEntity,
  listEntitiesById,
  listEntityNames,
  type Named,
  takeEntities,
  updateEntity,
} from './store.ts';

type SentSettings = { [Name in keyof EntitySettings]?: EntitySettings[Name] | undefined };

/** Makes an entity, or changes the one that is named; what is left out stays. */
export async function writeEntity(
  app: App,
  caller: Caller,
  input: { id: string; name: string } & SentSettings,
): Promise<Answer> {
  const { id, name, ...sent } = input;
  await refuseDenied(caller, pathsInBody(caller, 'entity', input));
  if (id !== '') return changeEntity(app, caller, input);
  checkName('name', name);
  return commitPlanned<Answer>(app, caller, async () => {
    const existing = name === '' ? undefined : await findEntityByName(app.db, name);
    if (existing) {
      await refuseDeniedNow(caller, otherPaths(caller, 'entity', existing));
      return { ...(await planChange(app, caller, existing, sent)), found: true };
    }
    const settings = planSettings({ metadata: {}, policies: [], disabled: false }, sent);
    const entity = newEntity(app, { ...settings, name });
    return {
      effects: [insertEntity(entity), bumpConfigVersion()],
      result: { data: { id: entity.id, name: entity.name, aliases: null } },
      outcome: { entity_id: entity.id },
      found: false,
    };
  });
}

export async function writeEntityById(
  app: App,
  caller: Caller,
  input: { id: string; name: string } & SentSettings,
): Promise<Answer> {
  await refuseDenied(caller, ownPaths(caller, 'entity', { name: input.name }));
  return changeEntity(app, caller, input);
}

async function changeEntity(
  app: App,
  caller: Caller,
  input: { id: string; name: string } & SentSettings,
): Promise<Answer> {
  const { id, name, ...sent } = input;
  return commitPlanned<Answer>(app, caller, async () => {
    const existing = await findEntityById(app.db, id);
    if (!existing) throw new Failure('invalid', `id: there is no entity "${id}"`);
    await refuseDeniedNow(caller, otherPaths(caller, 'entity', existing));
    checkName('name', name);
    if (name !== '') await requireFreeName(app, id, name);
    return planChange(app, caller, { ...existing, name: name || existing.name }, sent);
  });
}

async function requireFreeName(app: App, id: string, name: string): Promise<void> {
  const other = await findEntityByName(app.db, name);
  if (!other || other.id === id) return;
  throw new Failure('conflict', `entity name is already in use: ${name}`);
}

async function planChange(
  app: App,
  caller: Caller,
  entity: Entity,
  sent: SentSettings,
): Promise<Planned<Answer>> {
  const settings = planSettings(entity, sent);
  const next: Entity = { ...entity, ...settings, updated_at_ms: app.now() };
  await requireFewPolicies(app, next, 'entity');
  // Its log-ins are refused until it is enabled again; what goes on without being asked for ends.
  const disabled = { disabled_entity_id: next.id };
  const ended = next.disabled ? await app.planDependants(app, disabled) : [];
  const beforehand = {
    of: `entity ${next.id}`,
    end: async () => app.endDependants(app, await pagesOf(app, caller), disabled),
  };
  return {
    effects: [updateEntity(next), ...ended, ...bumpPermissionVersion()],
    result: {},
    outcome: { entity_id: next.id },
    beforehand: next.disabled ? beforehand : undefined,
  };
}

function planSettings(existing: EntitySettings, sent: SentSettings): EntitySettings {
  const { metadata, policies, disabled } = mergePatch<EntitySettings>(existing, sent);
  checkMetadata('metadata', metadata);
  return { metadata, policies: requireIdentityPolicies(policies), disabled };
}

export async function readEntityById(
  app: App,
  _caller: Caller,
  input: { id: string },
): Promise<Answer> {
  return answerEntity(app, await findEntityById(app.db, input.id));
}

export async function readEntityByName(
  app: App,
  _caller: Caller,
  input: { name: string },
): Promise<Answer> {
  return answerEntity(app, await findEntityByName(app.db, input.name));
}

async function answerEntity(app: App, entity: Entity | undefined): Promise<Answer> {
  if (!entity) throw new Failure('not_found', '');
  const member = { id: entity.id, kind: 'entity' } as const;
  return withGroupsOf(app, member, async ({ direct, above: inherited }) => {
    const described = await describeAliases(app, await listAliases(app.db, entity.id));
    return { data: describeEntity(entity, described, { direct, inherited }) };
  });
}

async function describeAliases(app: App, aliases: readonly Alias[]) {
  const described: Record<string, unknown>[] = [];
  for (const alias of aliases) {
    described.push(describeAlias(alias, await findAliasMount(app, alias.mount_accessor)));
  }
  return described;
}

export async function removeEntityById(
  app: App,
  caller: Caller,
  input: { id: string },
): Promise<Answer> {
  return removeEntities(app, caller, async () => [await findEntityById(app.db, input.id)]);
}

export async function removeEntityByName(
  app: App,
  caller: Caller,
  input: { name: string },
): Promise<Answer> {
  return removeEntities(app, caller, async () => [await findEntityByName(app.db, input.name)]);
}

export async function removeEntityBatch(
  app: App,
  caller: Caller,
  input: { entity_ids: readonly string[] },
): Promise<Answer> {
  if (input.entity_ids.length === 0) {
    throw new Failure('invalid', 'missing entity ids to delete: entity_ids is a list of ids');
  }
  // The caller's own last, which is also that of the tokens above theirs: without it there may be no more
  // that is permitted.
  const own = caller.token?.entity_id;
  const ids = [...new Set(input.entity_ids)].sort((a, b) => Number(a === own) - Number(b === own));
  const pathOf = (id: string): string => `${caller.mount.path}entity/id/${id}`;
  const find = (some: readonly string[]) => async () => {
    await requireAtNow(caller, 'delete', some.map(pathOf));
    const found = await listEntitiesById(app.db, some);
    const pathsOf = (entity: Entity) => ownPaths(caller, 'entity', entity, CONCERNED);
    await refuseDeniedNow(caller, found.flatMap(pathsOf));
    return found;
  };
  // As each of them by itself, by its id and its name, before the first of them goes.
  await requireAtNow(caller, 'delete', ids.map(pathOf));
  const breath = new Breath();
  for (let at = 0; ids.length > PAGE && at < ids.length; at += PAGE) {
    await breath.take();
    await find(ids.slice(at, at + PAGE))();
  }
  while (ids.length > PAGE) {
    const some = ids.splice(0, PAGE);
    await pagesInTurn(app).run(() => withRest(() => removePage(app, caller, some, find)));
  }
  return removeEntities(app, caller, find(ids));
}

/** Entities that one write set removes: others write in between. */
const PAGE = 25;

/** Pages of removals, of one network one after the other: while one is written nobody else writes what permissions rest on. */
const pagesInTurn = perApp(() => new FewInTurn(2));

/** Rests as long as something took: however many entities are removed, others have half of the time. */
async function withRest(run: () => Promise<void>): Promise<void> {
  const began = performance.now();
  await run();
  await delay(performance.now() - began);
}

/** Removes some of those that a request removes, with a record of their own. */
async function removePage(
  app: App,
  caller: Caller,
  entity_ids: readonly string[],
  find: (ids: readonly string[]) => () => Promise<readonly Entity[]>,
): Promise<void> {
  const { record } = caller;
  const request = { ...record.request, entity_ids };
  const outcome = { ...record.outcome, ending: true };
  const some = { ...caller, record: { ...record, request, outcome } };
  const entities = await commitRemoval(app, some, find(entity_ids));
  addEnded(record.ended_before, { entities });
}

/** Log-ins of a removed entity end, on both APIs, and what was made from them. */
async function removeEntities(
  app: App,
  caller: Caller,
  find: () => Promise<readonly (Entity | undefined)[]>,
): Promise<Answer> {
  await commitRemoval(app, caller, find);
  await removeLogInsAfterCommit(app, caller);
  return {};
}

/** @returns how many of them were there */
async function commitRemoval(
  app: App,
  caller: Caller,
  find: () => Promise<readonly (Entity | undefined)[]>,
): Promise<number> {
  return commitPlanned<number>(app, caller, async () => {
    const found = (await find()).flatMap((entity) => entity ?? []);
    if (found.length === 0) return { effects: [], result: 0 };
    const ids = idsOf(found);
    const beforehand = {
      of: `entity ${ids.join()}`,
      end: () => endBeforehand(app, caller, ids),
    };
    return { effects: await planRemoval(app, found), result: found.length, beforehand };
  });
}

const idsOf = (entities: readonly Entity[]): string[] => entities.map(({ id }) => id);

/** What would be much for one write set ends before. */
async function endBeforehand(
  app: App,
  caller: Caller,
  entity_ids: readonly string[],
): Promise<void> {
  await endLogInsBeforehand(app, caller, { entity_ids });
  await app.endDependants(app, await pagesOf(app, caller), { entity_ids });
}

async function planRemoval(app: App, entities: readonly Entity[]): Promise<Effect[]> {
  const entity_ids = idsOf(entities);
  return [
    // Before their aliases and users, and so before the log-ins that came by them: none comes later.
    takeEntities(entity_ids),
    ...(await planAliasRemoval(app, { entity_ids })),
    ...(await app.planDependants(app, { entity_ids })),
    ...entities.map(deleteEntity),
    deleteMemberships('entity', entity_ids),
    ...bumpPermissionVersion(),
  ];
}

/** Aliases that are told of at once, but for one entity that has more. */
const TOLD = 500;

/** Ids with what they are called, so that a list can be read by people. What others say of aliases is told of each alone. */
export async function listEntityIds(app: App): Promise<Answer> {
  const mounts = await readAliasMounts(app);
  const read = (last: Named | undefined): Promise<Named[]> => listEntityNames(app.db, last);
  return listTold({ read, keyOf: ({ id }) => id }, async function* (some) {
    const counts = await countAliases(
      app.db,
      some.map(({ id }) => id),
    );
    for (const few of splitByCount(some, ({ id }) => counts.get(id) ?? 0)) {
      const aliases = await listAliasNames(
        app.db,
        few.map(({ id }) => id),
      );
      const of = Map.groupBy(aliases, (alias) => alias.entity_id);
      const named = (id: string) =>
        (of.get(id) ?? []).map((alias) => nameAlias(alias, mounts.get(alias.mount_accessor)));
      yield Object.fromEntries(few.map(({ id, name }) => [id, { name, aliases: named(id) }]));
    }
  });
}

/** In their order, as many together as have {@link TOLD} in all. */
function splitByCount<One>(all: readonly One[], countOf: (one: One) => number): One[][] {
  const split: One[][] = [];
  let count = Number.POSITIVE_INFINITY;
  for (const one of all) {
    count += countOf(one);
    if (count > TOLD) {
      split.push([]);
      count = countOf(one);
    }
    split.at(-1)?.push(one);
  }
  return split;
}

export async function listNamesOfEntities(app: App): Promise<Answer> {
  const read = (last: Named | undefined): Promise<Named[]> => listEntityNames(app.db, last);
  return listThings({ read, keyOf: ({ name }) => name });
}

/** Finds an entity by one of the things it is known by; nothing found is an empty answer. */
export async function lookUpEntity(app: App, caller: Caller, input: LookupInput): Promise<Answer> {
  const entity = await findLookedUp(app, caller, parseLookup(input));
  if (!entity) return {};
  await refuseDenied(caller, ownPaths(caller, 'entity', entity, LOOKED_UP));
  return answerEntity(app, entity);
}

async function findLookedUp(app: App, caller: Caller, lookup: Lookup): Promise<Entity | undefined> {
  if (lookup.by === 'id' || lookup.by === 'name') {
    await refuseDenied(caller, ownPaths(caller, 'entity', lookup, LOOKED_UP));
    return lookup.by === 'id'
      ? findEntityById(app.db, lookup.id)
      : findEntityByName(app.db, lookup.name);
  }
  const alias =
    lookup.by === 'alias'
      ? await findAlias(app.db, lookup.alias_mount_accessor, lookup.alias_name)
      : await findAliasById(app.db, lookup.alias_id);
  await refuseDenied(caller, aliasPaths(caller, 'entity-alias', alias?.id ?? '', LOOKED_UP));
  return alias && findEntityById(app.db, alias.entity_id);
}

import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import type { Tell } from '../../core/key-list.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import { commitPlanned, type Planned } from '../standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../standing/operations.ts';
import { entityAliases } from './aliases.operations.ts';
import { countAliases, listAliases, listAliasNames } from './aliases.store.ts';
import { entityStore, findEntityByName, insertEntity, updateEntity } from './entities.store.ts';
import {
  type AliasInfo,
  describeAlias,
  describeEntity,
  type Entity,
  type EntityInfo,
  type EntitySettings,
  nameAlias,
  type WrittenEntity,
} from './entity.ts';
import { removeEntities } from './entity-removal.operations.ts';
import { requireFewPolicies, withGroupsOf } from './memberships.operations.ts';
import { findAliasMount, newEntity, pagesOf, readAliasMounts } from './operations.ts';
import { otherPaths, ownPaths, pathsInBody } from './own-paths.ts';
import { checkName, planSettings } from './record.ts';
import { recordOperations, requireFreeName, requireSent } from './records.operations.ts';
import type { Named } from './records.store.ts';

type SentSettings = { [Name in keyof EntitySettings]?: EntitySettings[Name] | undefined };
type SentEntity = { id?: string; name: string } & SentSettings;

export const entities = recordOperations({
  store: entityStore,
  aliases: entityAliases.of,
  describe: (app, entity) =>
    withGroupsOf(app, { id: entity.id, kind: 'entity' }, async ({ direct, above: inherited }) => {
      const aliases: AliasInfo[] = [];
      for (const alias of await listAliases(app.db, entity.id)) {
        aliases.push(describeAlias(alias, await findAliasMount(app, alias.mount_accessor)));
      }
      return { data: describeEntity(entity, aliases, { direct, inherited }) };
    }),
  tell: tellEntities,
  remove: (app, caller, find) => removeEntities(app, caller, async () => [await find()]),
});

/** Makes an entity, or changes the one that is named; what is left out stays. */
export async function writeEntity(
  app: App,
  caller: Caller,
  input: SentEntity,
): Promise<DataResult<WrittenEntity> | NothingResult> {
  const { id = '', name, ...sent } = input;
  await refuseDenied(caller, pathsInBody(caller, 'entity', input));
  if (id !== '') return changeEntity(app, caller, input);
  checkName(name);
  return commitPlanned<DataResult<WrittenEntity> | NothingResult>(app, caller, async () => {
    const existing = name === '' ? undefined : await findEntityByName(app.db, name);
    if (existing) {
      await refuseDeniedNow(caller, otherPaths(caller, 'entity', existing));
      return { ...(await planChange(app, caller, existing, sent)), found: true };
    }
    const entity = planSettings(newEntity(app, name), sent);
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
  input: SentEntity,
): Promise<NothingResult> {
  await refuseDenied(caller, ownPaths(caller, 'entity', { name: input.name }));
  return changeEntity(app, caller, input);
}

async function changeEntity(
  app: App,
  caller: Caller,
  { id = '', name, ...sent }: SentEntity,
): Promise<NothingResult> {
  return commitPlanned(app, caller, async () => {
    const existing = await requireSent(entityStore, app, id);
    await refuseDeniedNow(caller, otherPaths(caller, 'entity', existing));
    checkName(name);
    if (name !== '') await requireFreeName(entityStore, app, { id, name });
    return planChange(app, caller, { ...existing, name: name || existing.name }, sent);
  });
}

async function planChange(
  app: App,
  caller: Caller,
  entity: Entity,
  sent: SentSettings,
): Promise<Planned<NothingResult>> {
  const next: Entity = { ...planSettings(entity, sent), updated_at_ms: app.now() };
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

/** Aliases that are told of at once, but for one entity that has more. */
const TOLD = 500;

/** What others say of aliases is told of each alone. */
async function tellEntities(app: App): Promise<Tell<Named, EntityInfo>> {
  const mounts = await readAliasMounts(app);
  return async function* (some) {
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
  };
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

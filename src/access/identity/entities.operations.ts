import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { Failure } from '../../core/failure.ts';
import { mergePatch } from '../../core/patches.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import { commitPlanned, type Planned } from '../standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../standing/operations.ts';
import { findAlias, findAliasById, listAliases } from './aliases.store.ts';
import { findEntityById, findEntityByName, insertEntity, updateEntity } from './entities.store.ts';
import {
  type Alias,
  type AliasAnswer,
  checkMetadata,
  checkName,
  describeAlias,
  describeEntity,
  type Entity,
  type EntityAnswer,
  type EntitySettings,
  requireIdentityPolicies,
  type WrittenEntity,
} from './entity.ts';
import { type Lookup, type LookupInput, parseLookup } from './lookup.ts';
import { requireFewPolicies, withGroupsOf } from './memberships.operations.ts';
import { findAliasMount, newEntity, pagesOf } from './operations.ts';
import { aliasPaths, LOOKED_UP, otherPaths, ownPaths, pathsInBody } from './own-paths.ts';

type SentSettings = { [Name in keyof EntitySettings]?: EntitySettings[Name] | undefined };

/** Makes an entity, or changes the one that is named; what is left out stays. */
export async function writeEntity(
  app: App,
  caller: Caller,
  input: { id: string; name: string } & SentSettings,
): Promise<DataResult<WrittenEntity> | NothingResult> {
  const { id, name, ...sent } = input;
  await refuseDenied(caller, pathsInBody(caller, 'entity', input));
  if (id !== '') return changeEntity(app, caller, input);
  checkName('name', name);
  return commitPlanned<DataResult<WrittenEntity> | NothingResult>(app, caller, async () => {
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
): Promise<NothingResult> {
  await refuseDenied(caller, ownPaths(caller, 'entity', { name: input.name }));
  return changeEntity(app, caller, input);
}

async function changeEntity(
  app: App,
  caller: Caller,
  input: { id: string; name: string } & SentSettings,
): Promise<NothingResult> {
  const { id, name, ...sent } = input;
  return commitPlanned<NothingResult>(app, caller, async () => {
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
): Promise<Planned<NothingResult>> {
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
): Promise<DataResult<EntityAnswer>> {
  return answerEntity(app, await findEntityById(app.db, input.id));
}

export async function readEntityByName(
  app: App,
  _caller: Caller,
  input: { name: string },
): Promise<DataResult<EntityAnswer>> {
  return answerEntity(app, await findEntityByName(app.db, input.name));
}

async function answerEntity(
  app: App,
  entity: Entity | undefined,
): Promise<DataResult<EntityAnswer>> {
  if (!entity) throw new Failure('not_found', '');
  const member = { id: entity.id, kind: 'entity' } as const;
  return withGroupsOf(app, member, async ({ direct, above: inherited }) => {
    const described = await describeAliases(app, await listAliases(app.db, entity.id));
    return { data: describeEntity(entity, described, { direct, inherited }) };
  });
}

async function describeAliases(app: App, aliases: readonly Alias[]) {
  const described: AliasAnswer[] = [];
  for (const alias of aliases) {
    described.push(describeAlias(alias, await findAliasMount(app, alias.mount_accessor)));
  }
  return described;
}

/** Finds an entity by one of the names it is known by; nothing found is an empty answer. */
export async function lookUpEntity(
  app: App,
  caller: Caller,
  input: LookupInput,
): Promise<DataResult<EntityAnswer> | NothingResult> {
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

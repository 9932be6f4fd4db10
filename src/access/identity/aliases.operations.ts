import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { Failure } from '../../core/failure.ts';
import { listTold } from '../../core/key-list.ts';
import { holdAccessor } from '../../mounts/store.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Effect, Write } from '../../store/write.ts';
import { removeLogInsAfterCommit } from '../leases/ended-tokens.operations.ts';
import { type Beforehand, commitPlanned, type Planned } from '../standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../standing/operations.ts';
import {
  ALIAS_TAKEN,
  type AliasKey,
  findAlias,
  findAliasById,
  hasOtherAlias,
  holdAlias,
  insertAlias,
  listAliasesById,
  listAliasKeys,
  takeAliases,
  updateAlias,
} from './aliases.store.ts';
import { findEntityById, holdEntity, insertEntity } from './entities.store.ts';
import {
  type Alias,
  type AliasAnswer,
  checkMetadata,
  describeAlias,
  type Entity,
  isSameAlias,
  type Told,
  type WrittenAlias,
} from './entity.ts';
import {
  endLogInsBeforehand,
  findAliasMount,
  newEntity,
  planAliasChange,
  planAliasRemoval,
  readAliasMounts,
} from './operations.ts';
import { aliasPaths, CONCERNED, FOUND_ALIAS, NAMED_ALIAS, ownPaths } from './own-paths.ts';

interface SentAlias {
  id: string;
  name: string;
  mount_accessor: string;
  canonical_id: string;
  custom_metadata?: Record<string, string> | undefined;
}

/** Makes an alias, or changes the one that its id, or its name on its mount, stands for. */
export async function writeAlias(
  app: App,
  caller: Caller,
  input: SentAlias,
): Promise<DataResult<WrittenAlias>> {
  if (input.custom_metadata) checkMetadata('custom_metadata', input.custom_metadata);
  const { id, canonical_id } = input;
  await refuseDenied(caller, [
    ...aliasPaths(caller, 'entity-alias', id, NAMED_ALIAS),
    ...ownPaths(caller, 'entity', { id: canonical_id }, CONCERNED),
  ]);
  const answer = await commitPlanned<DataResult<WrittenAlias>>(app, caller, async () => {
    const existing = await findExisting(app, input);
    if (existing && id === '') {
      await refuseDeniedNow(caller, aliasPaths(caller, 'entity-alias', existing.id, FOUND_ALIAS));
    }
    const entity = await findOwner(app, input);
    const held = await refuseDeniedOwners(app, caller, [existing?.entity_id, entity?.id]);
    const plan = existing
      ? await planChange(app, caller, input, existing, entity)
      : await planNew(app, input, entity);
    return { ...plan, effects: [...held, ...plan.effects], found: existing !== undefined };
  });
  await removeLogInsAfterCommit(app, caller);
  return answer;
}

/**
 * Whoever has an alias, whatever is done to it, and whoever gets it: by an alias somebody is logged in.
 *
 * @returns what refuses the write set once they are called otherwise than they were judged by
 */
async function refuseDeniedOwners(
  app: App,
  caller: Caller,
  ids: readonly (string | undefined)[],
): Promise<Write[]> {
  const held: Write[] = [];
  for (const id of new Set(ids)) {
    if (id === undefined) continue;
    const entity = await findEntityById(app.db, id);
    await refuseDeniedNow(caller, ownPaths(caller, 'entity', entity ?? { id }, CONCERNED));
    if (entity) held.push(holdEntity(entity));
  }
  return held;
}

async function planChange(
  app: App,
  caller: Caller,
  input: SentAlias,
  existing: Alias,
  entity: Entity | undefined,
): Promise<Planned<DataResult<WrittenAlias>>> {
  const changed: Alias = {
    ...existing,
    name: input.name || existing.name,
    mount_accessor: await requireAccessor(app, input.mount_accessor || existing.mount_accessor),
    entity_id: entity?.id ?? existing.entity_id,
    custom_metadata: input.custom_metadata ?? existing.custom_metadata,
    updated_at_ms: app.now(),
  };
  // Whoever came by it before is not known by it again, also when all of that is undone.
  const next = isSameAlias(existing, changed) ? changed : { ...changed, moves: existing.moves + 1 };
  const ended = await planAliasChange(app, existing, next);
  const writes = [...ended, updateAlias(next, existing)];
  const plan = await planAlias(app, next, writes, existing.entity_id);
  if (ended.length === 0) return plan;
  const { id } = existing;
  return {
    ...plan,
    beforehand: endingOf(app, caller, id, [holdAlias(existing)]),
  };
}

/** Log-ins by an alias end with it, or before somebody else is called by it. */
function endingOf(app: App, caller: Caller, id: string, held: readonly Write[]): Beforehand {
  return {
    of: `alias ${id}`,
    end: () => endLogInsBeforehand(app, caller, { id }, held),
  };
}

async function planNew(
  app: App,
  input: SentAlias,
  entity: Entity | undefined,
): Promise<Planned<DataResult<WrittenAlias>>> {
  if (input.name === '') throw new Failure('invalid', 'missing alias name: name is needed');
  const mount_accessor = await requireAccessor(app, input.mount_accessor);
  const owner = entity ?? newEntity(app, { metadata: {}, policies: [], disabled: false });
  const now = app.now();
  const alias: Alias = {
    id: app.newId(),
    entity_id: owner.id,
    mount_accessor,
    name: input.name,
    custom_metadata: input.custom_metadata ?? {},
    moves: 0,
    created_at_ms: now,
    updated_at_ms: now,
  };
  return planAlias(app, alias, [...(entity ? [] : [insertEntity(owner)]), insertAlias(alias)]);
}

async function planAlias(
  app: App,
  alias: Alias,
  writes: readonly Effect[],
  /** The entity that has it so far. */
  before?: string,
): Promise<Planned<DataResult<WrittenAlias>>> {
  const { id, entity_id, mount_accessor } = alias;
  const namesake = await findAlias(app.db, mount_accessor, alias.name);
  const isTaken = namesake !== undefined && namesake.id !== id;
  if (isTaken || (await hasOtherAlias(app.db, alias))) throw new Failure('conflict', ALIAS_TAKEN);
  return {
    effects: [holdAccessor({ mount_accessor }), ...writes, ...bumpPermissionVersion()],
    result: { data: { id, canonical_id: entity_id } },
    outcome: {
      alias_id: id,
      entity_id,
      ...(before !== undefined && before !== entity_id && { taken_from_entity_id: before }),
    },
  };
}

async function findExisting(app: App, input: SentAlias): Promise<Alias | undefined> {
  if (input.id === '') return findAlias(app.db, input.mount_accessor, input.name);
  const alias = await findAliasById(app.db, input.id);
  if (!alias) throw new Failure('invalid', `id: there is no alias "${input.id}"`);
  return alias;
}

async function findOwner(app: App, input: SentAlias): Promise<Entity | undefined> {
  if (input.canonical_id === '') return undefined;
  const entity = await findEntityById(app.db, input.canonical_id);
  if (!entity) {
    throw new Failure('invalid', `canonical_id: there is no entity "${input.canonical_id}"`);
  }
  return entity;
}

/** @throws Failure `invalid` unless it is that of a mounted way to log in */
export async function requireAccessor(app: App, accessor: string): Promise<string> {
  if (accessor === '') throw new Failure('invalid', 'missing mount_accessor');
  if (await findAliasMount(app, accessor)) return accessor;
  throw new Failure(
    'invalid',
    `invalid mount accessor "${accessor}": mount_accessor is that of an auth method in sys/auth`,
  );
}

export async function readAlias(
  app: App,
  _caller: Caller,
  input: { id: string },
): Promise<DataResult<AliasAnswer & { namespace_id: string }>> {
  const alias = await findAliasById(app.db, input.id);
  if (!alias) throw new Failure('not_found', '');
  const mount = await findAliasMount(app, alias.mount_accessor);
  return { data: { ...describeAlias(alias, mount), namespace_id: 'root' } };
}

export async function removeAlias(
  app: App,
  caller: Caller,
  input: { id: string },
): Promise<NothingResult> {
  const { id } = input;
  const answer = await commitPlanned<NothingResult>(app, caller, async () => {
    const alias = await findAliasById(app.db, id);
    if (!alias) return { effects: [], result: {} };
    const owner = await refuseDeniedOwners(app, caller, [alias.entity_id]);
    const held = [...owner, takeAliases({ id }), holdAlias(alias)];
    return {
      effects: [...held, ...(await planAliasRemoval(app, { id })), ...bumpPermissionVersion()],
      result: {},
      beforehand: endingOf(app, caller, id, held),
    };
  });
  await removeLogInsAfterCommit(app, caller);
  return answer;
}

/** Aliases that are told of at once: each may have 40 KiB of what others say of it. */
const TOLD = 10;

export async function listAliasIds(app: App): Promise<DataResult<Told<AliasAnswer>>> {
  const mounts = await readAliasMounts(app);
  const read = (last: AliasKey | undefined): Promise<AliasKey[]> => listAliasKeys(app.db, last);
  return listTold({ read, keyOf: ({ id }) => id }, async function* (some) {
    for (let at = 0; at < some.length; at += TOLD) {
      const ids = some.slice(at, at + TOLD).map(({ id }) => id);
      const found = new Map((await listAliasesById(app.db, ids)).map((one) => [one.id, one]));
      const aliases = ids.flatMap((id) => found.get(id) ?? []);
      yield Object.fromEntries(
        aliases.map((alias) => [alias.id, describeAlias(alias, mounts.get(alias.mount_accessor))]),
      );
    }
  });
}

import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure, invalid } from '../../core/failure.ts';
import type { Effect, Write } from '../../store/write.ts';
import { removeLogInsAfterCommit } from '../leases/ended-tokens.operations.ts';
import type { Beforehand } from '../standing/attempts.operations.ts';
import { aliasOperations, requireAccessor, type SentAlias } from './alias-records.operations.ts';
import {
  ALIAS_TAKEN,
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
import { entityStore, findEntityById, insertEntity } from './entities.store.ts';
import { type Alias, describeAlias, isSameAlias } from './entity.ts';
import {
  endLogInsBeforehand,
  newAlias,
  newEntity,
  planAliasChange,
  planAliasRemoval,
} from './operations.ts';
import { checkMetadata } from './record.ts';

interface SentEntityAlias extends SentAlias {
  custom_metadata?: Record<string, string> | undefined;
}

export const entityAliases = aliasOperations({
  what: 'alias',
  owners: entityStore,
  ownerOf: ({ entity_id }) => entity_id,
  find: findAlias,
  findById: findAliasById,
  listKeys: listAliasKeys,
  listById: listAliasesById,
  describe: (alias, mount) => ({ ...describeAlias(alias, mount), namespace_id: 'root' }),
  tell: describeAlias,
  // Each may have 40 KiB of what others say of it.
  told_at_once: 10,
  check({ custom_metadata }: SentEntityAlias) {
    if (custom_metadata) checkMetadata('custom_metadata', custom_metadata);
  },
  async requireOwner(app, id) {
    if (id === '' || (await findEntityById(app.db, id))) return;
    throw invalid(`canonical_id: there is no entity "${id}"`);
  },
  async plan(app, caller, input, existing) {
    const plan = existing
      ? await planChange(app, caller, input, existing)
      : await planNew(app, input);
    const { id, mount_accessor, name } = plan.alias;
    const namesake = await findAlias(app.db, mount_accessor, name);
    const isTaken = namesake !== undefined && namesake.id !== id;
    if (isTaken || (await hasOtherAlias(app.db, plan.alias))) {
      throw new Failure('conflict', ALIAS_TAKEN);
    }
    return plan;
  },
  async planRemoval(app, caller, alias, owner) {
    const { id } = alias;
    const held = [...owner, takeAliases({ id }), holdAlias(alias)];
    const effects = [...held, ...(await planAliasRemoval(app, { id }))];
    return { effects, beforehand: endingOf(app, caller, id, held) };
  },
  after: removeLogInsAfterCommit,
});

async function planChange(app: App, caller: Caller, input: SentEntityAlias, existing: Alias) {
  const changed: Alias = {
    ...existing,
    name: input.name || existing.name,
    mount_accessor: await requireAccessor(app, input.mount_accessor || existing.mount_accessor),
    entity_id: input.canonical_id || existing.entity_id,
    custom_metadata: input.custom_metadata ?? existing.custom_metadata,
    updated_at_ms: app.now(),
  };
  // Whoever came by it before is not known by it again, also when all of that is undone.
  const alias = isSameAlias(existing, changed)
    ? changed
    : { ...changed, moves: existing.moves + 1 };
  const ended = await planAliasChange(app, existing, alias);
  return {
    alias,
    effects: [...ended, updateAlias(alias, existing)],
    beforehand:
      ended.length === 0 ? undefined : endingOf(app, caller, alias.id, [holdAlias(existing)]),
  };
}

/** Log-ins by an alias end with it, or before somebody else is called by it. */
function endingOf(app: App, caller: Caller, id: string, held: readonly Write[]): Beforehand {
  return {
    of: `alias ${id}`,
    end: () => endLogInsBeforehand(app, caller, { id }, held),
  };
}

async function planNew(app: App, input: SentEntityAlias) {
  const { name, canonical_id, custom_metadata = {} } = input;
  if (name === '') throw invalid('missing alias name: name is needed');
  const mount_accessor = await requireAccessor(app, input.mount_accessor);
  const made = canonical_id === '' ? newEntity(app) : undefined;
  const entity_id = made?.id ?? canonical_id;
  const alias = newAlias(app, { entity_id, mount_accessor, name, custom_metadata });
  const effects: Effect[] = [...(made ? [insertEntity(made)] : []), insertAlias(alias)];
  return { alias, effects, beforehand: undefined };
}

import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { Failure } from '../../core/failure.ts';
import { listTold } from '../../core/key-list.ts';
import { holdAccessor } from '../../mounts/store.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Write } from '../../store/write.ts';
import { commitPlanned } from '../standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../standing/operations.ts';
import { requireAccessor } from './aliases.operations.ts';
import { type Told, timeOf, type WrittenAlias } from './entity.ts';
import type { GroupAlias, GroupAliasAnswer } from './group.ts';
import {
  deleteGroupAlias,
  findAliasOfGroup,
  findGroupAlias,
  findGroupAliasById,
  GROUP_ALIAS_TAKEN,
  listGroupAliasesById,
  listGroupAliasKeys,
  saveGroupAlias,
} from './group-aliases.store.ts';
import { findGroupById, holdGroup } from './groups.store.ts';
import { findAliasMount } from './operations.ts';
import { aliasPaths, CONCERNED, FOUND_ALIAS, NAMED_ALIAS, ownPaths } from './own-paths.ts';

interface SentGroupAlias {
  id: string;
  name: string;
  mount_accessor: string;
  canonical_id: string;
}

/** Makes an alias of an external group, or changes one. */
export async function writeGroupAlias(
  app: App,
  caller: Caller,
  input: SentGroupAlias,
): Promise<DataResult<WrittenAlias>> {
  const { id, canonical_id } = input;
  await refuseDenied(caller, [
    ...aliasPaths(caller, 'group-alias', id, NAMED_ALIAS),
    ...ownPaths(caller, 'group', { id: canonical_id }, CONCERNED),
  ]);
  return commitPlanned<DataResult<WrittenAlias>>(app, caller, async () => {
    const existing = await findExisting(app, input);
    if (existing && id === '') {
      await refuseDeniedNow(caller, aliasPaths(caller, 'group-alias', existing.id, FOUND_ALIAS));
    }
    const owners = [existing?.group_id, canonical_id || undefined];
    const held = await refuseDeniedOwners(app, caller, owners);
    const alias = await planGroupAlias(app, input, existing);
    return {
      effects: [
        ...held,
        holdAccessor({ mount_accessor: alias.mount_accessor }),
        saveGroupAlias(alias, existing),
        ...bumpPermissionVersion(),
      ],
      result: { data: { id: alias.id, canonical_id: alias.group_id } },
      outcome: {
        alias_id: alias.id,
        group_id: alias.group_id,
        ...(existing &&
          existing.group_id !== alias.group_id && { taken_from_group_id: existing.group_id }),
      },
      found: existing !== undefined,
    };
  });
}

/**
 * Whichever group has an alias, whatever is done to it, and whichever gets it.
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
    const group = await findGroupById(app.db, id);
    await refuseDeniedNow(caller, ownPaths(caller, 'group', group ?? { id }, CONCERNED));
    if (group) held.push(holdGroup(group));
  }
  return held;
}

async function findExisting(app: App, input: SentGroupAlias): Promise<GroupAlias | undefined> {
  if (input.id === '') return findGroupAlias(app.db, input.mount_accessor, input.name);
  const alias = await findGroupAliasById(app.db, input.id);
  if (!alias) throw new Failure('invalid', `id: there is no group alias "${input.id}"`);
  return alias;
}

async function planGroupAlias(
  app: App,
  input: SentGroupAlias,
  existing: GroupAlias | undefined,
): Promise<GroupAlias> {
  const name = input.name || existing?.name;
  if (!name) throw new Failure('invalid', 'missing alias name: name is needed');
  const group_id = input.canonical_id || (existing?.group_id ?? '');
  const group = await findGroupById(app.db, group_id);
  if (!group) throw new Failure('invalid', `canonical_id: there is no group "${group_id}"`);
  if (group.type !== 'external') {
    throw new Failure('invalid', 'alias can be set only for external groups');
  }
  const now = app.now();
  const accessor = input.mount_accessor || (existing?.mount_accessor ?? '');
  const alias: GroupAlias = {
    id: existing?.id ?? app.newId(),
    group_id,
    mount_accessor: await requireAccessor(app, accessor),
    name,
    created_at_ms: existing?.created_at_ms ?? now,
    updated_at_ms: now,
  };
  await requireFree(app, alias);
  return alias;
}

async function requireFree(app: App, { id, group_id, mount_accessor, name }: GroupAlias) {
  const others = [
    await findAliasOfGroup(app.db, group_id),
    await findGroupAlias(app.db, mount_accessor, name),
  ];
  if (others.every((other) => !other || other.id === id)) return;
  throw new Failure('conflict', GROUP_ALIAS_TAKEN);
}

export async function describeGroupAlias(app: App, alias: GroupAlias): Promise<GroupAliasAnswer> {
  const mount = await findAliasMount(app, alias.mount_accessor);
  return {
    canonical_id: alias.group_id,
    creation_time: timeOf(alias.created_at_ms),
    id: alias.id,
    last_update_time: timeOf(alias.updated_at_ms),
    merged_from_canonical_ids: null,
    metadata: null,
    mount_accessor: alias.mount_accessor,
    mount_path: mount?.path ?? '',
    mount_type: mount?.type ?? '',
    name: alias.name,
  };
}

export async function readGroupAlias(
  app: App,
  _caller: Caller,
  input: { id: string },
): Promise<DataResult<GroupAliasAnswer>> {
  const alias = await findGroupAliasById(app.db, input.id);
  if (!alias) throw new Failure('not_found', '');
  return { data: await describeGroupAlias(app, alias) };
}

export async function removeGroupAlias(
  app: App,
  caller: Caller,
  input: { id: string },
): Promise<NothingResult> {
  return commitPlanned<NothingResult>(app, caller, async () => {
    const alias = await findGroupAliasById(app.db, input.id);
    if (!alias) return { effects: [], result: {} };
    const held = await refuseDeniedOwners(app, caller, [alias.group_id]);
    return {
      effects: [...held, deleteGroupAlias(alias), ...bumpPermissionVersion()],
      result: {},
    };
  });
}

/** Ids of all aliases of groups, with what is told of each. */
export async function listGroupAliasIds(app: App): Promise<DataResult<Told<GroupAliasAnswer>>> {
  const read = (last: { id: string } | undefined) => listGroupAliasKeys(app.db, last);
  return listTold({ read, keyOf: ({ id }) => id }, async function* (some) {
    const ids = some.map(({ id }) => id);
    const told: Record<string, GroupAliasAnswer> = {};
    for (const alias of await listGroupAliasesById(app.db, ids)) {
      told[alias.id] = await describeGroupAlias(app, alias);
    }
    yield told;
  });
}

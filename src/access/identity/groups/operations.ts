import type { App } from '../../../app.ts';
import { Failure } from '../../../core/failure.ts';
import { mergePatch } from '../../../core/fields.ts';
import type { Answer } from '../../../http/route.ts';
import { holdAccessor } from '../../../mounts/store.ts';
import { bumpPermissionVersion } from '../../../store/permission-version.ts';
import type { Effect } from '../../../store/write.ts';
import type { Caller } from '../../caller.ts';
import { requireAccessor } from '../aliases/operations.ts';
import { checkMetadata, checkName, requireIdentityPolicies, timeOf } from '../entity.ts';
import {
  checkMemberGroups,
  describeGroup,
  type Group,
  type GroupAlias,
  type GroupSettings,
} from '../group.ts';
import { type Lookup, type LookupInput, parseLookup } from '../lookup.ts';
import { findAliasMount, randomName, readGroupTree, requireFewPolicies } from '../operations.ts';
import {
  countEntityMembers,
  deleteGroup,
  deleteGroupAlias,
  deleteMemberships,
  findAliasOfGroup,
  findEntityById,
  findGroupAlias,
  findGroupAliasById,
  findGroupById,
  findGroupByName,
  insertGroup,
  listGroupAliases,
  listGroupNames,
  listGroupsOf,
  listMembers,
  replaceMembers,
  saveGroupAlias,
  updateGroup,
} from '../store.ts';

interface SentGroup {
  id: string;
  name: string;
  type?: GroupSettings['type'] | undefined;
  metadata?: Record<string, string> | undefined;
  policies?: string[] | undefined;
  member_entity_ids?: string[] | undefined;
  member_group_ids?: string[] | undefined;
}

/** Makes a group, or changes the one that is named; what is left out stays. */
export async function writeGroup(app: App, caller: Caller, input: SentGroup): Promise<Answer> {
  checkName('name', input.name);
  const existing = await findExisting(app, input);
  const now = app.now();
  const base: Group = existing ?? {
    id: app.newId(),
    name: input.name || randomName(app, 'group'),
    type: 'internal',
    metadata: {},
    policies: [],
    version: 1,
    created_at_ms: now,
    updated_at_ms: now,
  };
  if (existing && input.type !== undefined && input.type !== existing.type) {
    throw new Failure('invalid', 'group type cannot be changed');
  }
  const { type, metadata, policies } = mergePatch<GroupSettings>(base, {
    type: input.type,
    metadata: input.metadata,
    policies: input.policies,
  });
  checkMetadata('metadata', metadata);
  const group: Group = {
    ...base,
    name: input.name || base.name,
    type,
    metadata,
    policies: requireIdentityPolicies(policies),
    updated_at_ms: now,
  };
  await requireFewPolicies(app, group, await listGroupsOf(app.db, 'group', group.id));
  await app.commit(caller, [
    existing ? updateGroup(group) : insertGroup(group),
    ...(await planMembers(app, group, input)),
    ...bumpPermissionVersion(),
  ]);
  return { data: { id: group.id, name: group.name } };
}

async function findExisting(app: App, input: SentGroup): Promise<Group | undefined> {
  if (input.id === '') {
    return input.name === '' ? undefined : findGroupByName(app.db, input.name);
  }
  const group = await findGroupById(app.db, input.id);
  if (!group) throw new Failure('invalid', `id: there is no group "${input.id}"`);
  return group;
}

async function planMembers(app: App, group: Group, input: SentGroup): Promise<Effect[]> {
  const { member_entity_ids: entities, member_group_ids: groups } = input;
  if (group.type === 'external' && (entities?.length || groups?.length)) {
    throw new Failure(
      'invalid',
      "member_entity_ids and member_group_ids can't be set manually for external groups",
    );
  }
  for (const id of entities ?? []) {
    if (!(await findEntityById(app.db, id))) {
      throw new Failure('invalid', `member_entity_ids: there is no entity "${id}"`);
    }
  }
  if (groups) checkMemberGroups(await readGroupTree(app), group.id, groups);
  return [
    ...(entities ? replaceMembers(group.id, 'entity', entities) : []),
    ...(groups ? replaceMembers(group.id, 'group', groups) : []),
  ];
}

export async function readGroupById(
  app: App,
  _caller: Caller,
  input: { id: string },
): Promise<Answer> {
  return answerGroup(app, await findGroupById(app.db, input.id));
}

export async function readGroupByName(
  app: App,
  _caller: Caller,
  input: { name: string },
): Promise<Answer> {
  return answerGroup(app, await findGroupByName(app.db, input.name));
}

async function answerGroup(app: App, group: Group | undefined): Promise<Answer> {
  if (!group) throw new Failure('not_found', '');
  const alias = await findAliasOfGroup(app.db, group.id);
  return {
    data: describeGroup(group, {
      alias: alias && (await describeGroupAlias(app, alias)),
      member_entity_ids: await listMembers(app.db, group.id, 'entity'),
      member_group_ids: await listMembers(app.db, group.id, 'group'),
      parent_group_ids: await listGroupsOf(app.db, 'group', group.id),
    }),
  };
}

export async function removeGroupById(
  app: App,
  caller: Caller,
  input: { id: string },
): Promise<Answer> {
  return removeGroup(app, caller, await findGroupById(app.db, input.id));
}

export async function removeGroupByName(
  app: App,
  caller: Caller,
  input: { name: string },
): Promise<Answer> {
  return removeGroup(app, caller, await findGroupByName(app.db, input.name));
}

async function removeGroup(app: App, caller: Caller, group: Group | undefined): Promise<Answer> {
  if (!group) return {};
  await app.commit(caller, [
    deleteGroup(group.id),
    deleteMemberships('group', group.id),
    ...bumpPermissionVersion(),
  ]);
  return {};
}

export async function listGroupIds(app: App): Promise<Answer> {
  const groups = await listGroupNames(app.db);
  if (groups.length === 0) throw new Failure('not_found', '');
  const ids = groups.map(({ id }) => id);
  const tree = await readGroupTree(app);
  const members = await countEntityMembers(app.db, ids);
  const key_info: Record<string, unknown> = {};
  for (const { id, name } of groups) {
    key_info[id] = {
      name,
      num_member_entities: members.get(id) ?? 0,
      num_parent_groups: tree.parents.get(id)?.length ?? 0,
    };
  }
  return { data: { keys: ids, key_info } };
}

export async function listNamesOfGroups(app: App): Promise<Answer> {
  const groups = await listGroupNames(app.db);
  if (groups.length === 0) throw new Failure('not_found', '');
  return { data: { keys: groups.map(({ name }) => name) } };
}

/** Finds a group by one of the things it is known by; nothing found is an empty answer. */
export async function lookUpGroup(app: App, _caller: Caller, input: LookupInput): Promise<Answer> {
  const group = await findLookedUp(app, parseLookup(input));
  return group ? answerGroup(app, group) : {};
}

async function findLookedUp(app: App, lookup: Lookup): Promise<Group | undefined> {
  if (lookup.by === 'id') return findGroupById(app.db, lookup.id);
  if (lookup.by === 'name') return findGroupByName(app.db, lookup.name);
  const alias =
    lookup.by === 'alias'
      ? await findGroupAlias(app.db, lookup.alias_mount_accessor, lookup.alias_name)
      : await findGroupAliasById(app.db, lookup.alias_id);
  return alias && findGroupById(app.db, alias.group_id);
}

/** Makes an alias of an external group, or changes one. */
export async function writeGroupAlias(
  app: App,
  caller: Caller,
  input: { id: string; name: string; mount_accessor: string; canonical_id: string },
): Promise<Answer> {
  const existing =
    input.id === ''
      ? await findGroupAlias(app.db, input.mount_accessor, input.name)
      : await findGroupAliasById(app.db, input.id);
  if (!existing && input.id !== '') {
    throw new Failure('invalid', `id: there is no group alias "${input.id}"`);
  }
  const name = input.name || existing?.name;
  if (!name) throw new Failure('invalid', 'missing alias name: name is needed');
  const group_id = input.canonical_id || (existing?.group_id ?? '');
  const group = await findGroupById(app.db, group_id);
  if (!group) throw new Failure('invalid', `canonical_id: there is no group "${group_id}"`);
  if (group.type !== 'external') {
    throw new Failure('invalid', 'alias can be set only for external groups');
  }
  const now = app.now();
  const alias: GroupAlias = {
    id: existing?.id ?? app.newId(),
    group_id,
    mount_accessor: await requireAccessor(
      app,
      input.mount_accessor || (existing?.mount_accessor ?? ''),
    ),
    name,
    created_at_ms: existing?.created_at_ms ?? now,
    updated_at_ms: now,
  };
  await app.commit(caller, [
    holdAccessor({ mount_accessor: alias.mount_accessor }),
    saveGroupAlias(alias),
    ...bumpPermissionVersion(),
  ]);
  return { data: { id: alias.id, canonical_id: group_id } };
}

async function describeGroupAlias(app: App, alias: GroupAlias): Promise<Record<string, unknown>> {
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
): Promise<Answer> {
  const alias = await findGroupAliasById(app.db, input.id);
  if (!alias) throw new Failure('not_found', '');
  return { data: await describeGroupAlias(app, alias) };
}

export async function removeGroupAlias(
  app: App,
  caller: Caller,
  input: { id: string },
): Promise<Answer> {
  await app.commit(caller, [deleteGroupAlias(input.id), ...bumpPermissionVersion()]);
  return {};
}

export async function listGroupAliasIds(app: App): Promise<Answer> {
  const aliases = await listGroupAliases(app.db);
  if (aliases.length === 0) throw new Failure('not_found', '');
  const key_info: Record<string, unknown> = {};
  for (const alias of aliases) key_info[alias.id] = await describeGroupAlias(app, alias);
  return { data: { keys: aliases.map(({ id }) => id), key_info } };
}

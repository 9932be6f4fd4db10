import type { App } from '../../../app.ts';
import { Failure } from '../../../core/failure.ts';
import { mergePatch } from '../../../core/fields.ts';
import type { Answer } from '../../../http/route.ts';
import { bumpPermissionVersion } from '../../../store/permission-version.ts';
import type { Effect } from '../../../store/write.ts';
import type { Caller } from '../../caller.ts';
import { commitPlanned, refuseDenied } from '../../standing/operations.ts';
import { checkMetadata, checkName, namePath, requireIdentityPolicies } from '../entity.ts';
import { checkMemberGroups, describeGroup, type Group, type GroupSettings } from '../group.ts';
import { describeGroupAlias } from '../group-aliases/operations.ts';
import { type Lookup, type LookupInput, parseLookup } from '../lookup.ts';
import { randomName, readGroupTree, requireFewPolicies } from '../operations.ts';
import {
  countEntityMembers,
  deleteGroup,
  deleteMemberships,
  findAliasOfGroup,
  findEntityById,
  findGroupAlias,
  findGroupAliasById,
  findGroupById,
  findGroupByName,
  holdAcyclic,
  insertGroup,
  listGroupNames,
  listGroupsOf,
  listMembers,
  replaceMembers,
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
  const { id, name } = input;
  if (id !== '') refuseDenied(caller, [{ path: `${caller.mount.path}group/id/${id}` }]);
  else if (name !== '') refuseDenied(caller, [namePath(caller, 'group', name)]);
  return commitPlanned<Answer>(app, caller, async () => {
    // What is above the group, and in it, is looked up among what is cached.
    await app.store.refreshConfig();
    const existing = await findExisting(app, input);
    const group = planGroup(app, existing, input);
    await requireFreeName(app, group);
    await requireFewPolicies(app, group, await listGroupsOf(app.db, 'group', group.id));
    const nests = (input.member_group_ids ?? []).length > 0;
    return {
      effects: [
        existing ? updateGroup(group) : insertGroup(group),
        ...(await planMembers(app, group, input)),
        ...bumpPermissionVersion(),
        ...(nests ? [holdAcyclic({ id: group.id })] : []),
      ],
      result: { data: { id: group.id, name: group.name } },
      found: existing !== undefined,
    };
  });
}

function planGroup(app: App, existing: Group | undefined, input: SentGroup): Group {
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
  return {
    ...base,
    name: input.name || base.name,
    type,
    metadata,
    policies: requireIdentityPolicies(policies),
    updated_at_ms: now,
  };
}

async function requireFreeName(app: App, { id, name }: Group): Promise<void> {
  const other = await findGroupByName(app.db, name);
  if (!other || other.id === id) return;
  throw new Failure('conflict', `group name is already in use: ${name}`);
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
  return removeGroup(app, caller, () => findGroupById(app.db, input.id));
}

export async function removeGroupByName(
  app: App,
  caller: Caller,
  input: { name: string },
): Promise<Answer> {
  return removeGroup(app, caller, () => findGroupByName(app.db, input.name));
}

async function removeGroup(
  app: App,
  caller: Caller,
  find: () => Promise<Group | undefined>,
): Promise<Answer> {
  return commitPlanned<Answer>(app, caller, async () => {
    const group = await find();
    if (!group) return { effects: [], result: {} };
    return {
      effects: [
        deleteGroup(group),
        deleteMemberships('group', group.id),
        ...bumpPermissionVersion(),
      ],
      result: {},
    };
  });
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

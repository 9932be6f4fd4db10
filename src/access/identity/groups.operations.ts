import type { z } from 'zod';
import type { OwnPath } from '../../acl/name-form.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { Failure } from '../../core/failure.ts';
import { listThings, listTold } from '../../core/key-list.ts';
import { mergePatch } from '../../core/patches.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import { commitInTurn, commitPlanned, type Planned } from '../standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../standing/operations.ts';
import {
  checkMetadata,
  checkName,
  type namesSchema,
  requireIdentityPolicies,
  type Told,
} from './entity.ts';
import {
  describeGroup,
  type Group,
  type GroupAnswer,
  type GroupInfo,
  type GroupSettings,
  type WrittenGroup,
} from './group.ts';
import { describeGroupAlias } from './group-aliases.operations.ts';
import { findAliasOfGroup, findGroupAlias, findGroupAliasById } from './group-aliases.store.ts';
import { planMembers, type SentMembers } from './group-members.operations.ts';
import {
  deleteGroup,
  findGroupById,
  findGroupByName,
  insertGroup,
  listGroupNames,
  measureGroup,
  updateGroup,
} from './groups.store.ts';
import { type Lookup, type LookupInput, parseLookup } from './lookup.ts';
import { requireFewPolicies, withMemberships } from './memberships.operations.ts';
import {
  countEntityMembers,
  countMembers,
  countParents,
  deleteMemberships,
} from './memberships.store.ts';
import { requireFewBeneath } from './memberships-beneath.operations.ts';
import type { Named } from './names.store.ts';
import { randomName } from './operations.ts';
import { aliasPaths, JOINED, LOOKED_UP, otherPaths, ownPaths, pathsInBody } from './own-paths.ts';

interface SentGroup extends SentMembers {
  id: string;
  name: string;
  type?: GroupSettings['type'] | undefined;
  metadata?: Record<string, string> | undefined;
  policies?: string[] | undefined;
}

/** Makes a group, or changes the one that is named; what is left out stays. */
export async function writeGroup(
  app: App,
  caller: Caller,
  input: SentGroup,
): Promise<DataResult<WrittenGroup>> {
  checkName('name', input.name);
  await refuseDenied(caller, listNamed(caller, input));
  const plan = async (): Promise<Planned<DataResult<WrittenGroup>>> => {
    // What is above the group, and in it, is looked up among what is cached.
    await app.store.refreshConfig();
    const existing = await findExisting(app, input);
    if (existing) await refuseDeniedNow(caller, otherPaths(caller, 'group', existing));
    const group = planGroup(app, existing, input);
    await requireFreeName(app, group);
    const given = await requireFewPolicies(app, group, 'group');
    const members = await planMembers(app, caller, group, input);
    await requireFewBeneath(app, {
      ...{ group, given },
      gives_more: !new Set(group.policies).isSubsetOf(new Set(existing?.policies)),
      members: { entity: input.member_entity_ids, group: input.member_group_ids },
    });
    return {
      effects: [
        existing ? updateGroup(group) : insertGroup(group),
        ...members.effects,
        ...bumpPermissionVersion(),
        ...members.holds,
      ],
      result: { data: { id: group.id, name: group.name } },
      outcome: { group_id: group.id },
      found: existing !== undefined,
    };
  };
  const { key, bytes } = await measureChange(app, input);
  return commitInTurn(app, caller, plan, { key, changes: true, bytes });
}

/** What a member takes, one that is there or is to be: all that come or leave are judged by their paths. */
const BYTES_EACH = 400;
/** More are not counted: they are large, however many there are. */
const MOST_COUNTED = 500;

/** How much a change of a group holds at most, which group that is, or is to be. */
async function measureChange(
  app: App,
  { id, name, member_entity_ids, member_group_ids }: SentGroup,
): Promise<{ key: string; bytes: number }> {
  const group = await measureGroup(app.db, id === '' ? { name } : { id });
  const sent = (member_entity_ids?.length ?? 0) + (member_group_ids?.length ?? 0);
  const isOfMembers = member_entity_ids !== undefined || member_group_ids !== undefined;
  const most = MOST_COUNTED;
  const present =
    group && isOfMembers ? await countMembers(app.db, { group_id: group.id }, most) : 0;
  return {
    key: group ? `group ${group.id}` : `group named ${name}`,
    bytes: (group?.bytes ?? 0) + (sent + present) * BYTES_EACH,
  };
}

/** Paths of the group and of its members, as far as the request says them. */
function listNamed(caller: Caller, input: SentGroup): OwnPath[] {
  const { member_entity_ids: entities = [], member_group_ids: groups = [] } = input;
  return [
    ...pathsInBody(caller, 'group', input),
    ...entities.flatMap((id) => ownPaths(caller, 'entity', { id }, JOINED)),
    ...groups.flatMap((id) => ownPaths(caller, 'group', { id }, JOINED)),
  ];
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

export async function readGroupById(
  app: App,
  _caller: Caller,
  input: { id: string },
): Promise<DataResult<GroupAnswer>> {
  return answerGroup(app, await findGroupById(app.db, input.id));
}

export async function readGroupByName(
  app: App,
  _caller: Caller,
  input: { name: string },
): Promise<DataResult<GroupAnswer>> {
  return answerGroup(app, await findGroupByName(app.db, input.name));
}

async function answerGroup(app: App, group: Group | undefined): Promise<DataResult<GroupAnswer>> {
  if (!group) throw new Failure('not_found', '');
  const alias = await findAliasOfGroup(app.db, group.id);
  const described = alias && (await describeGroupAlias(app, alias));
  return withMemberships(app, group.id, ({ entities, groups, parents }) => ({
    data: describeGroup(group, {
      alias: described,
      member_entity_ids: entities,
      member_group_ids: groups,
      parent_group_ids: parents,
    }),
  }));
}

export async function removeGroupById(
  app: App,
  caller: Caller,
  input: { id: string },
): Promise<NothingResult> {
  return removeGroup(app, caller, () => findGroupById(app.db, input.id));
}

export async function removeGroupByName(
  app: App,
  caller: Caller,
  input: { name: string },
): Promise<NothingResult> {
  return removeGroup(app, caller, () => findGroupByName(app.db, input.name));
}

async function removeGroup(
  app: App,
  caller: Caller,
  find: () => Promise<Group | undefined>,
): Promise<NothingResult> {
  return commitPlanned<NothingResult>(app, caller, async () => {
    const group = await find();
    if (!group) return { effects: [], result: {} };
    return {
      effects: [
        deleteGroup(group),
        deleteMemberships('group', [group.id]),
        ...bumpPermissionVersion(),
      ],
      result: {},
    };
  });
}

export async function listGroupIds(app: App): Promise<DataResult<Told<GroupInfo>>> {
  const read = (last: Named | undefined): Promise<Named[]> => listGroupNames(app.db, last);
  return listTold({ read, keyOf: ({ id }) => id }, async function* (some) {
    const ids = some.map(({ id }) => id);
    const members = await countEntityMembers(app.db, ids);
    const parents = await countParents(app.db, ids);
    yield Object.fromEntries(
      some.map(({ id, name }) => [
        id,
        {
          name,
          num_member_entities: members.get(id) ?? 0,
          num_parent_groups: parents.get(id) ?? 0,
        },
      ]),
    );
  });
}

export async function listNamesOfGroups(
  app: App,
): Promise<DataResult<z.output<typeof namesSchema>>> {
  const read = (last: Named | undefined): Promise<Named[]> => listGroupNames(app.db, last);
  return listThings({ read, keyOf: ({ name }) => name });
}

/** Finds a group by one of the names it is known by; nothing found is an empty answer. */
export async function lookUpGroup(
  app: App,
  caller: Caller,
  input: LookupInput,
): Promise<DataResult<GroupAnswer> | NothingResult> {
  const group = await findLookedUp(app, caller, parseLookup(input));
  if (!group) return {};
  await refuseDenied(caller, ownPaths(caller, 'group', group, LOOKED_UP));
  return answerGroup(app, group);
}

async function findLookedUp(app: App, caller: Caller, lookup: Lookup): Promise<Group | undefined> {
  if (lookup.by === 'id' || lookup.by === 'name') {
    await refuseDenied(caller, ownPaths(caller, 'group', lookup, LOOKED_UP));
    return lookup.by === 'id'
      ? findGroupById(app.db, lookup.id)
      : findGroupByName(app.db, lookup.name);
  }
  const alias =
    lookup.by === 'alias'
      ? await findGroupAlias(app.db, lookup.alias_mount_accessor, lookup.alias_name)
      : await findGroupAliasById(app.db, lookup.alias_id);
  await refuseDenied(caller, aliasPaths(caller, 'group-alias', alias?.id ?? '', LOOKED_UP));
  return alias && findGroupById(app.db, alias.group_id);
}

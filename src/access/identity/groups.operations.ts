import type { OwnPath } from '../../acl/name-form.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { invalid } from '../../core/failure.ts';
import type { Tell } from '../../core/key-list.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import { commitInTurn, commitPlanned, type Planned } from '../standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../standing/operations.ts';
import {
  describeGroup,
  describeGroupAlias,
  type Group,
  type GroupInfo,
  type GroupSettings,
  type WrittenGroup,
} from './group.ts';
import { groupAliases } from './group-aliases.operations.ts';
import { findAliasOfGroup } from './group-aliases.store.ts';
import { planMembers, type SentMembers } from './group-members.operations.ts';
import { deleteGroup, groupStore, insertGroup, measureGroup, updateGroup } from './groups.store.ts';
import { requireFewPolicies, withMemberships } from './memberships.operations.ts';
import {
  countEntityMembers,
  countMembers,
  countParents,
  deleteMemberships,
} from './memberships.store.ts';
import { requireFewBeneath } from './memberships-beneath.operations.ts';
import { findAliasMount, newRecord } from './operations.ts';
import { JOINED, otherPaths, ownPaths, pathsInBody } from './own-paths.ts';
import { checkName, planSettings } from './record.ts';
import { findSent, recordOperations, requireFreeName } from './records.operations.ts';
import type { Named } from './records.store.ts';

interface SentGroup extends SentMembers {
  id?: string;
  name: string;
  type?: GroupSettings['type'] | undefined;
  metadata?: Record<string, string> | undefined;
  policies?: string[] | undefined;
}

export const groups = recordOperations({
  store: groupStore,
  aliases: groupAliases.of,
  async describe(app, group) {
    const alias = await findAliasOfGroup(app.db, group.id);
    const mount = alias && (await findAliasMount(app, alias.mount_accessor));
    return withMemberships(app, group.id, ({ entities, groups, parents }) => ({
      data: describeGroup(group, {
        alias: alias ? describeGroupAlias(alias, mount) : {},
        member_entity_ids: entities,
        member_group_ids: groups,
        parent_group_ids: parents,
      }),
    }));
  },
  tell: tellGroups,
  remove: removeGroup,
});

/** Makes a group, or changes the one that is named; what is left out stays. */
export async function writeGroup(
  app: App,
  caller: Caller,
  input: SentGroup,
): Promise<DataResult<WrittenGroup>> {
  checkName(input.name);
  await refuseDenied(caller, listNamed(caller, input));
  const plan = async (): Promise<Planned<DataResult<WrittenGroup>>> => {
    // What is above the group, and in it, is looked up among what is cached.
    await app.store.refreshConfig();
    const existing = await findSent(groupStore, app, input);
    if (existing) await refuseDeniedNow(caller, otherPaths(caller, 'group', existing));
    const group = planGroup(app, existing, input);
    await requireFreeName(groupStore, app, group);
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
  { id = '', name, member_entity_ids, member_group_ids }: SentGroup,
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

function planGroup(
  app: App,
  existing: Group | undefined,
  { name, type, metadata, policies }: SentGroup,
): Group {
  if (existing && type !== undefined && type !== existing.type) {
    throw invalid('group type cannot be changed');
  }
  const settings: GroupSettings = { type: 'internal', metadata: {}, policies: [] };
  const base: Group = existing ?? newRecord(app, 'group', settings, name);
  return {
    ...planSettings(base, { type, metadata, policies }),
    name: name || base.name,
    updated_at_ms: existing ? app.now() : base.created_at_ms,
  };
}

async function removeGroup(
  app: App,
  caller: Caller,
  find: () => Promise<Group | undefined>,
): Promise<NothingResult> {
  return commitPlanned<NothingResult>(app, caller, async () => {
    const group = await find();
    if (!group) return { effects: [], result: {} };
    const out = deleteMemberships('group', [group.id]);
    return { effects: [deleteGroup(group), out, ...bumpPermissionVersion()], result: {} };
  });
}

async function tellGroups({ db }: App): Promise<Tell<Named, GroupInfo>> {
  return async function* (some) {
    const ids = some.map(({ id }) => id);
    const members = await countEntityMembers(db, ids);
    const parents = await countParents(db, ids);
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
  };
}

import type { OwnPath, Sense } from '../../acl/name-form.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import type { Effect } from '../../store/write.ts';
import { refuseDeniedNow } from '../standing/operations.ts';
import { entityStore } from './entities.store.ts';
import { checkMemberGroups, type Group, MOST_NESTINGS } from './group.ts';
import { groupStore } from './groups.store.ts';
import { requireFewNestings, withGroupsOf } from './memberships.operations.ts';
import {
  holdAcyclic,
  holdFewNestings,
  listMembers,
  type MemberKind,
  replaceMembers,
} from './memberships.store.ts';
import { CONCERNED, JOINED, ownPaths } from './own-paths.ts';

/** Of each kind all that a group is to have; left out, they stay. */
export interface SentMembers {
  member_entity_ids?: string[] | undefined;
  member_group_ids?: string[] | undefined;
}

interface PlannedMembers {
  effects: Effect[];
  /** Come after `bumpPermissionVersion`. */
  holds: Effect[];
}

/** @throws Failure when a member cannot be one, or the caller is denied one that comes or leaves */
export async function planMembers(
  app: App,
  caller: Caller,
  group: Group,
  input: SentMembers,
): Promise<PlannedMembers> {
  const { member_entity_ids: entities, member_group_ids: groups } = input;
  if (group.type === 'external' && (entities?.length || groups?.length)) {
    throw invalid(
      "member_entity_ids and member_group_ids can't be set manually for external groups",
    );
  }
  // Their ids were judged before anything was read: what is not there is told to those who may name it.
  const ids = [...new Set(entities)];
  const names = await entityStore.findNames(app.db, ids);
  const missing = ids.find((id) => !names.has(id));
  if (missing !== undefined) throw invalid(`member_entity_ids: there is no entity "${missing}"`);
  await refuseDeniedNow(caller, pathsOfNames(caller, 'entity', names, JOINED));
  const nests = groups ? await judgeNesting(app, caller, group, groups) : false;
  await refuseDeniedLeaving(app, caller, group, input);
  const effects = [
    ...(entities ? replaceMembers(group.id, 'entity', entities) : []),
    ...(groups ? replaceMembers(group.id, 'group', groups) : []),
  ];
  return { effects, holds: nests ? holdNestings(group) : [] };
}

const holdNestings = ({ id }: Group): Effect[] => [
  holdFewNestings({ id, most: MOST_NESTINGS }),
  holdAcyclic({ id }),
];

/** Whether groups become members of the group. */
async function judgeNesting(
  app: App,
  caller: Caller,
  { id }: Group,
  members: readonly string[],
): Promise<boolean> {
  const names = await groupStore.findNames(app.db, members);
  await withGroupsOf(app, { id, kind: 'group' }, ({ direct, above }) =>
    checkMemberGroups(id, members, {
      ids: new Set(names.keys()),
      above: [...direct, ...above],
    }),
  );
  await refuseDeniedNow(caller, pathsOfNames(caller, 'group', names, JOINED));
  return requireFewNestings(app, id, members);
}

/** Paths of members by their names alone, which are not known before they are read. */
function pathsOfNames(
  caller: Caller,
  kind: MemberKind,
  names: ReadonlyMap<string, string>,
  sense: Sense,
): OwnPath[] {
  return [...names.values()].flatMap((name) => ownPaths(caller, kind, { name }, sense));
}

/**
 * Whoever is a member and is not named any more has other policies from then on. Members come with a
 * new version of the group, which refuses the plan: nobody leaves who was not looked at.
 */
async function refuseDeniedLeaving(
  app: App,
  caller: Caller,
  { id }: Group,
  input: SentMembers,
): Promise<void> {
  if (!caller.acl || caller.acl.root) return;
  const { member_entity_ids: entities, member_group_ids: groups } = input;
  const leaving = async (kind: MemberKind, staying: readonly string[]) => {
    const kept = new Set(staying);
    const gone = (await listMembers(app.db, id, kind)).filter((member) => !kept.has(member));
    await refuseDeniedNow(
      caller,
      gone.flatMap((member) => ownPaths(caller, kind, { id: member }, CONCERNED)),
    );
    return gone;
  };
  const names =
    entities && (await entityStore.findNames(app.db, await leaving('entity', entities)));
  if (names) await refuseDeniedNow(caller, pathsOfNames(caller, 'entity', names, CONCERNED));
  const gone = groups ? await leaving('group', groups) : [];
  await refuseDeniedNow(
    caller,
    pathsOfNames(caller, 'group', await groupStore.findNames(app.db, gone), CONCERNED),
  );
}

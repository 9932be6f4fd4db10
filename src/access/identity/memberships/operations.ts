import type { App } from '../../../app.ts';
import { Breath } from '../../../core/breath.ts';
import { Failure } from '../../../core/failure.ts';
import { LastOf, textBytes } from '../../../core/kept.ts';
import { ROOMS } from '../../../core/rooms.ts';
import {
  type Group,
  type Holder,
  listReached,
  MOST_NESTINGS,
  TOO_MANY_POLICIES,
  unitePolicies,
} from '../group.ts';
import { findEntityById, readGivingGroups } from '../store.ts';
import {
  hasMoreNestings,
  listAllNestings,
  listFarAbove,
  listGroupsOf,
  listMembers,
  listNestings,
  type MemberKind,
  type Nesting,
} from './store.ts';

const weighIds = (ids: readonly string[]): number =>
  ids.reduce((sum, id) => sum + textBytes(id), 0);

/**
 * Of more groups than this it is less work to read all that are nested, as far as those are no more than there
 * may be: others put somebody into thousands that are not.
 */
const MOST_ASKED = 1000;

/** Groups are hardly ever nested deeper. */
const LEVELS = 32;

/**
 * Ids of the groups that some groups are in, however far up. They are looked up from where somebody is: of
 * all groups there may be very many, which others made.
 */
export async function listGroupsAbove(app: App, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const kept = await app.cached(
    'identity:parents',
    async () => new LastOf<readonly string[]>(ROOMS.group_parents, weighIds),
    ['identity/group-tree'],
  );
  return listReached(ids, async (level, asked) => {
    const known = level.map((id) => kept.find(id));
    const missing = level.filter((_id, at) => known[at] === undefined);
    const all = known.filter((of) => of !== undefined);
    if (missing.length === 0) return all;
    const isAsked = missing.length <= MOST_ASKED || (await hasMoreNestings(app.db, MOST_NESTINGS));
    const found = await (isAsked ? listNestings(app.db, missing) : listAllNestings(app.db));
    for (const [id, parents] of parentsOf(missing, found)) {
      // What is found among all at once is found again as quickly, and pushes nothing out.
      if (isAsked) kept.set(id, parents);
      all.push(parents);
    }
    return asked < LEVELS ? all : [...all, await listFarAbove(app.db, missing)];
  });
}

/** Groups that each of some groups is itself a member of. */
function parentsOf(
  ids: readonly string[],
  nestings: readonly Nesting[],
): ReadonlyMap<string, readonly string[]> {
  const parents = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const { group_id, member_id } of nestings) parents.get(member_id)?.push(group_id);
  return parents;
}

/** Ids of all the groups that an entity is in, by itself or by another group. */
export async function listGroupsFor(app: App, entity_id: string): Promise<string[]> {
  const direct = await listGroupsOf(app.db, 'entity', entity_id);
  return [...direct, ...(await listGroupsAbove(app, direct))];
}

/**
 * Whether a group that is to have some groups as members gets any that it does not have yet.
 *
 * @throws Failure `invalid` when there were too many members of groups then
 */
export async function requireFewNestings(
  app: App,
  id: string,
  members: readonly string[],
): Promise<boolean> {
  const before = new Set(await listMembers(app.db, id, 'group'));
  const after = new Set(members);
  // Whoever makes them fewer is not refused, however many were stored before.
  if (after.isSubsetOf(before)) return false;
  const room = MOST_NESTINGS - after.size;
  if (await hasMoreNestings(app.db, room + before.size)) {
    throw new Failure(
      'invalid',
      `member_group_ids: of all groups together more than ${MOST_NESTINGS} would be members of groups`,
    );
  }
  return true;
}

/** Whatever gives policies: some holders, and those of some groups that have any. */
export async function* holdersFrom(
  app: App,
  first: readonly Holder[],
  group_ids: readonly string[],
): AsyncGenerator<Holder> {
  yield* first;
  yield* readGivingGroups(app.db, group_ids);
}

/**
 * @param holder whose policies are being written
 * @param group_ids groups that it is itself a member of
 * @returns what it has by them and those above, and by itself
 * @throws Failure `invalid` when that would be more than is read
 */
export async function requireFewPolicies(
  app: App,
  holder: Holder,
  group_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const above = await listGroupsAbove(app, group_ids);
  const united = await unitePolicies(holdersFrom(app, [holder], [...group_ids, ...above]));
  if (!united) throw new Failure('invalid', `policies: ${TOO_MANY_POLICIES}`);
  return united;
}

/** A group as it will be. */
export interface GroupChange {
  group: Group;
  /** What its members have by it, and by those above it. */
  given: ReadonlySet<string>;
  /** Whether it has policies of its own that it has not had. */
  gives_more: boolean;
  /** Of each kind all that it is to have; undefined where they stay. */
  members: Readonly<Record<MemberKind, readonly string[] | undefined>>;
}

/** Entities that are looked at before a group gives them something: some tenths of a millisecond each. */
const MOST_LOOKED_AT = 10_000;

/** What a group may give to more than those, who are not looked at. */
const GIVEN_TO_MANY = 100;

/**
 * As {@link requireFewPolicies}, of everybody to whom a change of a group gives something, however far beneath it
 * they are: whoever had more than are read would be permitted nothing any more.
 */
export async function requireFewBeneath(app: App, change: GroupChange): Promise<void> {
  if (change.given.size === 0) return;
  const named = await listConcerned(app, change, 'entity');
  const breath = new Breath();
  let looked = 0;
  for await (const id of listBeneath(app, named, await listConcerned(app, change, 'group'))) {
    await breath.take();
    if (++looked > MOST_LOOKED_AT) return requireFewForMany(change);
    if (await hasRoomFor(app, change, id)) continue;
    const field = change.gives_more ? 'policies' : 'member_group_ids';
    const who = change.members.entity?.includes(id)
      ? `member_entity_ids: "${id}"`
      : `${field}: somebody in the group`;
    throw new Failure('invalid', `${who}: ${TOO_MANY_POLICIES}`);
  }
}

/** Members to whom the change gives something: all, or those who come. */
async function listConcerned(
  app: App,
  { group, gives_more, members }: GroupChange,
  kind: MemberKind,
): Promise<readonly string[]> {
  const { [kind]: sent } = members;
  if (!sent && !gives_more) return [];
  const before = await listMembers(app.db, group.id, kind);
  if (gives_more) return sent ?? before;
  const known = new Set(before);
  return (sent ?? []).filter((id) => !known.has(id));
}

/** Some entities, and those of some groups and of all groups beneath them, each once. */
async function* listBeneath(
  app: App,
  entities: readonly string[],
  groups: readonly string[],
): AsyncGenerator<string> {
  const seen = new Set(entities);
  yield* seen;
  const below = await listReached(groups, async (level) => {
    const children: string[][] = [];
    for (const id of level) children.push(await listMembers(app.db, id, 'group'));
    return children;
  });
  for (const group of new Set([...groups, ...below])) {
    for (const id of await listMembers(app.db, group, 'entity')) {
      if (seen.has(id)) continue;
      seen.add(id);
      yield id;
    }
  }
}

/** Whether an entity would not have more than is read, or has more already and so nothing to lose. */
async function hasRoomFor(
  app: App,
  { group, given }: GroupChange,
  entity_id: string,
): Promise<boolean> {
  const entity = await findEntityById(app.db, entity_id);
  if (!entity) return true;
  const ids = await listGroupsFor(app, entity_id);
  const others = ids.filter((id) => id !== group.id);
  const first = [entity, { policies: [...given] }];
  return (
    (await unitePolicies(holdersFrom(app, first, others))) !== undefined ||
    (await unitePolicies(holdersFrom(app, [entity], ids))) === undefined
  );
}

function requireFewForMany({ given }: GroupChange): void {
  if (given.size <= GIVEN_TO_MANY) return;
  throw new Failure(
    'invalid',
    `policies: a group gives at most ${GIVEN_TO_MANY} to more than ${MOST_LOOKED_AT} entities`,
  );
}

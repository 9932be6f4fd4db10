import { type App, perApp } from '../../app/app.ts';
import { invalid } from '../../core/failure.ts';
import { FewInTurn } from '../../core/fairness/few-in-turn.ts';
import { LastOf, textBytes } from '../../core/kept.ts';
import { ROOMS } from '../../core/rooms.ts';
import type { Soon } from '../../core/steps.ts';
import { PAGE } from '../../store/in-pages.ts';
import {
  type Holder,
  listReached,
  MOST_NESTINGS,
  TOO_MANY_POLICIES,
  unitePolicies,
} from './group.ts';
import { readGivingGroups } from './groups.store.ts';
import {
  hasMoreNestings,
  inNestedPieces,
  listAllParents,
  listFarAbove,
  listGroupsOf,
  listMembers,
  type MemberKind,
  type Nesting,
  nestingPage,
  readNestings,
} from './memberships.store.ts';

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
 * Ids of the groups that some groups are in, however far up; of more than `most` some that are more. They are looked up
 * from where somebody is: of all groups there may be very many, which others made.
 */
export async function listGroupsAbove(
  app: App,
  ids: readonly string[],
  most?: number,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const kept = await app.cached(
    'identity:parents',
    async () => new LastOf<readonly string[]>(ROOMS.group_parents, weighIds),
    ['identity/group-tree'],
  );
  const nextOf = async function* (level: readonly string[], asked: number) {
    const missing: string[] = [];
    for (const id of level) {
      const known = kept.find(id);
      if (known) yield known;
      else missing.push(id);
    }
    yield* missing.length > MOST_ASKED
      ? readManyParents(app, missing)
      : readParents(app, missing, kept);
    if (asked >= LEVELS && missing.length > 0) yield await listFarAbove(app.db, missing);
  };
  return listReached(ids, nextOf, most);
}

/** Groups that each of some groups is itself a member of, which are kept where they are few. */
async function* readParents(
  app: App,
  ids: readonly string[],
  kept: LastOf<readonly string[]>,
): AsyncGenerator<readonly string[]> {
  for (const some of inNestedPieces(ids)) {
    const page = await nestingPage(app.db, some);
    if (page.length === PAGE) {
      yield* readManyParents(app, some);
      continue;
    }
    for (const [id, parents] of parentsOf(some, page)) {
      kept.set(id, parents);
      yield parents;
    }
  }
}

/** The same of what is found among all at once, of which everybody has the same. */
async function* readManyParents(
  app: App,
  ids: readonly string[],
): AsyncGenerator<readonly string[]> {
  const all = await readAllParents(app);
  if (all) for (const id of ids) yield all.get(id) ?? [];
  else
    for await (const page of readNestings(app.db, ids)) yield page.map(({ group_id }) => group_id);
}

/** Of all that are nested, some megabytes, read once for all who ask; undefined for more than there may be. */
const readAllParents = (app: App): Soon<ReadonlyMap<string, readonly string[]> | undefined> =>
  app.cached(
    'identity:all-parents',
    async () =>
      (await hasMoreNestings(app.db, MOST_NESTINGS)) ? undefined : listAllParents(app.db),
    ['identity/group-tree'],
  );

/** Groups that each of some groups is itself a member of. */
function parentsOf(
  ids: readonly string[],
  nestings: readonly Nesting[],
): ReadonlyMap<string, readonly string[]> {
  const parents = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const { group_id, member_id } of nestings) parents.get(member_id)?.push(group_id);
  return parents;
}

/** A group, or an entity, as a member of groups. */
interface Member {
  id: string;
  kind: MemberKind;
}

/** Ids of the groups that something is in. */
export interface Groups {
  /** By itself. */
  direct: readonly string[];
  /** Those above, however far. */
  above: readonly string[];
}

/** What has to do with more than a page of groups or members is done for few at once: those that wait hold nothing. */
const manyOf = perApp(() => new FewInTurn(4));

/** Does something with the groups that somebody is in; it ends with what is held of thousands, and waits for no commit. */
export async function withGroupsOf<Result>(
  app: App,
  member: Member,
  use: (groups: Groups) => Result | Promise<Result>,
): Promise<Result> {
  const few = await findFewGroups(app, member);
  if (few) return use(few);
  return manyOf(app).run(async () => {
    const direct = await listGroupsOf(app.db, member.kind, member.id);
    return use({ direct, above: await listGroupsAbove(app, direct) });
  });
}

/** Undefined for more than a page, which are read anew. */
async function findFewGroups(app: App, { id, kind }: Member): Promise<Groups | undefined> {
  const direct = await listGroupsOf(app.db, kind, id, PAGE);
  if (direct.length > PAGE) return undefined;
  const room = PAGE - direct.length;
  const above = await listGroupsAbove(app, direct, room);
  return above.length > room ? undefined : { direct, above };
}

/** What a group has in it by itself, and is in. */
interface Memberships {
  entities: readonly string[];
  groups: readonly string[];
  parents: readonly string[];
}

/** Does something with the members of a group, as {@link withGroupsOf} does. */
export async function withMemberships<Result>(
  app: App,
  group_id: string,
  use: (memberships: Memberships) => Result,
): Promise<Result> {
  const few = await listMemberships(app, group_id, PAGE);
  if (few.entities.length + few.groups.length + few.parents.length <= PAGE) return use(few);
  return manyOf(app).run(async () => use(await listMemberships(app, group_id)));
}

const listMemberships = async (
  { db }: App,
  group_id: string,
  most?: number,
): Promise<Memberships> => ({
  entities: await listMembers(db, group_id, 'entity', most),
  groups: await listMembers(db, group_id, 'group', most),
  parents: await listGroupsOf(db, 'group', group_id, most),
});

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
    throw invalid(
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
 * @returns what it has by the groups that it is in and those above, and by itself
 * @throws Failure `invalid` when that would be more than is read
 */
export async function requireFewPolicies(
  app: App,
  holder: Holder & { id: string },
  kind: MemberKind,
): Promise<ReadonlySet<string>> {
  const united = await withGroupsOf(app, { id: holder.id, kind }, ({ direct, above }) =>
    unitePolicies(holdersFrom(app, [holder], [...direct, ...above])),
  );
  if (!united) throw invalid(`policies: ${TOO_MANY_POLICIES}`);
  return united;
}

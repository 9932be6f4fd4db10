import { type Kysely, sql } from 'kysely';
import { bumpConfigVersion } from '../../../store/config-version.ts';
import { build, type Db, prepared, preparedWrite } from '../../../store/database.ts';
import type { Tables } from '../../../store/tables.ts';
import { type Write, write } from '../../../store/write.ts';
import { inPieces } from '../by-ids.store.ts';
import type { Scope } from '../resource.ts';
import {
  BOUNDS,
  MOST_GROUPS,
  MOST_GROUPS_OF_USER,
  MOST_MEMBERS,
  MOST_PRINCIPALS,
  MOST_ROLES,
  partOf,
} from './bounds.ts';

// Each of these is looked at before anything is written, and counts again in the write set that adds. Whoever
// adds bumps the configuration's version: there two of them wait for one another, so that the later one
// counts what the other wrote.

/** Where something is to lie. */
export type InScope = Pick<Scope, 'id' | 'type' | 'parent_scope_id'>;

type Place = {
  org_id: string;
  /** Whose part counts; none for `global`, though all orgs lie in it. */
  scope_id: string;
};

/** The org that a scope is or lies in, as bounds count. */
export const orgOf = (scope: InScope): string =>
  scope.type === 'project' ? scope.parent_scope_id : scope.id;

const placeOf = (scope: InScope): Place => ({
  org_id: orgOf(scope),
  scope_id: scope.type === 'global' ? '' : scope.id,
});

type Counted = 'role' | 'group';

/** Ids of what lies in an org and in its projects, as a question; nothing but that is looked at. */
export function listInOrg(from: Kysely<Tables>, type: Counted, org_id: string) {
  return from
    .selectFrom('resource_room')
    .select('id')
    .where('org_id', '=', org_id)
    .where('type', '=', type);
}

/** What an org has of a type, and of what that leads to; and the same of one of its scopes. */
function countIn(from: Kysely<Tables>, type: Counted, { org_id, scope_id }: Place) {
  const sum = (of: ReturnType<typeof sql<number>>) =>
    sql<number | bigint | string>`coalesce(sum(${of}), 0)`;
  const ofScope = (value: ReturnType<typeof sql<number>>) =>
    sum(sql<number>`case when scope_id = ${scope_id} then ${value} else 0 end`);
  return from
    .selectFrom('resource_room')
    .select([
      sum(sql<number>`1`).as('number'),
      ofScope(sql<number>`1`).as('number_of_scope'),
      sum(sql<number>`links`).as('links'),
      ofScope(sql<number>`links`).as('links_of_scope'),
    ])
    .where('org_id', '=', org_id)
    .where('type', '=', type);
}

/** One of the sums, and how much it may be. */
interface Bound {
  type: Counted;
  what: 'number' | 'links';
  most: number;
  conflict: string;
}

const ROOM = {
  role: { type: 'role', what: 'number', most: MOST_ROLES, conflict: BOUNDS.roles },
  group: { type: 'group', what: 'number', most: MOST_GROUPS, conflict: BOUNDS.groups },
  members: { type: 'group', what: 'links', most: MOST_MEMBERS, conflict: BOUNDS.members },
  principals: { type: 'role', what: 'links', most: MOST_PRINCIPALS, conflict: BOUNDS.principals },
} as const satisfies Record<string, Bound>;

function hold({ type, what, most, conflict }: Bound) {
  return preparedWrite<Place>(
    (from, place) =>
      from
        .selectFrom(countIn(from, type, place).as('sums'))
        .select(what)
        .where(what, '<=', most)
        .where(`${what}_of_scope`, '<=', partOf(most)),
    { rows: 1, conflict },
  );
}

type Counts = Record<'number' | 'number_of_scope' | 'links' | 'links_of_scope', unknown>;

const counts = {
  role: prepared<Place, Counts>((from, place) => countIn(from, 'role', place)),
  group: prepared<Place, Counts>((from, place) => countIn(from, 'group', place)),
} as const;

/** Which bound of an org or a scope so many more would pass, in the words of the refusal; or undefined. */
export async function faultOfOrg(
  db: Db,
  of: keyof typeof ROOM,
  scope: InScope,
  more: number,
): Promise<string | undefined> {
  const { type, what, most, conflict } = ROOM[of];
  const row = await counts[type].first(db, placeOf(scope));
  const fits =
    Number(row?.[what] ?? 0) + more <= most &&
    Number(row?.[`${what}_of_scope`] ?? 0) + more <= partOf(most);
  return fits ? undefined : conflict;
}

const holds = {
  role: hold(ROOM.role),
  group: hold(ROOM.group),
  members: hold(ROOM.members),
  principals: hold(ROOM.principals),
} as const;

/** Refuses its write set, which has added some, when an org has more roles or groups than it may. */
export function holdNumberOf(type: Counted, scope: InScope): Write[] {
  return [bumpConfigVersion(), holds[type](placeOf(scope))];
}

/** Refuses its write set, which has added some, when the roles of an org have more principals than they may. */
export function holdPrincipals(scope: InScope): Write[] {
  return [bumpConfigVersion(), holds.principals(placeOf(scope))];
}

/** As {@link holdPrincipals}, for members of groups. */
export function holdMembers(scope: InScope): Write[] {
  return [bumpConfigVersion(), holds.members(placeOf(scope))];
}

/** Refuses its write set, which has put users into a group, when one is in more groups of the org than may be. */
export function holdGroupsOf(user_ids: readonly string[], scope: InScope): Write[] {
  const place = placeOf(scope);
  return [
    bumpConfigVersion(),
    ...inPieces(user_ids).map((ids) =>
      write(groupsOf(ids, place, 0), { rows: 0, conflict: BOUNDS.groups_of_user }),
    ),
  ];
}

/**
 * What keeps users from being put into one more group, or undefined.
 *
 * @param giveWay lets others have their turn between some and the next ones
 */
export async function faultOfUsers(
  db: Db,
  user_ids: readonly string[],
  scope: InScope,
  giveWay: () => Promise<void>,
): Promise<string | undefined> {
  for (const ids of inPieces(user_ids)) {
    await giveWay();
    const over = groupsOf(ids, placeOf(scope), 1).limit(1);
    if ((await db.executeQuery(over)).rows.length > 0) return BOUNDS.groups_of_user;
  }
  return undefined;
}

/**
 * Users who would be in too many. Whoever is in fewer of all orgs is looked for in the index alone.
 *
 * @param more groups that each is to be put into
 */
function groupsOf(ids: readonly string[], { org_id, scope_id }: Place, more: number) {
  const most = MOST_GROUPS_OF_USER - more;
  const part = scope_id === '' ? most : partOf(MOST_GROUPS_OF_USER) - more;
  const inMany = build
    .selectFrom('resource_link as any')
    .select('any.to_id')
    .where('any.to_id', 'in', ids)
    .where('any.kind', '=', 'group-member')
    .groupBy('any.to_id')
    .having((row) => row(row.fn.countAll(), '>', part));
  const ofScope = sql<number>`sum(case when resource_room.scope_id = ${scope_id} then 1 else 0 end)`;
  return build
    .selectFrom('resource_link')
    .crossJoin('resource_room')
    .select('resource_link.to_id')
    .where('resource_link.to_id', 'in', inMany)
    .where('resource_link.kind', '=', 'group-member')
    .whereRef('resource_room.id', '=', 'resource_link.from_id')
    .where('resource_room.org_id', '=', org_id)
    .groupBy('resource_link.to_id')
    .having((row) => row.or([row(row.fn.countAll(), '>', most), row(ofScope, '>', part)]));
}

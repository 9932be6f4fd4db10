import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { countSome } from '../../store/count-some.ts';
import { build, type Db } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import { compareIds } from '../../store/in-blocks.ts';
import { listInPages, PAGE, readInPages } from '../../store/in-pages.ts';
import { keyPages } from '../../store/key-page.ts';
import { type Write, write } from '../../store/write.ts';

export type MemberKind = 'entity' | 'group';

/** Ids of a group's members, in byte order; of more than `most` some that are more. */
export function listMembers(
  db: Db,
  group_id: string,
  kind: MemberKind,
  most?: number,
): Promise<string[]> {
  return listInPages<string>(
    (after = '') => memberPages(db, { group_id, kind, after, limit: PAGE }),
    most,
  );
}

const memberPages = keyPages('identity_group_member', 'member_id', ['group_id', 'kind']);

/** Groups whose members one statement counts: each may have ten thousand. */
const COUNTED_AT_ONCE = 10;

/** How many entities are members of each of some groups; those without any are left out. */
export const countEntityMembers = (
  db: Db,
  group_ids: readonly string[],
): Promise<ReadonlyMap<string, number>> =>
  countBy(db, 'group_id', { ids: group_ids, kind: 'entity', at_once: COUNTED_AT_ONCE });

/** How many members a group has; more than `most` are not counted. */
export const countMembers = countSome('identity_group_member', ['group_id']);

/** How many groups each of some groups is itself a member of; those in none are left out. */
export const countParents = (
  db: Db,
  member_ids: readonly string[],
): Promise<ReadonlyMap<string, number>> =>
  countBy(db, 'member_id', { ids: member_ids, kind: 'group', at_once: NESTED_AT_ONCE });

/** Counts the memberships of some, others having their turn between. */
async function countBy(
  db: Db,
  column: 'group_id' | 'member_id',
  of: { ids: readonly string[]; kind: MemberKind; at_once: number },
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const ids of inPieces(of.ids, of.at_once)) {
    const rows = await db
      .selectFrom('identity_group_member')
      .select(({ fn, ref }) => [ref(column).as('id'), fn.countAll().as('count')])
      .where(column, 'in', ids)
      .where('kind', '=', of.kind)
      .groupBy(column)
      .execute();
    for (const { id, count } of rows) counts.set(id, Number(count));
    await nextTurn();
  }
  return counts;
}

/** Ids of the groups that something is itself a member of; of more than `most` some that are more. */
export function listGroupsOf(
  db: Db,
  kind: MemberKind,
  member_id: string,
  most?: number,
): Promise<string[]> {
  return listInPages<string>(
    (after = '') => groupPages(db, { member_id, kind, after, limit: PAGE }),
    most,
  );
}

const groupPages = keyPages('identity_group_member', 'group_id', ['member_id', 'kind']);

/** A group that is a member of another. */
export interface Nesting {
  group_id: string;
  member_id: string;
}

/** Groups that are asked about at once: what was stored before there was a bound may be nested a lot. */
const NESTED_AT_ONCE = 100;

/** Some groups in the order in which they are read, as many at a time as are asked about at once. */
export const inNestedPieces = (ids: readonly string[]): (readonly string[])[] =>
  inPieces([...ids].sort(compareIds), NESTED_AT_ONCE);

/** Which groups some groups are members of, a page at a time: of the page before nothing is held. */
export async function* readNestings(
  db: Db,
  member_ids: readonly string[],
): AsyncGenerator<Nesting[]> {
  for (const ids of inNestedPieces(member_ids)) {
    yield* readInPages<Nesting>((last) => nestingPage(db, ids, last));
  }
}

/** The next of the groups that some groups are members of, in the order of these. */
export function nestingPage(db: Db, ids: readonly string[], last?: Nesting): Promise<Nesting[]> {
  const { group_id, member_id } = last ?? { group_id: '', member_id: '' };
  const left = ids.filter((id) => id >= member_id);
  return db
    .selectFrom('identity_group_member')
    .select(['group_id', 'member_id'])
    .where('member_id', 'in', left)
    .where('kind', '=', 'group')
    .where((row) =>
      row.or([
        row('member_id', '>', member_id),
        row.and([row('member_id', '=', member_id), row('group_id', '>', group_id)]),
      ]),
    )
    .orderBy('member_id')
    .orderBy('group_id')
    .limit(PAGE)
    .execute();
}

/** Of each group that is nested the groups that it is a member of; each of those is one text for all its members. */
export async function listAllParents(db: Db): Promise<ReadonlyMap<string, readonly string[]>> {
  const parents = new Map<string, string[]>();
  let group = '';
  for await (const page of readInPages<Nesting>((last) => pageOfAll(db, last))) {
    for (const { group_id, member_id } of page) {
      if (group_id !== group) group = group_id;
      const known = parents.get(member_id);
      if (known) known.push(group);
      else parents.set(member_id, [group]);
    }
  }
  return parents;
}

/** In the order of groups. */
const pageOfAll = (db: Db, last: Nesting | undefined): Promise<Nesting[]> =>
  db
    .selectFrom('identity_group_member')
    .select(['group_id', 'member_id'])
    // As it stands, for the index of those alone: entities may be many times more.
    .where('kind', '=', sql.lit('group'))
    .where((row) =>
      row(
        row.refTuple('group_id', 'member_id'),
        '>',
        row.tuple(row.val(last?.group_id ?? ''), row.val(last?.member_id ?? '')),
      ),
    )
    .orderBy('group_id')
    .orderBy('member_id')
    .limit(PAGE)
    .execute();

/**
 * Some of the groups above some others, however far up: for what is nested so deep that to ask level by level
 * would take long. Whoever asks goes on from those that were found.
 */
export async function listFarAbove(db: Db, member_ids: readonly string[]): Promise<string[]> {
  const some = member_ids.slice(0, NESTED_AT_ONCE);
  const rows = await db
    .withRecursive('upward(id)', (from) =>
      from
        .selectFrom('identity_group_member')
        .select('group_id as id')
        .where('member_id', 'in', some)
        .where('kind', '=', 'group')
        .union(
          from
            .selectFrom('identity_group_member as above')
            .innerJoin('upward', 'upward.id', 'above.member_id')
            .select('above.group_id as id')
            .where('above.kind', '=', 'group'),
        ),
    )
    .selectFrom('upward')
    .select('id')
    .limit(PAGE)
    .execute();
  return rows.map(({ id }) => id);
}

/** Whether more groups are members of groups than some, each counted as often as it is one. */
export async function hasMoreNestings(db: Db, than: number): Promise<boolean> {
  return (await nestingBeyond(db, than).executeTakeFirst()) !== undefined;
}

const nestingBeyond = (db: Pick<Db, 'selectFrom'>, than: number) =>
  db
    .selectFrom('identity_group_member')
    .select('group_id')
    // As it stands, for the index of those alone: entities may be many times more.
    .where('kind', '=', sql.lit('group'))
    .where('group_id', '>', '')
    .offset(than)
    .limit(1);

/** Members of one statement: ten thousand of one each would hold up whoever writes next. */
const MEMBERS_AT_ONCE = 500;

const inPieces = (ids: readonly string[], size = MEMBERS_AT_ONCE): (readonly string[])[] =>
  Array.from({ length: Math.ceil(ids.length / size) }, (_, at) =>
    ids.slice(at * size, (at + 1) * size),
  );

/** Puts others in the place of a group's members of one kind. */
export function replaceMembers(
  group_id: string,
  kind: MemberKind,
  members: readonly string[],
): Write[] {
  const pieces = inPieces([...new Set(members)]);
  const table = kind === 'entity' ? 'identity_entity' : 'identity_group';
  const held = pieces.map((ids) =>
    write(build.selectFrom(table).select('id').where('id', 'in', ids).forKeyShare(), {
      rows: ids.length,
      conflict: 'a member was removed in the meantime',
    }),
  );
  const clear = write(
    build
      .deleteFrom('identity_group_member')
      .where('group_id', '=', group_id)
      .where('kind', '=', kind),
  );
  return [
    ...held,
    clear,
    ...pieces.map((ids) => {
      const rows = ids.map((member_id) => ({ group_id, kind, member_id }));
      return write(build.insertInto('identity_group_member').values(rows), { rows: ids.length });
    }),
  ];
}

/**
 * Refuses its write set if a group is a member of itself, however far up.
 *
 * It comes after `bumpPermissionVersion`: whoever changes groups takes that row, so that the second of
 * two sees here what the first has done.
 */
export const holdAcyclic = preparedHold<{ id: string }>(
  (from, { id }) =>
    from
      .selectFrom('identity_group')
      .select('identity_group.id')
      .where('identity_group.id', '=', id)
      .where(
        sql<boolean>`not exists (
          with recursive upward (id) as (
            select group_id from identity_group_member where member_id = ${id} and kind = 'group'
            union
            select above.group_id from identity_group_member as above
              join upward on above.member_id = upward.id where above.kind = 'group'
          )
          select 1 from upward where upward.id = ${id}
        )`,
      ),
  { rows: 1, conflict: 'a group would be a member of itself (cyclic relationship)' },
);

/**
 * Refuses its write set if more groups are members of groups than there may be. It comes where
 * {@link holdAcyclic} does, and for the same reason.
 */
export const holdFewNestings = preparedHold<{ id: string; most: number }>(
  (from, { id, most }) =>
    from
      .selectFrom('identity_group')
      .select('identity_group.id')
      .where('identity_group.id', '=', id)
      .where(({ exists, not }) => not(exists(nestingBeyond(from, most)))),
  { rows: 1, conflict: 'groups became members of groups in the meantime' },
);

/** Takes entities or groups out of every group. */
export function deleteMemberships(kind: MemberKind, member_ids: readonly string[]): Write {
  return write(
    build
      .deleteFrom('identity_group_member')
      .where('member_id', 'in', member_ids)
      .where('kind', '=', kind),
  );
}

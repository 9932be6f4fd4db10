import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { build, type Db } from '../../../store/database.ts';
import { preparedHold } from '../../../store/held.ts';
import { listInPages, PAGE } from '../../../store/in-pages.ts';
import { keyPages } from '../../../store/key-page.ts';
import { type Write, write } from '../../../store/write.ts';

export type MemberKind = 'entity' | 'group';

/** Ids of a group's members, in byte order. */
export function listMembers(db: Db, group_id: string, kind: MemberKind): Promise<string[]> {
  return listInPages<string>((after = '') =>
    memberPages(db, { group_id, kind, after, limit: PAGE }),
  );
}

const memberPages = keyPages('identity_group_member', 'member_id', ['group_id', 'kind']);

/** Groups whose members one statement counts: each may have ten thousand. */
const COUNTED_AT_ONCE = 10;

/** How many entities are members of each of some groups; those without any are left out. */
export async function countEntityMembers(
  db: Db,
  group_ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const ids of inPieces(group_ids, COUNTED_AT_ONCE)) {
    const rows = await db
      .selectFrom('identity_group_member')
      .select(({ fn }) => ['group_id', fn.countAll().as('count')])
      .where('group_id', 'in', ids)
      .where('kind', '=', 'entity')
      .groupBy('group_id')
      .execute();
    for (const { group_id, count } of rows) counts.set(group_id, Number(count));
    await nextTurn();
  }
  return counts;
}

/** Ids of the groups that something is itself a member of. */
export function listGroupsOf(db: Db, kind: MemberKind, member_id: string): Promise<string[]> {
  return listInPages<string>((after = '') =>
    groupPages(db, { member_id, kind, after, limit: PAGE }),
  );
}

const groupPages = keyPages('identity_group_member', 'group_id', ['member_id', 'kind']);

/** Which groups are members of which. */
export async function listGroupMemberships(
  db: Db,
): Promise<{ group_id: string; member_id: string }[]> {
  return listInPages((last) =>
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
      .execute(),
  );
}

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

/** Takes an entity or a group out of every group. */
export function deleteMemberships(kind: MemberKind, member_id: string): Write {
  return write(
    build
      .deleteFrom('identity_group_member')
      .where('member_id', '=', member_id)
      .where('kind', '=', kind),
  );
}

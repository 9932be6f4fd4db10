import { sql } from 'kysely';
import { Breath } from '../../core/fairness/breath.ts';
import type { Db } from '../../store/database.ts';
import { compareIds, inBlocks } from '../../store/in-blocks.ts';
import type { Group } from './group.ts';
import { nameKey } from './record.ts';
import { recordStore } from './records.store.ts';

/** Policies are the last: by that groups without any are told from others in the store. */
export const groupStore = recordStore<Group>('identity_group', 'group', [
  'type',
  'metadata',
  'policies',
]);

export const {
  findById: findGroupById,
  findByName: findGroupByName,
  insert: insertGroup,
  update: updateGroup,
  delete: deleteGroup,
} = groupStore;

/** Which group goes by an id or a name, and how many bytes it has as it is kept. */
export async function measureGroup(
  db: Db,
  by: { id: string } | { name: string },
): Promise<{ id: string; bytes: number } | undefined> {
  const [column, key] =
    'id' in by ? (['id', by.id] as const) : (['name_key', nameKey(by.name)] as const);
  const row = await db
    .selectFrom('identity_group')
    .select((group) => ['id', group.fn<number | bigint>('octet_length', ['body']).as('bytes')])
    .where(column, '=', key)
    .executeTakeFirst();
  return row && { id: row.id, bytes: Number(row.bytes) };
}

/** Groups read at once, each with a hundred kilobytes at most. */
const GROUPS_AT_ONCE = 32;

/**
 * Groups in the order of their ids as they are given, without those that are not there. They are read as they are
 * asked for: whoever needs little of each holds no more than a few of them.
 */
export async function* readGroupsById(db: Db, ids: readonly string[]): AsyncGenerator<Group> {
  const breath = new Breath();
  for (let at = 0; at < ids.length; at += GROUPS_AT_ONCE) {
    const some = ids.slice(at, at + GROUPS_AT_ONCE);
    const query = db.selectFrom('identity_group').selectAll().where('id', 'in', some);
    const found = new Map((await query.execute()).map((row) => [row.id, row]));
    await breath.take();
    for (const id of some) {
      const row = found.get(id);
      if (row) yield groupStore.parse(row);
    }
  }
}

/**
 * Of some groups those that have policies, in the order of their ids. The others are not read: there may be
 * thousands of them, each as long as whoever made it liked.
 */
export async function* readGivingGroups(db: Db, ids: readonly string[]): AsyncGenerator<Group> {
  const giving = await inBlocks(ids, (some) =>
    db.selectFrom('identity_group').select('id').where('id', 'in', some).where(GIVES).execute(),
  );
  yield* readGroupsById(db, giving.map(({ id }) => id).sort(compareIds));
}

/** As it stands in the index of those alone. */
const GIVES = sql<boolean>`body not like '%"policies":[]}'`;

/** Ids of groups with some names, as far as they are there. */
export async function listGroupsNamed(
  db: Db,
  names: readonly string[],
): Promise<{ id: string; name: string }[]> {
  return inBlocks([...new Set(names.map(nameKey))], (some) =>
    db.selectFrom('identity_group').select(['id', 'name']).where('name_key', 'in', some).execute(),
  );
}

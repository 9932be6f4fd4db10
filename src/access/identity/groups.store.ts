import { sql } from 'kysely';
import { Breath } from '../../core/fairness/breath.ts';
import { deleteAsRead, holdAsRead } from '../../store/as-read.ts';
import { build, type Db } from '../../store/database.ts';
import { compareIds, inBlocks } from '../../store/in-blocks.ts';
import type { IdentityGroupRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { nameKey } from './entity.ts';
import type { Group, GroupSettings } from './group.ts';
import { CHANGED, listNamed, type Named } from './names.store.ts';

/** Groups in the order of their names, a page of them after the last one. */
export function listGroupNames(db: Db, last: Named | undefined): Promise<Named[]> {
  return listNamed(db, 'identity_group', last);
}

export async function findGroupById(db: Db, id: string): Promise<Group | undefined> {
  const query = db.selectFrom('identity_group').selectAll().where('id', '=', id);
  const row = await query.executeTakeFirst();
  return row && groupOf(row);
}

export async function findGroupByName(db: Db, name: string): Promise<Group | undefined> {
  const query = db.selectFrom('identity_group').selectAll().where('name_key', '=', nameKey(name));
  const row = await query.executeTakeFirst();
  return row && groupOf(row);
}

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
      if (row) yield groupOf(row);
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

/** What groups are called, by their ids, as far as they are there. */
export async function listNamesOfGroups(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await inBlocks(ids, (some) =>
    db.selectFrom('identity_group').select(['id', 'name']).where('id', 'in', some).execute(),
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

function groupOf({ body, name_key: _key, ...row }: IdentityGroupRow): Group {
  return { ...row, ...(JSON.parse(body) as GroupSettings) };
}

function groupRow(group: Group): IdentityGroupRow {
  const { type, metadata, policies, ...row } = group;
  // Policies are the last: by that groups without any are told from others in the store.
  const body = JSON.stringify({ type, metadata, policies } satisfies GroupSettings);
  return { ...row, name_key: nameKey(group.name), body };
}

export function insertGroup(group: Group): Write {
  return write(build.insertInto('identity_group').values(groupRow(group)), {
    rows: 1,
    conflict: `group name is already in use: ${group.name}`,
  });
}

export function updateGroup(group: Group): Write {
  const { id, version, ...row } = groupRow(group);
  return write(
    build
      .updateTable('identity_group')
      .set({ ...row, version: version + 1 })
      .where('id', '=', id)
      .where('version', '=', version),
    { rows: 1, conflict: CHANGED },
  );
}

/** Refuses its write set unless a group still is what it was. */
export function holdGroup({ id, version }: Pick<Group, 'id' | 'version'>): Write {
  return holdAsRead('identity_group', { key: { id }, read: { version } }, CHANGED);
}

/** As {@link deleteEntity}; its members and its alias go with it. */
export function deleteGroup({ id, name }: Pick<Group, 'id' | 'name'>): Write {
  return deleteAsRead('identity_group', { key: { id }, read: { name } }, CHANGED);
}

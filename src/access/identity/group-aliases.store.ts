import { deleteAsRead, saveAsRead } from '../../store/as-read.ts';
import type { Db } from '../../store/database.ts';
import { PAGE } from '../../store/in-pages.ts';
import type { Write } from '../../store/write.ts';
import type { GroupAlias } from './group.ts';
import { CHANGED } from './records.store.ts';

export async function findGroupAliasById(db: Db, id: string): Promise<GroupAlias | undefined> {
  return db.selectFrom('identity_group_alias').selectAll().where('id', '=', id).executeTakeFirst();
}

/** A page of the ids of all aliases of groups. */
export function listGroupAliasKeys(
  db: Db,
  last: Pick<GroupAlias, 'id'> | undefined,
): Promise<Pick<GroupAlias, 'id'>[]> {
  return db
    .selectFrom('identity_group_alias')
    .select('id')
    .where('id', '>', last?.id ?? '')
    .orderBy('id')
    .limit(PAGE)
    .execute();
}

export function listGroupAliasesById(db: Db, ids: readonly string[]): Promise<GroupAlias[]> {
  return db
    .selectFrom('identity_group_alias')
    .selectAll()
    .where('id', 'in', ids)
    .orderBy('id')
    .execute();
}

export async function findAliasOfGroup(db: Db, group_id: string): Promise<GroupAlias | undefined> {
  return db
    .selectFrom('identity_group_alias')
    .selectAll()
    .where('group_id', '=', group_id)
    .executeTakeFirst();
}

export async function findGroupAlias(
  db: Db,
  mount_accessor: string,
  name: string,
): Promise<GroupAlias | undefined> {
  return db
    .selectFrom('identity_group_alias')
    .selectAll()
    .where('mount_accessor', '=', mount_accessor)
    .where('name', '=', name)
    .executeTakeFirst();
}

export const GROUP_ALIAS_TAKEN =
  'the name is in use on this mount, or the group has an alias already';

/** @param read the alias that is being replaced, as it was read; undefined for a new one */
export function saveGroupAlias(alias: GroupAlias, read: GroupAlias | undefined): Write {
  const { id, ...next } = alias;
  const row = { key: { id }, read, next };
  return saveAsRead('identity_group_alias', row, GROUP_ALIAS_TAKEN);
}

/** @param read the alias as it was read, of a group that was asked about */
export function deleteGroupAlias({ id, group_id }: GroupAlias): Write {
  return deleteAsRead('identity_group_alias', { key: { id }, read: { group_id } }, CHANGED);
}

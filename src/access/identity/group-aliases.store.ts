import { deleteAsRead, saveAsRead } from '../../store/as-read.ts';
import type { Db } from '../../store/database.ts';
import { PAGE } from '../../store/in-pages.ts';
import type { Write } from '../../store/write.ts';
import type { GroupAlias } from './group.ts';
import { CHANGED } from './records.store.ts';

type Found = Promise<GroupAlias | undefined>;

const all = (db: Db) => db.selectFrom('identity_group_alias').selectAll();

export const findGroupAliasById = (db: Db, id: string): Found =>
  all(db).where('id', '=', id).executeTakeFirst();

export const findAliasOfGroup = (db: Db, group_id: string): Found =>
  all(db).where('group_id', '=', group_id).executeTakeFirst();

export const findGroupAlias = (db: Db, mount_accessor: string, name: string): Found =>
  all(db).where('mount_accessor', '=', mount_accessor).where('name', '=', name).executeTakeFirst();

export const listGroupAliasesById = (db: Db, ids: readonly string[]): Promise<GroupAlias[]> =>
  all(db).where('id', 'in', ids).orderBy('id').execute();

type Key = Pick<GroupAlias, 'id'>;

/** A page of the ids of all aliases of groups. */
export const listGroupAliasKeys = (db: Db, last: Key | undefined): Promise<Key[]> =>
  db
    .selectFrom('identity_group_alias')
    .select('id')
    .where('id', '>', last?.id ?? '')
    .orderBy('id')
    .limit(PAGE)
    .execute();

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

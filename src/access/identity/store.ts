import { sql } from 'kysely';
import { Breath } from '../../core/fairness/breath.ts';
import { deleteAsRead, holdAsRead, saveAsRead } from '../../store/as-read.ts';
import { build, type Db } from '../../store/database.ts';
import { compareIds, inBlocks } from '../../store/in-blocks.ts';
import { PAGE } from '../../store/in-pages.ts';
import type { IdentityEntityRow, IdentityGroupRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { type Entity, type EntitySettings, nameKey } from './entity.ts';
import type { Group, GroupAlias, GroupSettings } from './group.ts';

const CHANGED = 'it was changed by somebody else in the meantime; read it again';

export async function findEntityById(db: Db, id: string): Promise<Entity | undefined> {
  const query = db.selectFrom('identity_entity').selectAll().where('id', '=', id);
  const row = await query.executeTakeFirst();
  return row && entityOf(row);
}

/** Some entities, those that are there. */
export async function listEntitiesById(db: Db, ids: readonly string[]): Promise<Entity[]> {
  const rows = await db.selectFrom('identity_entity').selectAll().where('id', 'in', ids).execute();
  return rows.map(entityOf);
}

export async function findEntityByName(db: Db, name: string): Promise<Entity | undefined> {
  const query = db.selectFrom('identity_entity').selectAll().where('name_key', '=', nameKey(name));
  const row = await query.executeTakeFirst();
  return row && entityOf(row);
}

/** What a list shows of an entity or a group, and what it is ordered by. */
export interface Named {
  id: string;
  name: string;
  name_key: string;
}

/** Entities in the order of their names, a page of them after the last one. */
export function listEntityNames(db: Db, last: Named | undefined): Promise<Named[]> {
  return listNamed(db, 'identity_entity', last);
}

/** What entities are called, by their ids, as far as they are there. */
export async function listNamesOfEntities(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await inBlocks(ids, (some) =>
    db.selectFrom('identity_entity').select(['id', 'name']).where('id', 'in', some).execute(),
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Groups in the order of their names, a page of them after the last one. */
export function listGroupNames(db: Db, last: Named | undefined): Promise<Named[]> {
  return listNamed(db, 'identity_group', last);
}

function listNamed(
  db: Db,
  table: 'identity_entity' | 'identity_group',
  last: Named | undefined,
): Promise<Named[]> {
  return db
    .selectFrom(table)
    .select(['id', 'name', 'name_key'])
    .where('name_key', '>', last?.name_key ?? '')
    .orderBy('name_key')
    .limit(PAGE)
    .execute();
}

function entityOf({ body, name_key: _key, ...row }: IdentityEntityRow): Entity {
  return { ...row, ...(JSON.parse(body) as EntitySettings) };
}

function entityRow(entity: Entity): IdentityEntityRow {
  const { metadata, policies, disabled, ...row } = entity;
  const body = JSON.stringify({ metadata, policies, disabled } satisfies EntitySettings);
  return { ...row, name_key: nameKey(entity.name), body };
}

export function insertEntity(entity: Entity): Write {
  return write(build.insertInto('identity_entity').values(entityRow(entity)), {
    rows: 1,
    conflict: `entity name is already in use: ${entity.name}`,
  });
}

/** Refuses its write set unless an entity still is what it was. */
export function holdEntity({ id, version }: Pick<Entity, 'id' | 'version'>): Write {
  return holdAsRead('identity_entity', { key: { id }, read: { version } }, CHANGED);
}

/** @param entity as read, with its new values; refused when its version is no longer that */
export function updateEntity(entity: Entity): Write {
  const { id, version, ...row } = entityRow(entity);
  return write(
    build
      .updateTable('identity_entity')
      .set({ ...row, version: version + 1 })
      .where('id', '=', id)
      .where('version', '=', version),
    { rows: 1, conflict: CHANGED },
  );
}

/**
 * Removes an entity that is still called what it was when it was read: it may have been found by its
 * name. Its aliases go with it; see also {@link deleteMemberships}.
 */
export function deleteEntity({ id, name }: Pick<Entity, 'id' | 'name'>): Write {
  return deleteAsRead('identity_entity', { key: { id }, read: { name } }, CHANGED);
}

/** Waits for whoever stands for some entities or gives something to them, and keeps others from it. */
export const takeEntities = (ids: readonly string[]): Write =>
  write(
    build
      .selectFrom('identity_entity')
      .select('id')
      .where('id', 'in', ids)
      .orderBy('id')
      .forUpdate(),
  );

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

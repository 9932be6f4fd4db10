import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Expression, sql } from 'kysely';
import { Breath } from '../../core/breath.ts';
import { deleteAsRead, saveAsRead } from '../../store/as-read.ts';
import { build, type Db, prepared } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import { listInPages, PAGE } from '../../store/in-pages.ts';
import type { IdentityAliasRow, IdentityEntityRow, IdentityGroupRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { type Alias, type Entity, type EntitySettings, nameKey } from './entity.ts';
import type { Group, GroupAlias, GroupSettings } from './group.ts';

const CHANGED = 'it was changed by somebody else in the meantime; read it again';

export async function findEntityById(db: Db, id: string): Promise<Entity | undefined> {
  const query = db.selectFrom('identity_entity').selectAll().where('id', '=', id);
  const row = await query.executeTakeFirst();
  return row && entityOf(row);
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
  return db
    .selectFrom('identity_entity')
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
export const holdEntity: (entity: Pick<Entity, 'id' | 'version'>) => Write = (() => {
  const hold = preparedHold<{ id: string; version: number }>(
    (from, { id, version }) =>
      from
        .selectFrom('identity_entity')
        .select('id')
        .where('id', '=', id)
        .where('version', '=', version)
        .forShare(),
    { rows: 1, conflict: CHANGED },
  );
  return ({ id, version }) => hold({ id, version });
})();

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

const holdKnownAlias = preparedHold<{
  id: string;
  entity_id: string;
  mount_accessor: string;
  name_key: string;
  moves: number;
}>(
  (from, p) =>
    from
      .selectFrom('identity_alias')
      .select('id')
      .where('id', '=', p.id)
      .where('entity_id', '=', p.entity_id)
      .where('mount_accessor', '=', p.mount_accessor)
      .where('name_key', '=', p.name_key)
      .where('moves', '=', p.moves)
      .forShare(),
  { rows: 1, conflict: CHANGED },
);

/** Refuses its write set unless somebody still is called so by a mount. */
export function holdAlias({ id, entity_id, mount_accessor, name, moves }: Alias): Write {
  return holdKnownAlias({ id, entity_id, mount_accessor, name_key: nameKey(name), moves });
}

/** What waits for log-ins that are being made by an alias, and keeps others from being made. */
const takeAlias = preparedHold<{ id: string }>((from, { id }) =>
  from.selectFrom('identity_alias').select('id').where('id', '=', id).forUpdate(),
);
const takeNamedAlias = preparedHold<{ mount_accessor: string; name_key: string }>((from, p) =>
  from
    .selectFrom('identity_alias')
    .select('id')
    .where('mount_accessor', '=', p.mount_accessor)
    .where('name_key', '=', p.name_key)
    .forUpdate(),
);

const byFactors = prepared<{ mount_accessor: string; name_key: string }, IdentityAliasRow>(
  (from, { mount_accessor, name_key }) =>
    from
      .selectFrom('identity_alias')
      .selectAll()
      .where('mount_accessor', '=', mount_accessor)
      .where('name_key', '=', name_key),
);

/** The alias of a log-in: what a mount calls somebody. */
export async function findAlias(
  db: Db,
  mount_accessor: string,
  name: string,
): Promise<Alias | undefined> {
  const row = await byFactors.first(db, { mount_accessor, name_key: nameKey(name) });
  return row && aliasOf(row);
}

export async function findAliasById(db: Db, id: string): Promise<Alias | undefined> {
  const query = db.selectFrom('identity_alias').selectAll().where('id', '=', id);
  const row = await query.executeTakeFirst();
  return row && aliasOf(row);
}

/** What mounts call an entity, in the order of mounts and names. */
export async function listAliases(db: Db, entity_id: string): Promise<Alias[]> {
  const query = db
    .selectFrom('identity_alias')
    .selectAll()
    .where('entity_id', '=', entity_id)
    .orderBy('mount_accessor')
    .orderBy('name_key');
  return (await query.execute()).map(aliasOf);
}

/** As {@link listAliases}, of some entities. */
export async function listAliasesOfAll(db: Db, entity_ids: readonly string[]): Promise<Alias[]> {
  const query = db.selectFrom('identity_alias').selectAll().where('entity_id', 'in', entity_ids);
  return (await query.orderBy('mount_accessor').orderBy('name_key').execute()).map(aliasOf);
}

/** Aliases by their ids, in no order. */
export async function listAliasesById(db: Db, ids: readonly string[]): Promise<Alias[]> {
  const query = db.selectFrom('identity_alias').selectAll().where('id', 'in', ids);
  return (await query.execute()).map(aliasOf);
}

/** An alias, and what a list of them is ordered by. */
export type AliasKey = Pick<IdentityAliasRow, 'id' | 'mount_accessor' | 'name_key'>;

/** Aliases in the same order, a page of them after the last one. */
export function listAliasKeys(db: Db, last: AliasKey | undefined): Promise<AliasKey[]> {
  const { mount_accessor = '', name_key = '' } = last ?? {};
  return aliasPage.all(db, { mount_accessor, name_key, limit: PAGE });
}

const aliasPage = prepared<{ mount_accessor: string; name_key: string; limit: number }, AliasKey>(
  (from, p) =>
    from
      .selectFrom('identity_alias')
      .select(['id', 'mount_accessor', 'name_key'])
      .where((row) =>
        row(
          row.refTuple('mount_accessor', 'name_key'),
          '>',
          row.tuple(row.val(p.mount_accessor), row.val(p.name_key)),
        ),
      )
      .orderBy('mount_accessor')
      .orderBy('name_key')
      .limit(p.limit),
);

function aliasOf({ body, name_key: _key, ...row }: IdentityAliasRow): Alias {
  return { ...row, custom_metadata: JSON.parse(body) };
}

function aliasRow({ custom_metadata, ...alias }: Alias): IdentityAliasRow {
  return { ...alias, name_key: nameKey(alias.name), body: JSON.stringify(custom_metadata) };
}

export const ALIAS_TAKEN =
  'entity_alias: the name is in use on this mount, or the entity has an alias of this mount already';

export function insertAlias(alias: Alias): Write {
  return write(build.insertInto('identity_alias').values(aliasRow(alias)), {
    rows: 1,
    conflict: ALIAS_TAKEN,
  });
}

/** @param read the alias as it was read */
export function updateAlias(alias: Alias, read: Alias): Write {
  const { id, ...next } = aliasRow(alias);
  const row = { key: { id }, read: comparableAlias(read), next };
  return saveAsRead('identity_alias', row, ALIAS_TAKEN);
}

/** Without its key, which an older program may have folded in another way. */
function comparableAlias(alias: Alias): Omit<IdentityAliasRow, 'id' | 'name_key'> {
  const { id: _, name_key: __, ...row } = aliasRow(alias);
  return row;
}

/** Aliases that go, or go to somebody else: by their id, by what a mount calls them, or all of an entity. */
export type AliasesAt =
  | { id: string }
  | { mount_accessor: string; name: string }
  | { entity_id: string };

const takeAliasesOf = preparedHold<{ entity_id: string }>((from, { entity_id }) =>
  from
    .selectFrom('identity_alias')
    .select('id')
    .where('entity_id', '=', entity_id)
    .orderBy('id')
    .forUpdate(),
);

/** Waits for whoever stands for an entity or gives something to it, and keeps others from it. */
export const takeEntity: (entity: { id: string }) => Write = preparedHold<{ id: string }>(
  (from, { id }) =>
    from.selectFrom('identity_entity').select('id').where('id', '=', id).forUpdate(),
);

/** Waits for log-ins that are being made by these aliases, and keeps others from being made. */
export function takeAliases(at: AliasesAt): Write {
  if ('id' in at) return takeAlias(at);
  if ('entity_id' in at) return takeAliasesOf(at);
  return takeNamedAlias({ mount_accessor: at.mount_accessor, name_key: nameKey(at.name) });
}

/** Their ids as a question, answered when the write set runs. */
export function aliasIds(at: AliasesAt): Expression<string> {
  const all = build.selectFrom('identity_alias').select('identity_alias.id');
  if ('id' in at) return sql<string>`${all.where('identity_alias.id', '=', at.id)}`;
  if ('entity_id' in at) {
    return sql<string>`${all.where('identity_alias.entity_id', '=', at.entity_id)}`;
  }
  const named = all
    .where('identity_alias.mount_accessor', '=', at.mount_accessor)
    .where('identity_alias.name_key', '=', nameKey(at.name));
  return sql<string>`${named}`;
}

export function deleteAliases(at: AliasesAt): Write {
  return write(build.deleteFrom('identity_alias').where('id', 'in', aliasIds(at)));
}

/** Where aliases are, and what a page of those of a mount is ordered by. */
const ALIASES = [
  ['identity_alias', 'name_key'],
  ['identity_group_alias', 'name'],
] as const;

/** What deletes a page of what a mount that is gone called anybody; undefined when nothing is left. */
export async function planAliasPage(
  db: Db,
  mount_accessor: string,
  limit: number,
): Promise<Write | undefined> {
  for (const [table, key] of ALIASES) {
    const of = db.selectFrom(table).select(sql.ref<string>(key).as('key'));
    const page = of.where('mount_accessor', '=', mount_accessor).orderBy(key).limit(limit);
    const last = (await page.execute()).at(-1);
    if (!last) continue;
    const gone = build.deleteFrom(table).where('mount_accessor', '=', mount_accessor);
    return write(gone.where(sql.ref(key), '<=', last.key));
  }
  return undefined;
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

/** Groups read at once, each with a hundred kilobytes at most. */
const GROUPS_AT_ONCE = 32;

/** Groups in the order of their ids as they are given, without those that are not there. */
export async function listGroupsById(db: Db, ids: readonly string[]): Promise<Group[]> {
  const groups = new Map<string, Group>();
  const breath = new Breath();
  for (let at = 0; at < ids.length; at += GROUPS_AT_ONCE) {
    const some = ids.slice(at, at + GROUPS_AT_ONCE);
    const query = db.selectFrom('identity_group').selectAll().where('id', 'in', some);
    for (const row of await query.execute()) groups.set(row.id, groupOf(row));
    await breath.take();
  }
  return ids.flatMap((id) => groups.get(id) ?? []);
}

/** What groups are called, as far as they are there. */
export async function listNamesOfGroups(db: Db, ids: readonly string[]): Promise<string[]> {
  const names: string[] = [];
  for (const some of inPieces(ids)) {
    const rows = await db
      .selectFrom('identity_group')
      .select('name')
      .where('id', 'in', some)
      .execute();
    names.push(...rows.map(({ name }) => name));
  }
  return names;
}

/** Groups in the order of their names, a page of them after the last one. */
export function listGroupNames(db: Db, last: Named | undefined): Promise<Named[]> {
  return db
    .selectFrom('identity_group')
    .select(['id', 'name', 'name_key'])
    .where('name_key', '>', last?.name_key ?? '')
    .orderBy('name_key')
    .limit(PAGE)
    .execute();
}

function groupOf({ body, name_key: _key, ...row }: IdentityGroupRow): Group {
  return { ...row, ...(JSON.parse(body) as GroupSettings) };
}

function groupRow(group: Group): IdentityGroupRow {
  const { type, metadata, policies, ...row } = group;
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

/** As {@link deleteEntity}; its members and its alias go with it. */
export function deleteGroup({ id, name }: Pick<Group, 'id' | 'name'>): Write {
  return deleteAsRead('identity_group', { key: { id }, read: { name } }, CHANGED);
}

export type MemberKind = 'entity' | 'group';

/** Ids of a group's members, in byte order. */
export async function listMembers(db: Db, group_id: string, kind: MemberKind): Promise<string[]> {
  const rows = await listInPages<{ member_id: string }>((last) =>
    db
      .selectFrom('identity_group_member')
      .select('member_id')
      .where('group_id', '=', group_id)
      .where('kind', '=', kind)
      .where('member_id', '>', last?.member_id ?? '')
      .orderBy('member_id')
      .limit(PAGE)
      .execute(),
  );
  return rows.map((row) => row.member_id);
}

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
export async function listGroupsOf(db: Db, kind: MemberKind, member_id: string): Promise<string[]> {
  const rows = await listInPages<{ group_id: string }>((last) =>
    db
      .selectFrom('identity_group_member')
      .select('group_id')
      .where('member_id', '=', member_id)
      .where('kind', '=', kind)
      .where('group_id', '>', last?.group_id ?? '')
      .orderBy('group_id')
      .limit(PAGE)
      .execute(),
  );
  return rows.map((row) => row.group_id);
}

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

export async function findGroupAliasById(db: Db, id: string): Promise<GroupAlias | undefined> {
  return db.selectFrom('identity_group_alias').selectAll().where('id', '=', id).executeTakeFirst();
}

export async function listGroupAliases(db: Db): Promise<GroupAlias[]> {
  return listInPages((last) =>
    db
      .selectFrom('identity_group_alias')
      .selectAll()
      .where('id', '>', last?.id ?? '')
      .orderBy('id')
      .limit(PAGE)
      .execute(),
  );
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

export function deleteGroupAlias(id: string): Write {
  return write(build.deleteFrom('identity_group_alias').where('id', '=', id));
}

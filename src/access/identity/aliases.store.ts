import { type Expression, sql } from 'kysely';
import { holdAsRead, saveAsRead } from '../../store/as-read.ts';
import { build, type Db, prepared } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import { PAGE } from '../../store/in-pages.ts';
import type { IdentityAliasRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import type { Alias } from './entity.ts';
import { nameKey } from './record.ts';
import { CHANGED } from './records.store.ts';

/** Refuses its write set unless somebody still is called so by a mount. */
export function holdAlias({ id, entity_id, mount_accessor, name, moves }: Alias): Write {
  const read = { entity_id, mount_accessor, name_key: nameKey(name), moves };
  return holdAsRead('identity_alias', { key: { id }, read }, CHANGED);
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

/** Whether a mount calls the entity of an alias something else as well. */
export async function hasOtherAlias(
  db: Db,
  { id, entity_id, mount_accessor }: Pick<Alias, 'id' | 'entity_id' | 'mount_accessor'>,
): Promise<boolean> {
  const other = db
    .selectFrom('identity_alias')
    .select('id')
    .where('entity_id', '=', entity_id)
    .where('mount_accessor', '=', mount_accessor)
    .where('id', '!=', id);
  return (await other.limit(1).execute()).length > 0;
}

const ofEntity = prepared<OfEntity, IdentityAliasRow>((from, p) =>
  from
    .selectFrom('identity_alias')
    .selectAll()
    .where('entity_id', '=', p.entity_id)
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

type OfEntity = { entity_id: string; mount_accessor: string; name_key: string; limit: number };

/** What mounts call an entity, in the order of mounts and names, read as they are asked for. */
export async function* readAliases(db: Db, entity_id: string): AsyncGenerator<Alias> {
  for (let after = { mount_accessor: '', name_key: '' }; ; ) {
    const { mount_accessor: mount, name_key: name } = after;
    const page = { entity_id, mount_accessor: mount, name_key: name, limit: PAGE };
    const { rows, more } = await ofEntity.some(db, page, 'body');
    for (const row of rows) yield aliasOf(row);
    const last = rows.at(-1);
    if (!last || (!more && rows.length < PAGE)) return;
    const { mount_accessor, name_key } = last;
    after = { mount_accessor, name_key };
  }
}

/** As {@link readAliases}, all of them. */
export function listAliases(db: Db, entity_id: string): Promise<Alias[]> {
  return Array.fromAsync(readAliases(db, entity_id));
}

/** An alias but for what others say of it. */
type AliasName = Omit<IdentityAliasRow, 'name_key' | 'moves' | 'body'>;

/** As {@link listAliases}, of some entities, without what others say of them. */
export function listAliasNames(db: Db, entity_ids: readonly string[]): Promise<AliasName[]> {
  return db
    .selectFrom('identity_alias')
    .select(['id', 'entity_id', 'mount_accessor', 'name', 'created_at_ms', 'updated_at_ms'])
    .where('entity_id', 'in', entity_ids)
    .orderBy('mount_accessor')
    .orderBy('name_key')
    .execute();
}

/** How many aliases some entities have; those without any are left out. */
export async function countAliases(
  db: Db,
  entity_ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('identity_alias')
    .select(({ fn }) => ['entity_id', fn.countAll<number | string>().as('count')])
    .where('entity_id', 'in', entity_ids)
    .groupBy('entity_id')
    .execute();
  return new Map(rows.map(({ entity_id, count }) => [entity_id, Number(count)]));
}

/** Aliases by their ids, in no order. */
export async function listAliasesById(db: Db, ids: readonly string[]): Promise<Alias[]> {
  const query = db.selectFrom('identity_alias').selectAll().where('id', 'in', ids);
  return (await query.execute()).map(aliasOf);
}

/** An alias, and what a list of them is ordered by. */
type AliasKey = Pick<IdentityAliasRow, 'id' | 'mount_accessor' | 'name_key'>;

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

/** Aliases that go, or go to somebody else: by their id, by what a mount calls them, or all of some entities. */
export type AliasesAt =
  | { id: string }
  | { mount_accessor: string; name: string }
  | { entity_ids: readonly string[] };

const takeAliasesOf = (entity_ids: readonly string[]): Write =>
  write(
    build
      .selectFrom('identity_alias')
      .select('id')
      .where('entity_id', 'in', entity_ids)
      .orderBy('id')
      .forUpdate(),
  );

/** Waits for log-ins that are being made by these aliases, and keeps others from being made. */
export function takeAliases(at: AliasesAt): Write {
  if ('id' in at) return takeAlias(at);
  if ('entity_ids' in at) return takeAliasesOf(at.entity_ids);
  return takeNamedAlias({ mount_accessor: at.mount_accessor, name_key: nameKey(at.name) });
}

/** Their ids as a question, answered when the write set runs. */
export function aliasIds(at: AliasesAt): Expression<string> {
  const all = build.selectFrom('identity_alias').select('identity_alias.id');
  if ('id' in at) return sql<string>`${all.where('identity_alias.id', '=', at.id)}`;
  if ('entity_ids' in at) {
    return sql<string>`${all.where('identity_alias.entity_id', 'in', at.entity_ids)}`;
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

/** Ids of the aliases that such a page begins with. */
export async function listAliasIdsOfMount(
  db: Db,
  mount_accessor: string,
  limit: number,
): Promise<string[]> {
  const of = db.selectFrom('identity_alias').select('id');
  const page = of.where('mount_accessor', '=', mount_accessor).orderBy('name_key').limit(limit);
  return (await page.execute()).map(({ id }) => id);
}

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

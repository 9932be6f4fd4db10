import { deleteAsRead, holdAsRead } from '../../store/as-read.ts';
import { build, type Db } from '../../store/database.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import type { IdentityEntityRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { type Entity, type EntitySettings, nameKey } from './entity.ts';
import { CHANGED, listNamed, type Named } from './names.store.ts';

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

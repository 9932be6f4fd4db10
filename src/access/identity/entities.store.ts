import { build, type Db } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import type { Entity } from './entity.ts';
import { recordStore } from './records.store.ts';

export const entityStore = recordStore<Entity>('identity_entity', 'entity', [
  'metadata',
  'policies',
  'disabled',
]);

export const {
  findById: findEntityById,
  findByName: findEntityByName,
  insert: insertEntity,
  update: updateEntity,
  hold: holdEntity,
  delete: deleteEntity,
} = entityStore;

/** Some entities, those that are there. */
export async function listEntitiesById(db: Db, ids: readonly string[]): Promise<Entity[]> {
  const rows = await db.selectFrom('identity_entity').selectAll().where('id', 'in', ids).execute();
  return rows.map(entityStore.parse);
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

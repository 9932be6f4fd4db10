import { build, type Db, prepared, preparedWrite } from '../../store/database.ts';
import { listInParts, PAGE } from '../../store/in-pages.ts';
import type { ResourceRow } from '../../store/tables.ts';
import { type Guard, type Write, write } from '../../store/write.ts';
import type { Resource } from './resource.ts';
import { LONG, resourceOf } from './row.ts';
import type { ResourceTypeName } from './types.ts';

// All resources share one table: they are found, listed, paged, versioned and removed alike.
// What only one type knows is its JSON body; what binds two resources is a link (../links).

const byId = prepared<{ id: string }, ResourceRow>((from, { id }) =>
  from.selectFrom('resource').selectAll().where('id', '=', id),
);

export async function findResource(db: Db, id: string): Promise<Resource | undefined> {
  const row = await byId.first(db, { id });
  return row && resourceOf(row);
}

const versionById = prepared<{ id: string }, Pick<ResourceRow, 'version'>>((from, { id }) =>
  from.selectFrom('resource').select('version').where('id', '=', id),
);

/** @returns undefined for what is not there */
export async function findVersion(db: Db, id: string): Promise<number | undefined> {
  return (await versionById.first(db, { id }))?.version;
}

const byKey = prepared<{ type: string; key: string }, ResourceRow>((from, { type, key }) =>
  from.selectFrom('resource').selectAll().where('type', '=', type).where('unique_key', '=', key),
);

export async function findResourceByKey(
  db: Db,
  type: ResourceTypeName,
  key: string,
): Promise<Resource | undefined> {
  const row = await byKey.first(db, { type, key });
  return row && resourceOf(row);
}

const byName = prepared<{ type: string; container_id: string; name: string }, ResourceRow>(
  (from, { type, container_id, name }) =>
    from
      .selectFrom('resource')
      .selectAll()
      .where('container_id', '=', container_id)
      .where('type', '=', type)
      .where('name', '=', name),
);

export async function findResourceByName(
  db: Db,
  type: ResourceTypeName,
  container_id: string,
  name: string,
): Promise<Resource | undefined> {
  const row = await byName.first(db, { type, container_id, name });
  return row && resourceOf(row);
}

/** Everything of a type in a container, oldest first. For what is few. */
export async function listContained(
  db: Db,
  type: ResourceTypeName,
  container_id: string,
): Promise<Resource[]> {
  const rows = await db
    .selectFrom('resource')
    .selectAll()
    .where('container_id', '=', container_id)
    .where('type', '=', type)
    .orderBy('created_ms')
    .orderBy('id')
    .execute();
  return rows.map(resourceOf);
}

/** Ids of everything of a type that belongs to a user, in no order. */
export async function listOwnedIds(
  db: Db,
  type: ResourceTypeName,
  owner_id: string,
): Promise<string[]> {
  const owned = db.selectFrom('resource').select('id').where('owner_id', '=', owner_id);
  return (await owned.where('type', '=', type).execute()).map(({ id }) => id);
}

/**
 * Everything of a type, oldest first. For what is small and cached.
 *
 * @param pick what is needed of each: the rest of a long row is not held while the others are read
 */
export async function listOfType<Item>(
  db: Db,
  type: ResourceTypeName,
  pick: (resource: Resource) => Item,
): Promise<Item[]> {
  return listInParts<ResourceRow, Item>(
    (last) => {
      const page = { type, ms: last?.created_ms ?? -1, id: last?.id ?? '', limit: PAGE };
      return pageOfType.some(db, page, ...LONG);
    },
    (row) => pick(resourceOf(row)),
  );
}

const pageOfType = prepared<{ type: string; ms: number; id: string; limit: number }, ResourceRow>(
  (from, p) =>
    from
      .selectFrom('resource')
      .selectAll()
      .where('type', '=', p.type)
      .where((row) =>
        row(row.refTuple('created_ms', 'id'), '>', row.tuple(row.val(p.ms), row.val(p.id))),
      )
      .orderBy('created_ms')
      .orderBy('id')
      .limit(p.limit),
);

/** Everything of a type whose key begins with a word and a colon, in the order of the keys. */
export async function listKeyed(db: Db, type: ResourceTypeName, word: string): Promise<Resource[]> {
  return listInParts<ResourceRow, Resource>((last) => {
    // In byte order a semicolon follows the colon.
    const page = { type, after: last?.unique_key ?? `${word}:`, before: `${word};`, limit: PAGE };
    return pageOfKeyed.some(db, page, ...LONG);
  }, resourceOf);
}

const pageOfKeyed = prepared<
  { type: string; after: string; before: string; limit: number },
  ResourceRow
>((from, p) =>
  from
    .selectFrom('resource')
    .selectAll()
    .where('type', '=', p.type)
    .where('unique_key', '>', p.after)
    .where('unique_key', '<', p.before)
    .orderBy('unique_key')
    .limit(p.limit),
);

export const insertResource: (resource: Resource) => Write = (() => {
  const insert = preparedWrite<
    Omit<ResourceRow, never> & Record<string, string | number | Uint8Array | null>
  >(
    (into, row) =>
      into.insertInto('resource').values({
        id: row.id,
        type: row.type,
        subtype: row.subtype,
        scope_id: row.scope_id,
        container_id: row.container_id,
        owner_id: row.owner_id,
        name: row.name,
        description: row.description,
        unique_key: row.unique_key,
        version: row.version,
        created_ms: row.created_ms,
        updated_ms: row.updated_ms,
        body: row.body,
        secret_sealed: row.secret_sealed,
      }),
    { rows: 1 },
  );
  return (resource) => insert({ ...resource, body: JSON.stringify(resource.body) });
})();

/**
 * Changes a resource, if it still has the version that the change was decided on.
 *
 * @param expected the version it was read with; the new one is in `resource`
 */
export function saveResource(resource: Resource, expected: number, guard: Guard = {}): Write {
  const { name, description, unique_key, owner_id, version, updated_ms, secret_sealed } = resource;
  return write(
    build
      .updateTable('resource')
      .set({
        name,
        description,
        unique_key,
        owner_id,
        version,
        updated_ms,
        body: JSON.stringify(resource.body),
        secret_sealed,
      })
      .where('id', '=', resource.id)
      .where('version', '=', expected),
    { rows: 1, ...guard },
  );
}

/** Columns of a resource that a change can name. */
type ChangedColumns = Partial<
  Pick<
    Resource,
    'name' | 'description' | 'unique_key' | 'owner_id' | 'updated_ms' | 'body' | 'secret_sealed'
  >
>;

/**
 * Changes what is named of a resource and nothing else, one version on, if it still has the
 * version that the change was decided on. What can change without a version, such as whose an
 * account is, is thereby never set back to what it was when the resource was read.
 */
export function changeResource(id: string, expected: number, columns: ChangedColumns): Write {
  const { body, ...others } = columns;
  return write(
    build
      .updateTable('resource')
      .set({
        ...others,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        version: expected + 1,
      })
      .where('id', '=', id)
      .where('version', '=', expected),
    { rows: 1 },
  );
}

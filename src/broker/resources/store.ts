import { type Compilable, type Expression, type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { build, type Db, type Prepared, prepared, preparedWrite } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import { compareIds, inBlocks } from '../../store/in-blocks.ts';
import { listInPages, PAGE } from '../../store/in-pages.ts';
import type { ResourceRow, Tables } from '../../store/tables.ts';
import { type Guard, type Write, write } from '../../store/write.ts';
import type { Resource } from '../resource.ts';
import type { ResourceTypeName } from '../resource-types.ts';

// All resources share one table: they are found, listed, paged, versioned and removed alike.
// What only one type knows is its JSON body; what binds two resources is a link.

const byId = prepared<{ id: string }, ResourceRow>((from, { id }) =>
  from.selectFrom('resource').selectAll().where('id', '=', id),
);

export async function findResource(db: Db, id: string): Promise<Resource | undefined> {
  const row = await byId.first(db, { id });
  return row && resourceOf(row);
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

/** How many ids one statement takes: few sizes, so that each is compiled once. */
const SIZES = [8, 64, 512] as const;

type More = Record<string, string | number>;

/**
 * A read of rows by many ids, compiled once for each of some sizes; what is missing to a size is
 * filled up with an id that is there already.
 */
export function preparedForIds<P extends More, Row>(
  make: (from: Kysely<Tables>, ids: readonly string[], more: P) => Compilable<Row>,
): (db: Db, ids: readonly string[], more: P) => Promise<Row[]> {
  const statements = new Map<number, Prepared<More, Row>>();
  const statementFor = (size: number): Prepared<More, Row> => {
    const known = statements.get(size);
    if (known) return known;
    const made = prepared<More, Row>((from, p) =>
      make(
        from,
        Array.from({ length: size }, (_, at) => p[`id${at}`] as string),
        p as P,
      ),
    );
    statements.set(size, made);
    return made;
  };
  return async (db, ids, more) => {
    const found: Row[] = [];
    for (let at = 0; at < ids.length; ) {
      const size = SIZES.find((one) => one >= ids.length - at) ?? SIZES[2];
      const p: More = { ...more };
      for (let slot = 0; slot < size; slot++) {
        p[`id${slot}`] = ids[Math.min(at + slot, ids.length - 1)] ?? '';
      }
      for (const row of await statementFor(size).all(db, p)) found.push(row);
      at += size;
    }
    return found;
  };
}

const byIds = preparedForIds<Record<never, never>, ResourceRow>((from, ids) =>
  from.selectFrom('resource').selectAll().where('id', 'in', ids),
);

/** Resources by their ids, in no order; those that are gone are left out. */
export async function listResourcesById(db: Db, ids: readonly string[]): Promise<Resource[]> {
  // An id that is named twice is found once.
  return (await byIds(db, [...new Set(ids)], {})).map(resourceOf);
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

/** Everything of a type that belongs to a user. */
export async function listOwned(
  db: Db,
  type: ResourceTypeName,
  owner_id: string,
): Promise<Resource[]> {
  const rows = await db
    .selectFrom('resource')
    .selectAll()
    .where('owner_id', '=', owner_id)
    .where('type', '=', type)
    .orderBy('created_ms')
    .orderBy('id')
    .execute();
  return rows.map(resourceOf);
}

/** Everything of a type that belongs to some users, oldest first. */
export async function listOwnedByAll(
  db: Db,
  type: ResourceTypeName,
  owner_ids: readonly string[],
): Promise<Resource[]> {
  const rows = await inBlocks(
    [...new Set(owner_ids)],
    (some) =>
      db
        .selectFrom('resource')
        .selectAll()
        .where('owner_id', 'in', some)
        .where('type', '=', type)
        .orderBy('created_ms')
        .orderBy('id')
        .execute(),
    (a, b) => a.created_ms - b.created_ms || compareIds(a.id, b.id),
  );
  return rows.map(resourceOf);
}

/** Everything of a type, oldest first. For what is small and cached. */
export async function listOfType(db: Db, type: ResourceTypeName): Promise<Resource[]> {
  const rows = await listInPages<ResourceRow>((last) =>
    db
      .selectFrom('resource')
      .selectAll()
      .where('type', '=', type)
      .where(({ and, eb, or }) =>
        or([
          eb('created_ms', '>', last?.created_ms ?? -1),
          and([eb('created_ms', '=', last?.created_ms ?? -1), eb('id', '>', last?.id ?? '')]),
        ]),
      )
      .orderBy('created_ms')
      .orderBy('id')
      .limit(PAGE)
      .execute(),
  );
  return rows.map(resourceOf);
}

/** What tells whether one knows a resource already, of everything of a type. */
export interface Seen {
  id: string;
  version: number;
  updated_ms: number;
}

/** The versions of everything of a type, in the order of ids. */
export function listVersions(db: Db, type: ResourceTypeName): Promise<Seen[]> {
  return listInPages((last) =>
    db
      .selectFrom('resource')
      .select(['id', 'version', 'updated_ms'])
      .where('type', '=', type)
      .where('id', '>', last?.id ?? '')
      .orderBy('id')
      .limit(PAGE)
      .execute(),
  );
}

const linksFrom = prepared<{ from_id: string; kind: string }, { to_id: string }>(
  (from, { from_id, kind }) =>
    from
      .selectFrom('resource_link')
      .select('to_id')
      .where('from_id', '=', from_id)
      .where('kind', '=', kind)
      .orderBy('to_id'),
);

/** Ids that a resource refers to, in byte order. */
export async function listLinksFrom(db: Db, from_id: string, kind: LinkKind): Promise<string[]> {
  return (await linksFrom.all(db, { from_id, kind })).map((row) => row.to_id);
}

const linksTo = prepared<{ to_id: string; kind: string }, { from_id: string }>(
  (from, { to_id, kind }) =>
    from
      .selectFrom('resource_link')
      .select('from_id')
      .where('to_id', '=', to_id)
      .where('kind', '=', kind)
      .orderBy('from_id'),
);

/** Ids of the resources that refer to this one, in byte order. */
export async function listLinksTo(db: Db, to_id: string, kind: LinkKind): Promise<string[]> {
  return (await linksTo.all(db, { to_id, kind })).map((row) => row.from_id);
}

/** Links of some kinds from many resources at once. */
export async function listLinksOfAll(
  db: Db,
  from_ids: readonly string[],
  kinds: readonly LinkKind[],
): Promise<{ from_id: string; kind: string; to_id: string }[]> {
  return inBlocks(
    [...new Set(from_ids)],
    (some) =>
      db
        .selectFrom('resource_link')
        .selectAll()
        .where('from_id', 'in', some)
        .where('kind', 'in', kinds)
        .orderBy('to_id')
        .execute(),
    (a, b) => compareIds(a.to_id, b.to_id),
  );
}

/** Links of one kind to many resources at once. */
export async function listLinksToAll(
  db: Db,
  to_ids: readonly string[],
  kind: LinkKind,
): Promise<{ from_id: string; to_id: string }[]> {
  return inBlocks(
    [...new Set(to_ids)],
    (some) =>
      db
        .selectFrom('resource_link')
        .select(['from_id', 'to_id'])
        .where('to_id', 'in', some)
        .where('kind', '=', kind)
        .orderBy('from_id')
        .execute(),
    (a, b) => compareIds(a.from_id, b.from_id),
  );
}

/** Links of a kind, whole. For what is cached: members and principals. */
export function listLinks(db: Db, kind: LinkKind): Promise<Link[]> {
  return listInPages<Link>((last) =>
    db
      .selectFrom('resource_link')
      .select(['from_id', 'to_id'])
      .where('kind', '=', kind)
      .where(({ and, eb, or }) =>
        or([
          eb('to_id', '>', last?.to_id ?? ''),
          and([eb('to_id', '=', last?.to_id ?? ''), eb('from_id', '>', last?.from_id ?? '')]),
        ]),
      )
      .orderBy('to_id')
      .orderBy('from_id')
      .limit(PAGE)
      .execute(),
  );
}

interface Link {
  from_id: string;
  to_id: string;
}

/** What one resource can be to another. */
export type LinkKind =
  | 'group-member'
  | 'role-principal'
  | 'host-set-host'
  | 'target-host-source'
  | 'target-brokered'
  | 'target-injected'
  | 'alias-destination'
  | 'log-in-account';

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
export type ChangedColumns = Partial<
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

/**
 * Refuses its write set unless a resource is there, and keeps it there until the set is durable:
 * what is put into it can then not outlive it.
 */
export function holdResource(id: string): Write {
  return hold({ id });
}

const hold = preparedHold<{ id: string }>(
  (from, { id }) => from.selectFrom('resource').select('id').where('id', '=', id).forKeyShare(),
  { rows: 1 },
);

/** As {@link holdResource}, and nobody changes it either: refused if it has another version. */
export const holdVersion = preparedHold<{ id: string; version: number }>(
  (from, { id, version }) =>
    from
      .selectFrom('resource')
      .select('id')
      .where('id', '=', id)
      .where('version', '=', version)
      .forShare(),
  { rows: 1 },
);

/** Links of one kind from one resource. */
interface Links {
  from_id: string;
  kind: LinkKind;
  to_ids: readonly string[];
}

/** What a link must lead into; absent: anywhere. */
interface Inside {
  scope_id?: string;
  container_id?: string;
}

/** Ids of one statement: making one for each of thousands would hold everybody up. */
const IDS_AT_ONCE = 500;

const inPieces = (ids: readonly string[]): (readonly string[])[] =>
  Array.from({ length: Math.ceil(ids.length / IDS_AT_ONCE) }, (_, at) =>
    ids.slice(at * IDS_AT_ONCE, (at + 1) * IDS_AT_ONCE),
  );

/** Links a resource to others, each as {@link insertLink} does. @param links.to_ids each named once */
export function insertLinks({ to_ids, ...link }: Links, inside: Inside = {}): Write[] {
  return inPieces(to_ids).map((ids) => insertSome({ ...link, to_ids: ids }, inside));
}

/** Takes links of a resource away, each of which must be there. */
export function deleteLinks({ from_id, kind, to_ids }: Links): Write[] {
  return inPieces(to_ids).map((ids) =>
    write(
      build
        .deleteFrom('resource_link')
        .where('from_id', '=', from_id)
        .where('kind', '=', kind)
        .where('to_id', 'in', ids),
      { rows: ids.length },
    ),
  );
}

/**
 * Links two resources, if the one referred to is still there and where it is expected to be.
 *
 * @param inside the container or scope that the other must lie in
 */
export function insertLink(
  { to_id, ...link }: { from_id: string; kind: LinkKind; to_id: string },
  inside: Inside = {},
): Write {
  return insertSome({ ...link, to_ids: [to_id] }, inside);
}

function insertSome(link: Links, inside: Inside): Write {
  let there = build
    .selectFrom('resource')
    .where('id', 'in', link.to_ids)
    .select((row) => [
      row.val(link.from_id).as('from_id'),
      row.val(link.kind).as('kind'),
      row.ref('resource.id').as('to_id'),
    ]);
  if (inside.scope_id !== undefined) there = there.where('scope_id', '=', inside.scope_id);
  if (inside.container_id !== undefined) {
    there = there.where('container_id', '=', inside.container_id);
  }
  return write(
    build.insertInto('resource_link').columns(['from_id', 'kind', 'to_id']).expression(there),
    { rows: link.to_ids.length },
  );
}

export function deleteLink(link: { from_id: string; kind: LinkKind; to_id: string }): Write {
  return write(
    build
      .deleteFrom('resource_link')
      .where('from_id', '=', link.from_id)
      .where('kind', '=', link.kind)
      .where('to_id', '=', link.to_id),
    { rows: 1 },
  );
}

export function deleteLinksFrom(from_id: string, kind: LinkKind): Write {
  return write(
    build.deleteFrom('resource_link').where('from_id', '=', from_id).where('kind', '=', kind),
  );
}

export function deleteLinksTo(to_id: string, kind: LinkKind): Write {
  return write(
    build.deleteFrom('resource_link').where('to_id', '=', to_id).where('kind', '=', kind),
  );
}

/** Ids as a question, answered when the write set runs. */
export type Ids = Expression<string>;

/** A question for ids, as what something is to be `in`. */
export const idsOf = (query: Expression<{ id: string }>): Ids => sql<string>`${query}`;

/** Which resources a removal takes: one with what it contains, some that contain nothing, or
 *  all of some scopes. */
export type Removal =
  | { id: string }
  | { ids: readonly string[] | Ids }
  | { scope_ids: readonly string[] };

type Row = ExpressionBuilder<Tables, 'resource'>;

function isTaken(removal: Removal, row: Row) {
  if ('ids' in removal) return row('id', 'in', removal.ids);
  if ('id' in removal) {
    return row.or([row('id', '=', removal.id), row('container_id', '=', removal.id)]);
  }
  const { scope_ids } = removal;
  return row.or([isInScopes(scope_ids, row), row('id', 'in', scope_ids)]);
}

/** Lies in one of some scopes, or in a scope that lies in one. */
export function isInScopes(scope_ids: readonly string[], row: Row) {
  const within = build
    .selectFrom('resource as inner')
    .select('inner.id')
    .where('inner.type', '=', 'scope')
    .where('inner.scope_id', 'in', scope_ids);
  return row.or([row('scope_id', 'in', scope_ids), row('scope_id', 'in', within)]);
}

/**
 * Waits for everybody who is putting something into what goes, or making something that stands on
 * it, and keeps others from beginning. What follows in the write set then sees all of it. Of
 * scopes and of what contains something, the outermost come first: what is being put there would
 * not be seen otherwise.
 */
export function takeResources(removal: Removal): Write[] {
  const take = (isOne: (row: Row) => ReturnType<typeof isTaken>): Write =>
    write(
      build
        .selectFrom((from) =>
          from
            .selectFrom('resource')
            .select('id')
            .where(isOne)
            .orderBy('id')
            .forUpdate()
            .as('taken'),
        )
        .select((row) => row.fn.countAll().as('taken')),
    );
  const all = take((row) => isTaken(removal, row));
  if ('ids' in removal) return [all];
  if ('id' in removal) return [take((row) => row.and([row('id', '=', removal.id)])), all];
  const { scope_ids } = removal;
  const scopes = take((row) =>
    row.and([
      row('type', '=', 'scope'),
      row.or([row('id', 'in', scope_ids), row('scope_id', 'in', scope_ids)]),
    ]),
  );
  // What a resource of the scopes contains lies in them as well.
  return [scopes, all, all];
}

/**
 * Removes resources with their links, and notes their ids for lists that are refreshed. With a
 * scope go the scopes in it, also those made since the removal was decided.
 *
 * @param now Unix milliseconds
 */
export function removeResources(removal: Removal, now: number): Write[] {
  const isGone = (row: Row) => isTaken(removal, row);
  const gone = () => build.selectFrom('resource').where(isGone);
  const sequence = build.selectFrom('resource_sequence').where('name', '=', 'removed');
  return [
    ...takeResources(removal),
    write(
      build
        .updateTable('resource_sequence')
        .set((row) => ({ value: row('value', '+', 1) }))
        .where('name', '=', 'removed'),
      { rows: 1 },
    ),
    write(
      build
        .insertInto('resource_removed')
        .columns(['type', 'seq', 'id', 'container_id', 'removed_ms'])
        .expression(
          gone().select((row) => [
            row.ref('resource.type').as('type'),
            sequence.select('value').as('seq'),
            row.ref('resource.id').as('id'),
            row.ref('resource.container_id').as('container_id'),
            sql<number>`cast(${now} as bigint)`.as('removed_ms'),
          ]),
        ),
    ),
    // Their links go with them.
    write(build.deleteFrom('resource').where(isGone)),
  ];
}

export function resourceOf(row: ResourceRow): Resource {
  return { ...row, type: row.type as ResourceTypeName, body: JSON.parse(row.body) };
}

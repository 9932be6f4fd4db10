import { type Compilable, type Expression, type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { aside } from '../../store/aside.ts';
import {
  build,
  type Db,
  MOST_BYTES,
  type Prepared,
  prepared,
  preparedWrite,
  type Some,
} from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import { compareIds, inBlocks } from '../../store/in-blocks.ts';
import { listInParts, PAGE } from '../../store/in-pages.ts';
import type { ResourceRow, Tables } from '../../store/tables.ts';
import { type Guard, type Write, write } from '../../store/write.ts';
import type { Resource } from '../resource.ts';
import { isIdOf, type ResourceTypeName } from '../resource-types.ts';

// All resources share one table: they are found, listed, paged, versioned and removed alike.
// What only one type knows is its JSON body; what binds two resources is a link (../links).

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
const MOST_IDS = SIZES[2];

type More = Record<string, string | number>;

/**
 * A read of rows by many ids, compiled once for each of some sizes; what is missing to a size is
 * filled up with an id that is there already.
 */
export function preparedForIds<P extends More, Row>(
  make: (from: Kysely<Tables>, ids: readonly string[], more: P) => Compilable<Row>,
): (db: Db, ids: readonly string[], more: P) => Promise<Row[]> {
  const sized = preparedSizes(make);
  return async (db, ids, more) => {
    const found: Row[] = [];
    for (let at = 0; at < ids.length; at += MOST_IDS) {
      const { statement, parameters } = sized(ids.slice(at, at + MOST_IDS), more);
      for (const row of await statement.all(db, parameters)) found.push(row);
    }
    return found;
  };
}

/** The statement for as many ids, at most {@link MOST_IDS}, and what it is given. */
function preparedSizes<P extends More, Row>(
  make: (from: Kysely<Tables>, ids: readonly string[], more: P) => Compilable<Row>,
): (ids: readonly string[], more: P) => { statement: Prepared<More, Row>; parameters: More } {
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
  return (ids, more) => {
    const size = SIZES.find((one) => one >= ids.length) ?? MOST_IDS;
    const parameters: More = { ...more };
    for (let slot = 0; slot < size; slot++) {
      parameters[`id${slot}`] = ids[Math.min(slot, ids.length - 1)] ?? '';
    }
    return { statement: statementFor(size), parameters };
  };
}

const byIds = preparedSizes<Record<never, never>, ResourceRow>((from, ids) =>
  from.selectFrom('resource').selectAll().where('id', 'in', ids),
);

/** Those of some ids, as far as their bodies may be read at once; in no order. */
function readSome(db: Db, ids: readonly string[]): Promise<Some<ResourceRow>> {
  const { statement, parameters } = byIds(ids, {});
  return statement.some(db, parameters, 'body');
}

/**
 * Resources by their ids, in no order; those that are gone are left out. Few are read at once where their
 * bodies are long.
 */
export async function listResourcesById(db: Db, ids: readonly string[]): Promise<Resource[]> {
  // An id that is named twice is found once.
  const wanted = [...new Set(ids)];
  const found: Resource[] = [];
  for (let at = 0; at < wanted.length; at += MOST_IDS) {
    let left = wanted.slice(at, at + MOST_IDS);
    while (left.length > 0) {
      const { rows, more } = await readSome(db, left);
      for (const row of rows) found.push(resourceOf(row));
      if (!more) break;
      const read = new Set(rows.map(({ id }) => id));
      left = left.filter((id) => !read.has(id));
    }
  }
  return found;
}

/** So many are read at once where bodies are long: nobody has more than some hundred kB. */
const FEW = SIZES[0];

/**
 * The first of some ids, as many as may be read at once; in no order.
 *
 * @returns `taken` of the ids, of which those that are gone are left out
 */
export async function listFirstById(
  db: Db,
  ids: readonly string[],
): Promise<{ resources: Resource[]; taken: number; bytes: number }> {
  const resources: Resource[] = [];
  let sum = 0;
  let step: number = MOST_IDS;
  for (let taken = 0; taken < ids.length; ) {
    const some = ids.slice(taken, taken + step);
    const { rows, bytes, more } = await readSome(db, some);
    if (more && step > FEW) {
      // It is not known which are the first of them.
      step = FEW;
      continue;
    }
    const whole = more ? await listResourcesById(db, some) : rows.map(resourceOf);
    for (const resource of whole) resources.push(resource);
    taken += some.length;
    sum += bytes;
    if (sum >= MOST_BYTES) return { resources, taken, bytes: sum };
  }
  return { resources, taken: ids.length, bytes: sum };
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

/** Everything of a type that belongs to some users, oldest first. */
export async function listOwnedByAll(
  db: Db,
  type: ResourceTypeName,
  owner_ids: readonly string[],
): Promise<Resource[]> {
  const rows = await inBlocks([...new Set(owner_ids)], (some) =>
    db
      .selectFrom('resource')
      .select('id')
      .where('owner_id', 'in', some)
      .where('type', '=', type)
      .execute(),
  );
  const owned = await listResourcesById(
    db,
    rows.map(({ id }) => id),
  );
  return owned.sort((a, b) => a.created_ms - b.created_ms || compareIds(a.id, b.id));
}

/**
 * Everything of a type, oldest first. For what is small and cached.
 *
 * @param pick what is needed of each: the rest of a long row is not held while the others are read
 */
export async function listOfType<Thing>(
  db: Db,
  type: ResourceTypeName,
  pick: (resource: Resource) => Thing,
): Promise<Thing[]> {
  return listInParts<ResourceRow, Thing>(
    (last) => {
      const page = { type, ms: last?.created_ms ?? -1, id: last?.id ?? '', limit: PAGE };
      return pageOfType.some(db, page, 'body');
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
    return pageOfKeyed.some(db, page, 'body');
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

/** What tells whether one knows a resource already. */
export interface Seen {
  id: string;
  version: number;
  updated_ms: number;
}

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

/** Refuses its write set unless some resources are there, and whose they are known to be. */
export function holdResources(ids: readonly string[], owner_id?: string): Write[] {
  if (ids.length === 0) return [];
  const some = build.selectFrom('resource').select('id').where('id', 'in', ids).orderBy('id');
  const held =
    owner_id === undefined
      ? some.forKeyShare()
      : some.where(aside('owner_id'), '=', owner_id).forShare();
  return [write(held, { rows: ids.length })];
}

/** Refuses its write set where another resource has the name by then. */
export const refuseTakenName = preparedHold<{
  id: string;
  type: string;
  container_id: string;
  name: string;
}>(
  (from, { id, type, container_id, name }) =>
    from
      .selectFrom('resource')
      .select('id')
      .where('container_id', '=', container_id)
      .where('type', '=', type)
      .where('name', '=', name)
      .where('id', '<>', id)
      .forKeyShare(),
  { rows: 0 },
);

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
  // Each by an index: one question for both would look at every scope there is.
  const named = take((row) => row.and([row('id', 'in', scope_ids)]));
  const outer = scope_ids.filter((id) => isIdOf(id, 'scope', 'org'));
  const inside = (): Write =>
    take((row) => row.and([row('type', '=', 'scope'), row('scope_id', 'in', outer)]));
  // What a resource of the scopes contains lies in them as well.
  return [named, ...(outer.length > 0 ? [inside()] : []), all, all];
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

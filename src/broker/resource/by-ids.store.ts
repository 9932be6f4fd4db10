import type { Compilable, Kysely } from 'kysely';
import { type Db, MOST_BYTES, type Prepared, prepared, type Some } from '../../store/database.ts';
import type { ResourceRow, Tables } from '../../store/tables.ts';
import type { Resource } from './resource.ts';
import { LONG, resourceOf } from './row.ts';

// Resources that are asked for by many ids at once.

/** What tells whether one knows a resource already. */
export interface Seen {
  id: string;
  version: number;
  updated_ms: number;
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
  return statement.some(db, parameters, ...LONG);
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

/** What a resource is and where it lies. */
export type Place = Pick<Resource, 'id' | 'type' | 'scope_id' | 'container_id' | 'owner_id'>;

const placesByIds = preparedForIds<Record<never, never>, Place>((from, ids) =>
  from
    .selectFrom('resource')
    .select(['id', 'type', 'scope_id', 'container_id', 'owner_id'])
    .where('id', 'in', ids)
    .$castTo<Place>(),
);

/** As {@link listResourcesById}, for those who need not hold kilobytes of each. */
export const listPlacesById = (db: Db, ids: readonly string[]): Promise<Place[]> =>
  placesByIds(db, [...new Set(ids)], {});

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

/** Ids that a statement has as parameters: with one for each of thousands it would hold everybody up. */
export const IDS_AT_ONCE = 500;

/** Ids in as many lists as there are statements of them. */
export const inPieces = (ids: readonly string[]): (readonly string[])[] =>
  Array.from({ length: Math.ceil(ids.length / IDS_AT_ONCE) }, (_, at) =>
    ids.slice(at * IDS_AT_ONCE, (at + 1) * IDS_AT_ONCE),
  );

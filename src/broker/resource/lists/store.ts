import { type ReadPage, readAtOnce } from '../../../core/walk.ts';
import { type Db, MOST_BYTES, prepared, type Some } from '../../../store/database.ts';
import type { ResourceRow } from '../../../store/tables.ts';
import { LONG, resourceOf } from '../row.ts';
import { readPlaces } from './named.store.ts';
import type { Cursor } from './token.ts';
import { type Step, walkIds, walkWhole } from './walks.store.ts';
import {
  compare,
  endAt,
  type ListOrder,
  mergeParts,
  type PageRequest,
  type Part,
  placeOf,
  START,
} from './window.ts';

/** A list over more containers than this walks all rows of the type in order instead. */
const FEW_CONTAINERS = 200;

/** A step through what lies in one container, or belongs to one owner. */
interface StepWithin extends Step {
  of: string;
}

const pageOf = (key: 'container_id' | 'owner_id', order: ListOrder) =>
  prepared<StepWithin, ResourceRow>((from, p) =>
    from
      .selectFrom('resource')
      .selectAll()
      .where(key, '=', p.of)
      .where('type', '=', p.type)
      .where((row) => row(row.refTuple(order, 'id'), '<', row.tuple(row.val(p.ms), row.val(p.id))))
      .where(order, '>', p.after_ms)
      .orderBy(order, 'desc')
      .orderBy('id', 'desc')
      .limit(p.limit),
  );

const PAGES = {
  created_ms: pageOf('container_id', 'created_ms'),
  updated_ms: pageOf('container_id', 'updated_ms'),
};

const placesOf = (order: ListOrder) =>
  prepared<StepWithin, Cursor>((from, p) =>
    from
      .selectFrom('resource')
      .select(['id', `${order} as ms`])
      .where('container_id', '=', p.of)
      .where('type', '=', p.type)
      .where((row) => row(row.refTuple(order, 'id'), '<', row.tuple(row.val(p.ms), row.val(p.id))))
      .where(order, '>', p.after_ms)
      .orderBy(order, 'desc')
      .orderBy('id', 'desc')
      .limit(p.limit),
  );

const PLACES = { created_ms: placesOf('created_ms'), updated_ms: placesOf('updated_ms') };

const OWNED = {
  created_ms: pageOf('owner_id', 'created_ms'),
  updated_ms: pageOf('owner_id', 'updated_ms'),
};

/**
 * Rows of a type in some containers, in the order of the window.
 *
 * @param options.walk whether to walk all rows of the type in order, rather than each container
 * @param options.share about which part of all rows lies in these containers, 0 to 1
 * @param read reads each page of a walk
 */
export async function listInContainers(
  db: Db,
  containers: readonly string[],
  window: PageRequest,
  options: { walk: boolean; share?: number },
  read: ReadPage = readAtOnce,
): Promise<Part> {
  const { ms, id } = window.before ?? START;
  if (containers.length === 0) return { rows: [], bytes: 0 };
  if (options.walk || containers.length > FEW_CONTAINERS) {
    const within = new Set(containers);
    return (options.share ?? 0) >= 0.5
      ? walkWhole(db, within, window, read, options.share ?? 0)
      : walkIds(db, within, window, read, options.share ?? 0);
  }
  const { type, after_ms, limit, order } = window;
  const [of] = containers;
  if (of !== undefined && containers.length === 1) {
    const page = { type, of, ms, id, after_ms, limit };
    return partOf(await read(() => PAGES[order].some(db, page, ...LONG)), window);
  }
  const parts: Part[] = [];
  let bytes = 0;
  for (const of of containers) {
    const page = { type, of, ms, id, after_ms, limit };
    const part = partOf(await PAGES[order].some(db, page, ...LONG), window);
    parts.push(part);
    bytes += part.bytes;
    if (bytes >= MOST_BYTES) return listPlacesFirst(db, containers, window);
  }
  return mergeParts(parts, window);
}

/** As {@link listInContainers}, for long rows: of many containers no more is read than is wanted of all. */
async function listPlacesFirst(
  db: Db,
  containers: readonly string[],
  window: PageRequest,
): Promise<Part> {
  const { type, after_ms, limit, order } = window;
  const { ms, id } = window.before ?? START;
  const places: Cursor[] = [];
  for (const of of containers) {
    const page = { type, of, ms, id, after_ms, limit };
    for (const place of await PLACES[order].all(db, page)) places.push(place);
  }
  return readPlaces(db, places.sort(compare), window);
}

/** What one statement read of a window. */
function partOf({ rows, bytes, more }: Some<ResourceRow>, { order, limit }: PageRequest): Part {
  const last = rows.at(-1);
  const part = { rows: rows.map(resourceOf), bytes };
  return last && (more || rows.length >= limit) ? { ...part, end: placeOf(last, order) } : part;
}

/** A user's own rows in some containers: read in order, as many at a time as are wanted. */
export async function listOwnedIn(
  db: Db,
  owner_id: string,
  containers: readonly string[],
  window: PageRequest,
  read: ReadPage = readAtOnce,
): Promise<Part> {
  const { type, order, before, after_ms, limit } = window;
  const within = new Set(containers);
  const found: ResourceRow[] = [];
  let bytes = 0;
  for (let { ms, id } = before ?? START; ; ) {
    const p = { of: owner_id, type, ms, id, after_ms, limit };
    const page = await read(() => OWNED[order].some(db, p, ...LONG));
    for (const row of page.rows) if (within.has(row.container_id)) found.push(row);
    bytes += page.bytes;
    const last = page.rows.at(-1);
    const isEnd = !last || (!page.more && page.rows.length < limit);
    if (isEnd && found.length <= limit) return { rows: found.map(resourceOf), bytes };
    if (last) ({ ms, id } = placeOf(last, order));
    if (isEnd || found.length >= limit || bytes >= MOST_BYTES) {
      return endAt(found.slice(0, limit).map(resourceOf), window, bytes, { ms, id });
    }
  }
}

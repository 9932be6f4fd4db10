import { type ReadPage, readAtOnce } from '../../../core/walk.ts';
import { type Db, MOST_BYTES, prepared, type Some } from '../../../store/database.ts';
import type { ResourceRow } from '../../../store/tables.ts';
import { listFirstById, preparedForIds } from '../by-ids.store.ts';
import { LONG, resourceOf } from '../row.ts';
import type { Cursor } from './token.ts';
import {
  compare,
  endAt,
  inOrder,
  type ListOrder,
  mergeParts,
  type Part,
  placeOf,
  START,
  type Window,
} from './window.ts';

/** A list over more containers than this walks all rows of the type in order instead. */
const FEW_CONTAINERS = 200;

interface Step extends Record<string, string | number> {
  type: string;
  ms: number;
  id: string;
  after_ms: number;
  limit: number;
}

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
  window: Window,
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
  window: Window,
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
function partOf({ rows, bytes, more }: Some<ResourceRow>, { order, limit }: Window): Part {
  const last = rows.at(-1);
  const part = { rows: rows.map(resourceOf), bytes };
  return last && (more || rows.length >= limit) ? { ...part, end: placeOf(last, order) } : part;
}

/** The most rows that are looked at in one read. */
const MAX_STEP = 5_000;

const stepOf = (order: ListOrder) =>
  prepared<Step, { id: string; ms: number; container_id: string }>((from, p) =>
    from
      .selectFrom('resource')
      .select(['id', `${order} as ms`, 'container_id'])
      .where('type', '=', p.type)
      .where((row) => row(row.refTuple(order, 'id'), '<', row.tuple(row.val(p.ms), row.val(p.id))))
      .where(order, '>', p.after_ms)
      .orderBy(order, 'desc')
      .orderBy('id', 'desc')
      .limit(p.limit),
  );

const STEPS = { created_ms: stepOf('created_ms'), updated_ms: stepOf('updated_ms') };

const wholeStepOf = (order: ListOrder) =>
  prepared<Step, ResourceRow>((from, p) =>
    from
      .selectFrom('resource')
      .selectAll()
      .where('type', '=', p.type)
      .where((row) => row(row.refTuple(order, 'id'), '<', row.tuple(row.val(p.ms), row.val(p.id))))
      .where(order, '>', p.after_ms)
      .orderBy(order, 'desc')
      .orderBy('id', 'desc')
      .limit(p.limit),
  );

const WHOLE_STEPS = {
  created_ms: wholeStepOf('created_ms'),
  updated_ms: wholeStepOf('updated_ms'),
};

/** As many as it should take; if it does not, more at a time. */
const firstStep = (limit: number, share: number): number =>
  Math.min(MAX_STEP, Math.ceil((limit + 10) / Math.max(share, 0.01)));

/** Walks all rows of a type in order, and reads them as they come: for where most are wanted. */
async function walkWhole(
  db: Db,
  containers: ReadonlySet<string>,
  window: Window,
  read: ReadPage,
  share: number,
): Promise<Part> {
  const { type, after_ms, limit, order } = window;
  const whole: ResourceRow[] = [];
  let { ms, id } = window.before ?? START;
  let bytes = 0;
  for (let step = firstStep(limit, share); ; step = Math.min(MAX_STEP, step * 2)) {
    const p = { type, ms, id, after_ms, limit: step };
    const page = await read(() => WHOLE_STEPS[order].some(db, p, ...LONG));
    for (const row of page.rows) if (containers.has(row.container_id)) whole.push(row);
    bytes += page.bytes;
    const last = page.rows.at(-1);
    const isEnd = !last || (!page.more && page.rows.length < step);
    if (isEnd && whole.length <= limit) return { rows: whole.map(resourceOf), bytes };
    if (last) ({ ms, id } = placeOf(last, order));
    if (isEnd || whole.length >= limit || bytes >= MOST_BYTES) {
      return endAt(whole.slice(0, limit).map(resourceOf), window, bytes, { ms, id });
    }
  }
}

/** Walks an index that has the container in it, and reads afterwards those that are wanted. */
async function walkIds(
  db: Db,
  containers: ReadonlySet<string>,
  window: Window,
  read: ReadPage,
  share: number,
): Promise<Part> {
  const { type, after_ms, limit, order } = window;
  const places: Cursor[] = [];
  let { ms, id } = window.before ?? START;
  for (let step = firstStep(limit, share); ; step = Math.min(MAX_STEP, step * 2)) {
    const p = { type, ms, id, after_ms, limit: step };
    const rows = await read(() => STEPS[order].all(db, p));
    for (const row of rows) {
      if (containers.has(row.container_id)) places.push({ ms: row.ms, id: row.id });
    }
    const last = rows.at(-1);
    if (!last || rows.length < step || places.length >= limit) break;
    ({ ms, id } = last);
  }
  return readPlaces(db, places, window);
}

/** What lies at some places, which are all there are or at least as many as the window takes. */
async function readPlaces(db: Db, places: readonly Cursor[], window: Window): Promise<Part> {
  const wanted = places.slice(0, window.limit);
  const ids = wanted.map(({ id }) => id);
  const { resources, taken, bytes } = await listFirstById(db, ids);
  const rows = inOrder(resources, window);
  const end = wanted[taken - 1];
  return end && (taken < wanted.length || wanted.length === window.limit)
    ? { rows, bytes, end }
    : { rows, bytes };
}

/** A user's own rows in some containers: read in order, as many at a time as are wanted. */
export async function listOwnedIn(
  db: Db,
  owner_id: string,
  containers: readonly string[],
  window: Window,
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

const namedOf = (order: ListOrder) =>
  preparedForIds<
    { type: string; after_ms: number },
    { id: string; ms: number; container_id: string }
  >((from, ids, p) =>
    from
      .selectFrom('resource')
      .select(['id', `${order} as ms`, 'container_id'])
      .where('id', 'in', ids)
      .where('type', '=', p.type)
      .where(order, '>', p.after_ms),
  );

const NAMED = { created_ms: namedOf('created_ms'), updated_ms: namedOf('updated_ms') };

/** Not told of the type: SQLite would then walk all of it rather than look up each id. */
const lookedUp = preparedForIds<
  Record<never, never>,
  { id: string; type: string; created_ms: number; updated_ms: number; container_id: string }
>((from, ids) =>
  from
    .selectFrom('resource')
    .select(['id', 'type', 'created_ms', 'updated_ms', 'container_id'])
    .where('id', 'in', ids),
);

/** Those of some ids that are of a window's type and time. */
async function findNamed(
  db: Db,
  ids: readonly string[],
  { type, order, after_ms }: Window,
): Promise<{ id: string; ms: number; container_id: string }[]> {
  // Of what is new there is little, and the index over time finds it.
  if (after_ms > 0) return NAMED[order](db, ids, { type, after_ms });
  const rows = await lookedUp(db, ids, {});
  return rows
    .filter((row) => row.type === type)
    .map((row) => ({ id: row.id, ms: row[order], container_id: row.container_id }));
}

/**
 * Single rows by their ids.
 *
 * @param isSeen whether a row that is there counts, e.g. where it lies
 */
export async function listNamed(
  db: Db,
  ids: readonly string[],
  isSeen: (row: { id: string; container_id: string }) => boolean,
  window: Window,
): Promise<Part> {
  const { ms, id } = window.before ?? START;
  const found: Cursor[] = [];
  for (const row of await findNamed(db, ids, window)) {
    if ((row.ms < ms || (row.ms === ms && row.id < id)) && isSeen(row))
      found.push({ ms: row.ms, id: row.id });
  }
  return readPlaces(db, found.sort(compare), window);
}

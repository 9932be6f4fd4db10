import type { Db } from '../../../store/database.ts';
import { listFirstById, preparedForIds } from '../by-ids.store.ts';
import type { Cursor } from './token.ts';
import { compare, inOrder, type ListOrder, type PageRequest, type Part, START } from './window.ts';

/** What lies at some places, which are all there are or at least as many as the window takes. */
export async function readPlaces(
  db: Db,
  places: readonly Cursor[],
  window: PageRequest,
): Promise<Part> {
  const wanted = places.slice(0, window.limit);
  const ids = wanted.map(({ id }) => id);
  const { resources, taken, bytes } = await listFirstById(db, ids);
  const rows = inOrder(resources, window);
  const end = wanted[taken - 1];
  return end && (taken < wanted.length || wanted.length === window.limit)
    ? { rows, bytes, end }
    : { rows, bytes };
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
  { type, order, after_ms }: PageRequest,
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
  window: PageRequest,
): Promise<Part> {
  const { ms, id } = window.before ?? START;
  const found: Cursor[] = [];
  for (const row of await findNamed(db, ids, window)) {
    if ((row.ms < ms || (row.ms === ms && row.id < id)) && isSeen(row))
      found.push({ ms: row.ms, id: row.id });
  }
  return readPlaces(db, found.sort(compare), window);
}

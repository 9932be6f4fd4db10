import type { ReadPage } from '../../../core/walk.ts';
import { type Db, MOST_BYTES, prepared } from '../../../store/database.ts';
import type { ResourceRow } from '../../../store/tables.ts';
import { LONG, resourceOf } from '../row.ts';
import { readPlaces } from './named.store.ts';
import type { Cursor } from './token.ts';
import { endAt, type ListOrder, type PageRequest, type Part, placeOf, START } from './window.ts';

export interface Step extends Record<string, string | number> {
  type: string;
  ms: number;
  id: string;
  after_ms: number;
  limit: number;
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
export async function walkWhole(
  db: Db,
  containers: ReadonlySet<string>,
  window: PageRequest,
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
export async function walkIds(
  db: Db,
  containers: ReadonlySet<string>,
  window: PageRequest,
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

import type { Resource } from '../resource.ts';
import type { ResourceTypeName } from '../types.ts';
import type { Cursor } from './token.ts';

/** In what order items are listed: the newest, or the last changed, first. */
export type ListOrder = 'created_ms' | 'updated_ms';

/** Which rows to read: newest first, from a cursor on. */
export interface PageRequest {
  type: ResourceTypeName;
  order: ListOrder;
  /** Only rows before this one in the order; absent at the start. */
  before: Cursor | undefined;
  /** Only rows after this instant; 0: all. */
  after_ms: number;
  limit: number;
}

/** Rows in the order of a window: as many as it takes, or fewer where they are long. */
export interface Part {
  rows: Resource[];
  /** Nothing of the window up to here is missing, and there may be more behind it; absent: that is all. */
  end?: Cursor;
  /** Of the bodies that were read, about. */
  bytes: number;
}

/** Later than any row. */
export const START: Cursor = { ms: Number.MAX_SAFE_INTEGER, id: '' };

export const placeOf = (row: Pick<Resource, 'id' | ListOrder>, order: ListOrder): Cursor => ({
  ms: row[order],
  id: row.id,
});

/** Negative for who comes first: the newer one. */
export const compare = (a: Cursor, b: Cursor): number => b.ms - a.ms || (a.id < b.id ? 1 : -1);

/** Of several parts what none of them has left out. */
export function mergeParts(parts: readonly Part[], window: PageRequest): Part {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  let end: Cursor | undefined;
  let bytes = 0;
  for (const part of parts) {
    bytes += part.bytes;
    if (part.end && (!end || compare(part.end, end) < 0)) end = part.end;
  }
  const rows = inOrder(
    parts.flatMap((part) => part.rows),
    window,
  );
  const last = rows.at(-1);
  // What lies behind where one of them ends may not be next.
  if (end) {
    const place = end;
    const whole = rows.filter((row) => compare(placeOf(row, window.order), place) <= 0);
    return endAt(whole, window, bytes, place);
  }
  return last && rows.length >= window.limit
    ? { rows, bytes, end: placeOf(last, window.order) }
    : { rows, bytes };
}

/** @param end of what was looked at, where rows that are not wanted may lie as well */
export function endAt(
  rows: Resource[],
  { order, limit }: PageRequest,
  bytes: number,
  end: Cursor,
): Part {
  const last = rows.at(-1);
  return { rows, bytes, end: last && rows.length >= limit ? placeOf(last, order) : end };
}

/** Newest first, once each, as many as the window takes. */
export function inOrder(rows: readonly Resource[], { order, limit }: PageRequest): Resource[] {
  const once = [...new Map(rows.map((row) => [row.id, row])).values()];
  once.sort((a, b) => b[order] - a[order] || (a.id < b.id ? 1 : -1));
  return once.slice(0, limit);
}

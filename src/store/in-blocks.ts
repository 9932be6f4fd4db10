import { MOST_BYTES } from './database.ts';

/**
 * Names or ids of one statement. SQLite takes 32,766 values in one and PostgreSQL 65,535, and a
 * list that is stored may have grown beyond either.
 */
const AT_ONCE = 500;

/** Byte order, which ids are kept in on both engines. */
export const compareIds = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Asks about many items, some at a time.
 *
 * @param order of all answers, where the order of the items is not theirs
 */
export async function inBlocks<Item, Row>(
  items: readonly Item[],
  ask: (some: readonly Item[]) => Promise<Row[]>,
  order?: (a: Row, b: Row) => number,
): Promise<Row[]> {
  if (items.length <= AT_ONCE) return items.length === 0 ? [] : ask(items);
  const rows: Row[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    for (const row of await ask(items.slice(at, at + AT_ONCE))) rows.push(row);
  }
  return order ? rows.sort(order) : rows;
}

/** Items in their order, each part as long as {@link MOST_BYTES} goes; one at least. */
export function partsOf<Item>(items: readonly Item[], weigh: (item: Item) => number): Item[][] {
  const parts: Item[][] = [];
  let left = 0;
  for (const item of items) {
    const part = left > 0 ? parts.at(-1) : undefined;
    if (part) part.push(item);
    else {
      parts.push([item]);
      left = MOST_BYTES;
    }
    left -= weigh(item);
  }
  return parts;
}

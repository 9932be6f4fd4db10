/**
 * Names or ids of one statement. SQLite takes 32,766 values in one and PostgreSQL 65,535, and a
 * list that is stored may have grown beyond either.
 */
const AT_ONCE = 500;

/** Byte order, which ids are kept in on both engines. */
export const compareIds = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Asks about many things, some at a time.
 *
 * @param order of all answers, where the order of the things is not theirs
 */
export async function inBlocks<Thing, Row>(
  things: readonly Thing[],
  ask: (some: readonly Thing[]) => Promise<Row[]>,
  order?: (a: Row, b: Row) => number,
): Promise<Row[]> {
  if (things.length <= AT_ONCE) return things.length === 0 ? [] : ask(things);
  const rows: Row[] = [];
  for (let at = 0; at < things.length; at += AT_ONCE) {
    for (const row of await ask(things.slice(at, at + AT_ONCE))) rows.push(row);
  }
  return order ? rows.sort(order) : rows;
}

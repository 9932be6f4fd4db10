import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Some } from './database.ts';

/** Rows that are read before others get their turn. */
export const PAGE = 1000;

/**
 * Reads everything, however much: whoever asks for ten thousand does not hold others up meanwhile.
 *
 * @param read at most {@link PAGE} rows after the last one, in some order
 */
export async function listInPages<Row>(
  read: (last: Row | undefined) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const page = await read(all.at(-1));
    for (const row of page) all.push(row);
    if (page.length < PAGE) return all;
    await nextTurn();
  }
}

/**
 * As {@link listInPages}, of rows that may be long.
 *
 * @param read at most {@link PAGE} rows after the last one, as far as they may be read at once
 */
export async function listInParts<Row, Thing>(
  read: (last: Row | undefined) => Promise<Some<Row>>,
  thingOf: (row: Row) => Thing,
): Promise<Thing[]> {
  const all: Thing[] = [];
  for (let last: Row | undefined; ; ) {
    const { rows, more } = await read(last);
    for (const row of rows) all.push(thingOf(row));
    last = rows.at(-1);
    if (!more && rows.length < PAGE) return all;
    await nextTurn();
  }
}

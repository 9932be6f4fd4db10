import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Some } from './database.ts';

/** Rows that are read before others get their turn. */
export const PAGE = 1000;

/**
 * Reads everything, however much: whoever asks for ten thousand does not hold others up meanwhile.
 *
 * @param read at most {@link PAGE} rows after the last one, in some order
 * @param most once there are more than so many nothing further is read
 */
export async function listInPages<Row>(
  read: (last: Row | undefined) => Promise<Row[]>,
  most = Number.POSITIVE_INFINITY,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const page = await read(all.at(-1));
    for (const row of page) all.push(row);
    if (page.length < PAGE || all.length > most) return all;
    await nextTurn();
  }
}

/** The same a page at a time: nothing is held of the pages before. */
export async function* readInPages<Row>(
  read: (last: Row | undefined) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let last: Row | undefined; ; ) {
    const page = await read(last);
    yield page;
    if (page.length < PAGE) return;
    last = page.at(-1);
    await nextTurn();
  }
}

/**
 * As {@link listInPages}, of rows that may be long.
 *
 * @param read at most {@link PAGE} rows after the last one, as far as they may be read at once
 */
export async function listInParts<Row, Item>(
  read: (last: Row | undefined) => Promise<Some<Row>>,
  itemOf: (row: Row) => Item,
): Promise<Item[]> {
  const all: Item[] = [];
  for (let last: Row | undefined; ; ) {
    const { rows, more } = await read(last);
    for (const row of rows) all.push(itemOf(row));
    last = rows.at(-1);
    if (!more && rows.length < PAGE) return all;
    await nextTurn();
  }
}

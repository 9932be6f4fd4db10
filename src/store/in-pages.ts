import { setImmediate as nextTurn } from 'node:timers/promises';

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

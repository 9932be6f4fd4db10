import { Failure } from './failure.ts';

/** Keys read at once: what is kept of a long list for somebody who takes it slowly. */
const PAGE = 1000;

export interface KeyPage {
  /** Keys after this one, in the order of the list. */
  after: string;
  limit: number;
}

/** A list of keys as an operation hands it back: whole if it is short, page by page if not. */
export interface KeyList {
  data: { keys: string[] };
  long_list?: { field: 'keys'; pages: AsyncIterable<readonly string[]> };
}

/**
 * Lists keys without having more than a page of them in memory, however many there are: forty who
 * asked for 300,000 each, and did not read, took half a gigabyte.
 *
 * @param wanted `limit` undefined or at most 0: all
 * @throws Failure `not_found` when there is none
 */
export async function listKeys(
  read: (page: KeyPage) => Promise<string[]>,
  wanted: { after?: string | undefined; limit?: number | undefined },
): Promise<KeyList> {
  const limit = wanted.limit && wanted.limit > 0 ? wanted.limit : Number.POSITIVE_INFINITY;
  const first = await read({ after: wanted.after ?? '', limit: Math.min(PAGE, limit) });
  if (first.length === 0) throw new Failure('not_found', '');
  if (first.length < PAGE || limit <= PAGE) return { data: { keys: first } };
  return { data: { keys: [] }, long_list: { field: 'keys', pages: goOn(first, read, limit) } };
}

/**
 * Fills a page with keys of those that match, and looks at some at a time for that.
 *
 * @param read rows after a key, in the order of the list, and whether there may be more
 */
export async function listMatching<Row extends { key: string }>(
  read: (page: KeyPage) => Promise<{ rows: Row[]; more: boolean }>,
  matches: (row: Row) => boolean,
  { after, limit }: KeyPage,
): Promise<string[]> {
  const keys: string[] = [];
  for (let from = after; ; ) {
    const { rows, more } = await read({ after: from, limit: PAGE });
    for (const row of rows) {
      if (matches(row)) keys.push(row.key);
      if (keys.length === limit) return keys;
    }
    const last = rows.at(-1);
    if (!last || !more) return keys;
    from = last.key;
  }
}

async function* goOn(
  first: string[],
  read: (page: KeyPage) => Promise<string[]>,
  limit: number,
): AsyncGenerator<string[], void, undefined> {
  let left = limit;
  for (let page = first; page.length > 0; ) {
    yield page;
    left -= page.length;
    if (left <= 0 || page.length < PAGE) return;
    page = await read({ after: page.at(-1) ?? '', limit: Math.min(PAGE, left) });
  }
}

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

/** What a list is of. `read` gives some after the last one, in the order of the list; none at the end. */
export interface Listed<Row> {
  read(last: Row | undefined): Promise<Row[]>;
  keyOf(row: Row): string;
}

/**
 * As {@link listKeys}, where nothing is told of a list that is empty, and for those who have it twice.
 *
 * @returns `pages` begin anew each time
 */
export async function listAllKeys(
  read: (page: KeyPage) => Promise<string[]>,
): Promise<{ keys: string[]; pages?: AsyncIterable<readonly string[]> }> {
  const first = await read({ after: '', limit: PAGE });
  if (first.length < PAGE) return { keys: first };
  const all = Number.POSITIVE_INFINITY;
  return { keys: [], pages: { [Symbol.asyncIterator]: () => goOn(first, read, all) } };
}

/** As {@link listKeys}, of what is not in the order of its keys. */
export async function listThings<Row>({ read, keyOf }: Listed<Row>): Promise<KeyList> {
  const first = await read(undefined);
  if (first.length === 0) throw new Failure('not_found', '');
  const keys = first.map(keyOf);
  if (first.length < PAGE) return { data: { keys } };
  return {
    data: { keys: [] },
    long_list: { field: 'keys', pages: keysOf(first, { read, keyOf }) },
  };
}

/** Keys with what is told of each. */
export interface InfoList {
  data: { keys: string[]; key_info: Record<string, unknown> };
  long_list?: KeyList['long_list'] & {
    info: { field: 'key_info'; pages: AsyncIterable<Readonly<Record<string, unknown>>> };
  };
}

/** Of these something is told at once: it may be long. */
const TOLD = 50;

/**
 * As {@link listThings}, with what is told of each. A long list is gone through once more for that: one that
 * has come or gone meanwhile may be in one of the two.
 */
export async function listTold<Row>(
  of: Listed<Row>,
  tell: (rows: readonly Row[]) => Promise<Record<string, unknown>>,
): Promise<InfoList> {
  const { data, long_list } = await listThings(of);
  const told = toldOf(of, tell);
  if (long_list) {
    const info = { field: 'key_info' as const, pages: told };
    return { data: { ...data, key_info: {} }, long_list: { ...long_list, info } };
  }
  const key_info: Record<string, unknown> = {};
  for await (const some of told) Object.assign(key_info, some);
  return { data: { ...data, key_info } };
}

async function* keysOf<Row>(
  first: readonly Row[],
  { read, keyOf }: Listed<Row>,
): AsyncGenerator<string[], void, undefined> {
  for (let page = first; page.length > 0; page = await read(page.at(-1))) {
    yield page.map(keyOf);
    // A page that is read at once is none for the others.
    await new Promise(setImmediate);
  }
}

async function* toldOf<Row>(
  { read }: Listed<Row>,
  tell: (rows: readonly Row[]) => Promise<Record<string, unknown>>,
): AsyncGenerator<Record<string, unknown>, void, undefined> {
  for (let page = await read(undefined); page.length > 0; page = await read(page.at(-1))) {
    for (let at = 0; at < page.length; at += TOLD) yield tell(page.slice(at, at + TOLD));
  }
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

import { Failure } from './failure.ts';

/** Keys read at once: what is kept of a long list for somebody who takes it slowly. */
const PAGE = 1000;

export interface KeyPage {
  /** Keys after this one, in the order of the list. */
  after: string;
  limit: number;
}

/**
 * A list of keys as an operation hands it back: whole if it is short, page by page if not. Nothing of a long one is kept
 * until its answer is begun, which many may wait for.
 */
export interface KeyList {
  data: { keys: string[] };
  long_list?: {
    field: 'keys';
    pages: AsyncIterable<readonly string[]>;
    kept: { waiting: number; sent: number };
  };
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
  const pages = pagesOf(read, wanted.after ?? '', limit);
  return { data: { keys: [] }, long_list: { field: 'keys', pages, kept: keptOf(first) } };
}

/** What is kept of a long list while it is sent: a page, and its text. */
const keptOf = (keys: readonly string[]) => ({
  waiting: 0,
  sent: 2 * keys.reduce((sum, { length }) => sum + length, 0),
});

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
  return { keys: [], pages: { [Symbol.asyncIterator]: () => pagesOf(read, '', all) } };
}

/** As {@link listKeys}, of what is not in the order of its keys. */
export async function listThings<Row>({ read, keyOf }: Listed<Row>): Promise<KeyList> {
  const first = await read(undefined);
  if (first.length === 0) throw new Failure('not_found', '');
  const keys = first.map(keyOf);
  if (first.length < PAGE) return { data: { keys } };
  return { data: { keys: [] }, long_list: longList({ read, keyOf }, keys) };
}

const longList = <Row>(of: Listed<Row>, first: readonly string[]) => ({
  field: 'keys' as const,
  pages: keysOf(of),
  kept: keptOf(first),
});

/** Keys with what is told of each. */
interface InfoList<Info> {
  data: { keys: string[]; key_info: Record<string, Info> };
  long_list?: KeyList['long_list'] & {
    info: { field: 'key_info'; pages: AsyncIterable<Readonly<Record<string, unknown>>> };
  };
}

/** Of so many at most something is told at once: it may be long. */
const TOLD = 50;
/** Characters of what is told of all that are one answer; more is told while it is sent. */
const MOST_TOLD = 64 << 10;

/** What is told of some, in pieces that are not long. */
export type Tell<Row, Info> = (
  rows: readonly Row[],
) => AsyncIterable<Readonly<Record<string, Info>>>;

/**
 * As {@link listThings}, with what is told of each. A long list is gone through once more for that: one that
 * has come or gone meanwhile may be in one of the two. Long is also one of which much is told.
 */
export async function listTold<Row, Info>(
  of: Listed<Row>,
  tell: Tell<Row, Info>,
): Promise<InfoList<Info>> {
  const { data, long_list } = await listThings(of);
  const longTold = (list: NonNullable<KeyList['long_list']>): InfoList<Info> => ({
    data: { keys: [], key_info: {} },
    long_list: { ...list, info: { field: 'key_info', pages: toldOf(of, tell) } },
  });
  if (long_list) return longTold(long_list);
  const key_info: Record<string, Info> = {};
  let length = 0;
  for await (const some of toldOf(of, tell)) {
    const { length: more } = JSON.stringify(some);
    length += more;
    if (length > MOST_TOLD) {
      const list = longList(of, data.keys);
      return longTold({ ...list, kept: { waiting: 0, sent: Math.max(list.kept.sent, 3 * more) } });
    }
    Object.assign(key_info, some);
  }
  return { data: { ...data, key_info } };
}

async function* keysOf<Row>({
  read,
  keyOf,
}: Listed<Row>): AsyncGenerator<string[], void, undefined> {
  for (let page = await read(undefined); page.length > 0; page = await read(page.at(-1))) {
    yield page.map(keyOf);
    // A page that is read at once is none for the others.
    await new Promise(setImmediate);
  }
}

async function* toldOf<Row, Info>(
  { read }: Listed<Row>,
  tell: Tell<Row, Info>,
): AsyncGenerator<Readonly<Record<string, Info>>, void, undefined> {
  for (let page = await read(undefined); page.length > 0; page = await read(page.at(-1))) {
    for (let at = 0; at < page.length; at += TOLD) yield* tell(page.slice(at, at + TOLD));
  }
}

/** Some rows in the order of the list, of which not all may be listed, and whether there may be more. */
interface SomeKeys {
  rows: readonly { key: string; is_listed: boolean }[];
  more: boolean;
}

/** Fills a page with keys of those that are listed, and looks at some at a time for that. */
export async function listMatching(
  read: (page: KeyPage) => Promise<SomeKeys>,
  { after, limit }: KeyPage,
): Promise<string[]> {
  const keys: string[] = [];
  for (let from = after; ; ) {
    const { rows, more } = await read({ after: from, limit: PAGE });
    for (const row of rows) {
      if (row.is_listed) keys.push(row.key);
      if (keys.length === limit) return keys;
    }
    const last = rows.at(-1);
    if (!last || !more) return keys;
    from = last.key;
  }
}

async function* pagesOf(
  read: (page: KeyPage) => Promise<string[]>,
  from: string,
  limit: number,
): AsyncGenerator<string[], void, undefined> {
  let after = from;
  for (let left = limit; left > 0; ) {
    const page = await read({ after, limit: Math.min(PAGE, left) });
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    left -= page.length;
    after = page.at(-1) ?? '';
  }
}

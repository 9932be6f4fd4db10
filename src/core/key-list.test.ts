import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type KeyPage,
  type Listed,
  listAllKeys,
  listKeys,
  listThings,
  listTold,
} from './key-list.ts';

const keysTo = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `k${String(at).padStart(6, '0')}`);

/** Keys in order, and what was read of them. */
function readerOf(all: readonly string[]) {
  const pages: KeyPage[] = [];
  const read = async (page: KeyPage): Promise<string[]> => {
    pages.push(page);
    return all.filter((key) => key > page.after).slice(0, page.limit);
  };
  return { pages, read };
}

async function gather(pages: AsyncIterable<readonly string[]>): Promise<string[]> {
  const all: string[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

const lengths: [count: number, limit: number | undefined, given: number, isLong: boolean][] = [
  [1, undefined, 1, false],
  [999, undefined, 999, false],
  [1_000, undefined, 1_000, true],
  [2_500, undefined, 2_500, true],
  [2_500, 1_000, 1_000, false],
  [2_500, 1_001, 1_001, true],
  [2_500, 0, 2_500, true],
];
for (const [count, limit, given, isLong] of lengths) {
  test(`${given} of ${count} keys are ${isLong ? 'given page by page, of which none is kept until then' : 'given at once'}`, async () => {
    const all = keysTo(count);
    const { pages, read } = readerOf(all);
    const { data, long_list } = await listKeys(read, { limit });
    assert.equal(pages.length, 1);
    if (!isLong) {
      assert.equal(long_list, undefined);
      assert.deepEqual(data.keys, all.slice(0, given));
      return;
    }
    assert.ok(long_list);
    assert.deepEqual(data.keys, []);
    assert.deepEqual(long_list.kept, { waiting: 0, sent: 2 * 7 * 1_000 });
    assert.deepEqual(await gather(long_list.pages), all.slice(0, given));
    assert.equal(pages[1]?.after, '', 'the first page is read anew');
  });
}

test('keys after one are given, and of none it is said that there is none', async () => {
  const all = keysTo(3_000);
  const { read } = readerOf(all);
  const { long_list } = await listKeys(read, { after: all[9] });
  assert.ok(long_list);
  assert.deepEqual(await gather(long_list.pages), all.slice(10));
  await assert.rejects(listKeys(read, { after: all.at(-1) }), { kind: 'not_found' });
});

test('what is had twice begins anew', async () => {
  const all = keysTo(1_500);
  const { pages } = await listAllKeys(readerOf(all).read);
  assert.ok(pages);
  for (let times = 0; times < 2; times += 1) assert.deepEqual(await gather(pages), all);
  const short = await listAllKeys(readerOf(keysTo(3)).read);
  assert.deepEqual(short, { keys: keysTo(3) });
});

const thingsTo = (count: number): Listed<string> => {
  const all = keysTo(count);
  return {
    read: async (last) => all.filter((key) => key > (last ?? '')).slice(0, 1_000),
    keyOf: (key) => key,
  };
};

test('things are listed as keys are', async () => {
  assert.deepEqual(await listThings(thingsTo(5)), { data: { keys: keysTo(5) } });
  const { long_list } = await listThings(thingsTo(2_100));
  assert.ok(long_list);
  assert.deepEqual(await gather(long_list.pages), keysTo(2_100));
});

const told: [what: string, count: number, length: number, isLong: boolean][] = [
  ['little of few', 20, 100, false],
  ['some kilobytes in all', 60, 1_000, false],
  ['a little more', 70, 1_000, true],
  ['much of one', 1, 100_000, true],
  ['little of many', 1_000, 10, true],
];
for (const [what, count, length, isLong] of told) {
  test(`${what} is told ${isLong ? 'while it is sent' : 'at once'}`, async () => {
    const list = await listTold(thingsTo(count), async function* (some) {
      for (const key of some) yield { [key]: 'x'.repeat(length) };
    });
    const { data, long_list } = list;
    assert.equal(long_list !== undefined, isLong);
    const keys = long_list ? await gather(long_list.pages) : data.keys;
    assert.deepEqual(keys, keysTo(count));
    const info: Record<string, unknown> = { ...data.key_info };
    for await (const some of long_list?.info.pages ?? []) Object.assign(info, some);
    assert.deepEqual(Object.keys(info), keys);
    if (length === 100_000) assert.ok((long_list?.kept.sent ?? 0) > 3 * length);
  });
}

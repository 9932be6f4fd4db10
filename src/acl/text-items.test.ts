import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TextItems } from './text-items.ts';

const ROWS: [text: string, items: string[]][] = [
  ['a,b', ['a', 'b']],
  [' a , b ', ['a', 'b']],
  [',', ['', '']],
  ['a,,', ['a', '', '']],
  [' , \t,\u00a0\ufeff', ['', '', '']],
  ['\u2003a b\u2003,\u00e4', ['a b', '\u00e4']],
  ['a,a,A,a', ['a', 'a', 'A', 'a']],
  ['a', ['a']],
  ['', ['']],
];
for (const [text, items] of ROWS) {
  test(`the items of ${JSON.stringify(text)} are ${JSON.stringify(items)}`, () => {
    const found = new TextItems(text, 100);
    assert.deepEqual(
      Array.from({ length: found.length }, (_, at) => found.at(at)),
      items,
    );
    assert.equal(found.at(items.length), undefined);
    assert.deepEqual([...found.distinct()].sort(), [...new Set(items)].sort());
    for (const item of items) {
      assert.ok(found.has(item), item);
      assert.equal(found.has(`${item}x`), false, item);
      assert.equal(found.has(`x${item}`), false, item);
    }
  });
}

test('items beyond so many are left out', () => {
  const found = new TextItems('a,b,c', 2);
  assert.equal(found.length, 2);
  assert.equal(found.has('c'), false);
  assert.equal(found.at(2), undefined);
});

test('of thousands of items, many of them alike, each is found and no other', () => {
  const items = Array.from({ length: 10_000 }, (_, at) => `n${at % 4_000}`);
  const found = new TextItems(items.join(), 10_000);
  assert.equal([...found.distinct()].length, 4_000);
  for (let at = 0; at < 4_000; at++) assert.ok(found.has(`n${at}`));
  for (let at = 4_000; at < 8_000; at++) assert.equal(found.has(`n${at}`), false);
});

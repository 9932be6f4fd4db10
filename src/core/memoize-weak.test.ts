import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoizeWeak } from './memoize-weak.ts';

test('a result is worked out once for each object, even if it is undefined', () => {
  let runs = 0;
  const first = memoizeWeak((list: readonly string[]) => {
    runs += 1;
    return list[0];
  });
  const list = ['a'];
  assert.deepEqual([first(list), first(list), runs], ['a', 'a', 1]);
  assert.equal(first(['b']), 'b', 'another object');
  const empty: string[] = [];
  assert.deepEqual([first(empty), first(empty), runs], [undefined, undefined, 3]);
});

test('what is refused is refused again', () => {
  const refuse = memoizeWeak((_given: object): never => {
    throw new Error('no');
  });
  const given = {};
  assert.throws(() => refuse(given));
  assert.throws(() => refuse(given));
});

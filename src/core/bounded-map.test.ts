import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from './bounded-map.ts';

test('as many entries are kept as there may be, and one too many takes the place of what was set longest ago', () => {
  const map = new BoundedMap<number>(2);
  map.set('a', 1).set('b', 2);
  assert.deepEqual([...map], [['a', 1], ['b', 2]]); // biome-ignore format: one row
  // Set again, it is not the oldest any more; read, it still would be.
  map.set('a', 3);
  map.get('b');
  map.set('c', 4);
  assert.deepEqual([...map], [['a', 3], ['c', 4]]); // biome-ignore format: one row
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => map.get(key)),
    [3, undefined, 4, undefined],
  );
});

test('what was deleted leaves its place', () => {
  const map = new BoundedMap<number>(2);
  map.set('a', 1).set('b', 2).delete('b');
  map.set('c', 3);
  assert.deepEqual([...map.keys()], ['a', 'c']);
});

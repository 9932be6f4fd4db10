import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ListShelf } from './list-shelf.ts';
import type { FinishedList } from './making/job.ts';

const listOf = (length: number): FinishedList => ({
  mount_id: 'm',
  scope: '{}',
  revision: 1,
  list: { der: new Uint8Array(length), entries_at: 0, entries_length: 0, count: 0 },
});

test('a list is found by its number, and any list of the place to build upon', () => {
  const shelf = new ListShelf(100);
  const list = listOf(10);
  shelf.put('a', 5, list);
  assert.equal(shelf.find('a', 5), list);
  assert.equal(shelf.find('a', 4), undefined);
  assert.equal(shelf.findAny('a'), list);
  assert.equal(shelf.findAny('b'), undefined);
});

test('when there is no room the least used list goes', () => {
  const shelf = new ListShelf(100);
  shelf.put('a', 1, listOf(50));
  shelf.put('b', 1, listOf(50));
  shelf.find('a', 1);
  shelf.put('c', 1, listOf(50));
  assert.equal(shelf.findAny('b'), undefined);
  assert.ok(shelf.findAny('a'));
  assert.ok(shelf.findAny('c'));
});

test('a list that is longer than all the room is kept, alone', () => {
  const shelf = new ListShelf(100);
  shelf.put('a', 1, listOf(50));
  shelf.put('b', 1, listOf(500));
  assert.equal(shelf.findAny('a'), undefined);
  assert.ok(shelf.findAny('b'));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FinishedCrl } from './builder/job.ts';
import { CrlCache } from './cache.ts';

/** A list that takes about a kilobyte more than its bytes. */
const listOf = (length: number): FinishedCrl => ({
  mount_id: 'm',
  scope: '{}',
  revision: 1,
  list: { der: new Uint8Array(length), entries_at: 0, entries_length: 0, count: 0 },
});

test('a list is found by its number, and any list of the place to build upon', () => {
  const shelf = new CrlCache(100 << 10);
  const list = listOf(10 << 10);
  shelf.put('a', 5, list);
  assert.equal(shelf.find('a', 5), list);
  assert.equal(shelf.find('a', 4), undefined);
  assert.equal(shelf.findAny('a'), list);
  assert.equal(shelf.findAny('b'), undefined);
});

test('when there is no room the least used list goes', () => {
  const shelf = new CrlCache(110 << 10);
  shelf.put('a', 1, listOf(50 << 10));
  shelf.put('b', 1, listOf(50 << 10));
  shelf.find('a', 1);
  shelf.put('c', 1, listOf(50 << 10));
  assert.equal(shelf.findAny('b'), undefined);
  assert.ok(shelf.findAny('a'));
  assert.ok(shelf.findAny('c'));
});

test('a list that is longer than all the room is kept, alone', () => {
  const shelf = new CrlCache(100 << 10);
  shelf.put('a', 1, listOf(50 << 10));
  shelf.put('b', 1, listOf(500 << 10));
  assert.equal(shelf.findAny('a'), undefined);
  assert.ok(shelf.findAny('b'));
});

test('lists of nothing take room, too, and more with the issuers that their scope names', () => {
  const empty = listOf(0);
  const shelf = new CrlCache(100 << 10);
  for (let at = 0; at < 1000; at++) shelf.put(`${at}`, 1, empty);
  assert.equal(shelf.findAny('0'), undefined);
  assert.ok(shelf.findAny('950'));
  shelf.put('long', 1, { ...empty, scope: 'x'.repeat(36_000) });
  assert.equal(shelf.findAny('950'), undefined);
  assert.ok(shelf.findAny('999'));
});

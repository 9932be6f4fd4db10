import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEPT_TABLES, WriteCounts } from './write-counts.ts';

test('what one thread raises another one sees, once', () => {
  const ours = new WriteCounts();
  const theirs = new WriteCounts(ours.shared);
  assert.deepEqual(theirs.look(), { tables: [] });
  ours.raise([]);
  assert.deepEqual(theirs.look(), { tables: [] });
  ours.raise(['token']);
  assert.deepEqual(theirs.look(), { tables: ['token'] });
  assert.deepEqual(theirs.look(), { tables: [] });
  ours.raise(KEPT_TABLES);
  ours.noteConfig(3);
  assert.deepEqual(theirs.look(), { config: 3, tables: [...KEPT_TABLES] });
  // Who raised it has not looked yet either.
  assert.deepEqual(ours.look(), { config: 3, tables: [...KEPT_TABLES] });
});

test('a version of the configuration that is not newer than the known one changes nothing', () => {
  const counts = new WriteCounts();
  counts.noteConfig(7);
  assert.deepEqual(counts.look(), { config: 7, tables: [] });
  for (const version of [7, 6, 0]) {
    counts.noteConfig(version);
    assert.deepEqual(counts.look(), { tables: [] });
  }
  counts.noteConfig(8);
  assert.deepEqual([counts.look(), counts.config], [{ config: 8, tables: [] }, 8]);
});

test('a thread that begins later does not take what was before for a change', () => {
  const counts = new WriteCounts();
  counts.raise(['token']);
  counts.noteConfig(4);
  assert.deepEqual(new WriteCounts(counts.shared).look(), { tables: [] });
});

test('nothing was confirmed until somebody has asked', () => {
  const counts = new WriteCounts();
  assert.ok(counts.confirmed_ms < 0);
  counts.confirm(12.5);
  assert.equal(new WriteCounts(counts.shared).confirmed_ms, 12);
});

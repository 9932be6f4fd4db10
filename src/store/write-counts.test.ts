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

test('a version that another thread has noted, and not told of yet, is told of', () => {
  const counts = new WriteCounts();
  const reader = new WriteCounts(counts.shared);
  // As that thread is stopped in the middle of it.
  const before = Int32Array.from(new Int32Array(counts.shared));
  new WriteCounts(counts.shared).noteConfig(5);
  const after = Int32Array.from(new Int32Array(counts.shared));
  const changed = [...after.keys()].filter((at) => after[at] !== before[at]);
  const version = changed.find((at) => after[at] === 5 && before[at] === 0);
  for (const at of changed) if (at !== version) new Int32Array(counts.shared)[at] = before[at] ?? 0;
  assert.equal(counts.config, 5);
  counts.noteConfig(5);
  assert.deepEqual(reader.look(), { config: 5, tables: [] });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeenChains } from './dates.ts';

const reads: [what: string, version: number, digest: string, now: number, date: number][] = [
  ['what was not read before', 1, 'a', 10, 10],
  ['the same again', 1, 'a', 20, 10],
  ['the same of a later version', 2, 'a', 30, 10],
  ['another', 3, 'b', 40, 40],
  ['the one before, by who is late', 2, 'a', 50, 0],
  ['the same by who is late', 2, 'b', 60, 40],
  ['what it was, again', 4, 'a', 70, 70],
];

test('a chain is dated by when it was first read since another one was', () => {
  const seen = new SeenChains(8);
  for (const [what, version, digest, now, date] of reads) {
    assert.equal(seen.dateOf({ mount_id: 'm', version, digest }, now), date, what);
  }
  assert.equal(seen.dateOf({ mount_id: 'other', version: 1, digest: 'b' }, 80), 80);
});

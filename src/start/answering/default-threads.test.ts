import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { defaultThreads } from './default-threads.ts';

const GIB = 1024 ** 3;
for (const [cores, memory, threads] of [
  [1, 64 * GIB, 1],
  [2, 24 * GIB, 2],
  [16, 64 * GIB, 16],
  [16, 8 * GIB, 16],
  [16, 8 * GIB - 1, 15],
  [8, GIB, 2],
  [8, GIB / 2, 1],
  // There is one in any case.
  [8, GIB / 4, 1],
  [0, GIB, 1],
] as const) {
  test(`with ${cores} cores and ${memory / GIB} GiB ${threads} answer unless told otherwise`, () => {
    assert.equal(defaultThreads({ cores, memory }), threads);
  });
}

test('on this machine no more answer than it has cores', () => {
  assert.ok(defaultThreads() >= 1);
  assert.ok(defaultThreads() <= availableParallelism());
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrowingWaits } from './growing-waits.ts';

const HOUR = 3_600_000;

/** When somebody was asked in vain, how long before one who is asked again has waited, and that moment. */
const waits: [asked: readonly number[], isTooSoon: number | undefined, isOver: number][] = [
  [[], undefined, 0],
  [[0], undefined, 0],
  [[0, 10], 19, 20],
  [[0, 10, 20], 39, 40],
  [[0, 10, 20, 45], 89, 90],
  [[0, HOUR], 2 * HOUR - 1, 2 * HOUR],
  [[0, HOUR, 9 * HOUR], 10 * HOUR - 1, 10 * HOUR],
];

for (const [asked, isTooSoon, isOver] of waits) {
  test(`who was asked in vain at ${asked.join(', ') || 'no time'} is asked again at ${isOver}`, () => {
    const known = new GrowingWaits();
    for (const at of asked) known.note('a', at);
    if (isTooSoon !== undefined) assert.equal(known.isOver('a', isTooSoon), false);
    assert.equal(known.isOver('a', isOver), true);
    assert.equal(known.isOver('b', 0), true, 'nobody else waits');
    known.forget('a');
    assert.equal(known.isOver('a', asked.at(-1) ?? 0), true);
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseThreshold } from './thresholds.ts';

const DAY = 86_400;
const BEFORE = [30 * DAY, 7 * DAY, DAY];

const cases: [lifetime: number, left: number, before: number | undefined, why: string][] = [
  [365, 31, undefined, 'not time yet'],
  [365, 30, 30, 'just in time'],
  [365, 8, 30, 'the nearest so far'],
  [365, 7, 7, 'the next one'],
  [365, 0.5, 1, 'the last one'],
  [365, -3, 1, 'what has ended while nobody looked is told by the nearest'],
  [45, 30, 30, 'two thirds of the whole'],
  [44, 30, undefined, 'more than two thirds of the whole'],
  [44, 7, 7, 'the longest is left out, the others are not'],
  [3, 3, undefined, 'three days: never a month before'],
  [3, 1, 1, 'three days: a day before'],
  [1, 0.5, undefined, 'a day: never'],
];

for (const [lifetime, left, before, why] of cases) {
  test(`a certificate of ${lifetime} days with ${left} left: ${why}`, () => {
    const not_after = 2_000_000_000;
    const validity = { not_before: not_after - lifetime * DAY, not_after };
    const chosen = chooseThreshold(BEFORE, validity, not_after - left * DAY);
    assert.equal(chosen, before && before * DAY);
  });
}

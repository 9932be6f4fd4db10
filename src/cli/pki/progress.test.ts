import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barOf, isOver, progressOf } from './progress.ts';

const bars: [done: number, total: number, bar: string][] = [
  [0, 10, `[${'.'.repeat(30)}]   0% 0 of 10`],
  [5, 10, `[${'#'.repeat(15)}${'.'.repeat(15)}]  50% 5 of 10`],
  [999, 1000, `[${'#'.repeat(29)}.]  99% 999 of 1000`],
  [10, 10, `[${'#'.repeat(30)}] 100% 10 of 10`],
  [12, 10, `[${'#'.repeat(30)}] 100% 12 of 10`],
];

for (const [processed_count, total_count, bar] of bars) {
  test(`a tidying that has done ${processed_count} of ${total_count} is shown as far as it is`, () => {
    assert.equal(barOf(progressOf({ state: 'Running', processed_count, total_count })), bar);
  });
}

const EMPTY: [state: string, line: string][] = [
  ['Running', 'finding out what is to go'],
  ['Cancelling', 'finding out what is to go'],
  ['Finished', 'nothing was to go'],
  ['Cancelled', 'nothing was to go'],
];
for (const [state, line] of EMPTY) {
  test(`a tidying without a total that is ${state}: ${line}`, () => {
    assert.equal(barOf(progressOf({ state, total_count: 0 })), line);
  });
}

test('a status that says nothing is over, and shows nothing', () => {
  for (const data of [undefined, null, {}, { state: 'Inactive', total_count: null }]) {
    assert.ok(isOver(progressOf(data)));
    assert.equal(barOf(progressOf(data)), 'nothing was to go');
  }
});

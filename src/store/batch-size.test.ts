import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchSize } from './batch-size.ts';

const after = (durations: readonly number[], sets = 9): number => {
  const size = new BatchSize();
  for (const ms of durations) size.note(ms, sets);
  return size.statements;
};
const many = (ms: number, count = 20): number[] => Array(count).fill(ms);

const cases: [why: string, durations: number[], statements: number][] = [
  ['nothing is known', [], 4096],
  ['all are short', many(2), 4096],
  ['one is long', [2, 60], 2048],
  ['one is not quite', [2, 53], 4096],
  ['they go on being long', [2, ...many(300)], 64],
  ['they are short again', [2, ...many(300), ...many(2)], 4096],
  ['every one is slow, as over a long way', many(90), 4096],
  ['some are far slower than that way', [...many(90), 240, 240], 1024],
  ['and the way is all that is left', [...many(90), 240, 240, ...many(90)], 4096],
  ['the way has become longer for good', [2, ...many(90, 400)], 4096],
];
for (const [why, durations, statements] of cases) {
  test(`a batch has ${statements} statements when ${why}`, () => {
    assert.equal(after(durations), statements);
  });
}

test('a set alone is no reason for smaller batches', () => {
  assert.equal(after([2, ...many(500)], 1), 4096);
});

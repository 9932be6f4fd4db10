import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchSize } from './batch-size.ts';

/** @param durations of batches that are as full as they may be, but for the numbers of statements given */
const after = (durations: readonly number[], sets = 9, statements?: number): number => {
  const size = new BatchSize();
  for (const ms of durations) size.note(ms, { sets, statements: statements ?? size.statements });
  return size.statements;
};
const many = (ms: number, count = 20): number[] => Array(count).fill(ms);

const cases: [why: string, durations: number[], statements: number][] = [
  ['nothing is known', [], 512],
  ['all are short', many(2), 4096],
  ['one is long', [...many(2), 60], 2048],
  ['one is not quite', [...many(2), 53], 4096],
  ['they go on being long', [...many(2), ...many(400)], 64],
  ['they are short again', [...many(2), ...many(400), ...many(2)], 4096],
  ['every one is slow, as over a long way', many(90), 4096],
  ['some are far slower than that way', [...many(90), 240, 240], 1024],
  ['and the way is all that is left', [...many(90), 240, 240, ...many(90)], 4096],
];
for (const [why, durations, statements] of cases) {
  test(`a batch has ${statements} statements when ${why}`, () => {
    assert.equal(after(durations), statements);
  });
}

test('a set alone is no reason for smaller batches, and a small batch none for larger ones', () => {
  assert.equal(after([2, ...many(500)], 1, 8), 512);
  assert.equal(after(many(2), 9, 200), 512);
});

for (const cost of [0.25, 0.5, 1, 5]) {
  test(`however long a flood of statements of ${cost} ms goes on, its batches do not become long`, () => {
    const size = new BatchSize();
    for (let at = 0; at < 5_000; at++) {
      const took = 3 + size.statements * cost;
      if (at > 10) assert.ok(took <= 460, `batch ${at} takes ${took} ms`);
      size.note(took, { sets: 9, statements: size.statements });
    }
  });
}

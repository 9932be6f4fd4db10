import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGivenUp, LEFT_ALONE, PATIENCE, sighted } from './next-seal.ts';

const NOW = 1_800_000_000_000;

test('a seal that is to follow is given up once whoever made it has answered, or cannot any more', () => {
  const nothing = { underway: new Set<string>(), answered: undefined, seen: undefined };
  const seen = (tag: string, ago: number) => ({ ...nothing, seen: { tag, since: NOW - ago } });
  const here = { ...nothing, underway: new Set(['x']) };
  const table = [
    ['never seen', nothing, false],
    ['seen a moment ago', seen('x', 0), false],
    ['seen nearly long enough', seen('x', LEFT_ALONE - 1), false],
    ['seen long enough', seen('x', LEFT_ALONE), true],
    ['another was seen long enough', seen('y', LEFT_ALONE), false],
    ['answered here', { ...nothing, answered: 'x' }, true],
    ['another was answered here', { ...nothing, answered: 'y' }, false],
    ['under way here', here, false],
    [
      'under way here, whatever was seen',
      { ...here, ...seen('x', LEFT_ALONE), ...{ underway: here.underway } },
      false,
    ],
  ] as const;
  for (const [what, known, expected] of table) {
    assert.equal(isGivenUp(known, 'x', { now: NOW, alone: false }), expected, what);
  }
});

test('where there is no other node, only what is under way here is not given up', () => {
  const known = { underway: new Set(['x']), answered: undefined, seen: undefined };
  assert.ok(!isGivenUp(known, 'x', { now: NOW, alone: true }));
  assert.ok(isGivenUp(known, 'y', { now: NOW, alone: true }));
});

test('a seal is seen from the first time on, another one anew', () => {
  const first = sighted(undefined, 'x', NOW);
  assert.deepEqual(sighted(first, 'x', NOW + 5), { tag: 'x', since: NOW });
  assert.deepEqual(sighted(first, 'y', NOW + 5), { tag: 'y', since: NOW + 5 });
});

test('a seal is left alone for longer than whoever made it takes to answer', () => {
  assert.ok(LEFT_ALONE >= 2 * PATIENCE);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bounds, GrowingWaits } from './growing-waits.ts';

const HOUR = 3_600_000;

/** When somebody was asked in vain, how long before one who is asked again has waited, and that moment. */
const waits: [
  asked: readonly number[],
  isTooSoon: number | undefined,
  isOver: number,
  bounds?: Bounds,
][] = [
  [[], undefined, 0],
  [[0], undefined, 0],
  [[0, 10], 19, 20],
  [[0, 10, 20], 39, 40],
  [[0, 10, 20, 45], 89, 90],
  [[0, HOUR], 2 * HOUR - 1, 2 * HOUR],
  [[0, HOUR, 9 * HOUR], 10 * HOUR - 1, 10 * HOUR],
  [[], undefined, 0, { shortest: 10 }],
  [[0], 9, 10, { shortest: 10 }],
  [[0, 15], 29, 30, { shortest: 10 }],
  [[0, 15], 24, 25, { longest: 10 }],
];

for (const [asked, isTooSoon, isOver, bounds] of waits) {
  const within = bounds ? ` within ${JSON.stringify(bounds)}` : '';
  test(`who was asked in vain at ${asked.join(', ') || 'no time'} is asked again at ${isOver}${within}`, () => {
    const known = new GrowingWaits(bounds);
    for (const at of asked) known.note('a', at);
    if (isTooSoon !== undefined) assert.equal(known.isOver('a', isTooSoon), false);
    assert.equal(known.isOver('a', isOver), true);
    assert.equal(known.isOver('b', 0), true, 'nobody else waits');
    known.forget('a');
    assert.equal(known.isOver('a', asked.at(-1) ?? 0), true);
  });
}

test('one who may not wait as long as the others is asked sooner, and no later than they', () => {
  const known = new GrowingWaits({ longest: 50 });
  for (const [id, longest] of [
    ['short', 20],
    ['long', 200],
  ] as const) {
    known.note(id, 0, longest);
    known.note(id, 100, longest);
  }
  assert.equal(known.isOver('short', 119), false);
  assert.equal(known.isOver('short', 120), true);
  assert.equal(known.isOver('long', 149), false);
  assert.equal(known.isOver('long', 150), true);
});

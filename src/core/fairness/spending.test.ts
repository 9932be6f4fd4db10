import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Spending } from './spending.ts';

for (const [what, now, one, other] of [
  ['at once', 0, 8, 4],
  ['after its half-life', 1_000, 4, 2],
  ['after three of them', 3_000, 1, 0.5],
] as const) {
  test(`what was spent counts ${what}`, () => {
    const spending = new Spending(1_000);
    spending.charge('one', 3, 0);
    spending.charge('other', 4, 0);
    spending.charge('one', 5, 0);
    assert.deepEqual([spending.of('one', now), spending.of('other', now)], [one, other]);
    assert.equal(spending.of('nobody', now), 0);
  });
}

test('of more accounts than are kept those go that were charged longest ago', () => {
  const spending = new Spending(1_000, 2);
  for (const name of ['a', 'b', 'a', 'c']) spending.charge(name, 1, 0);
  assert.equal(spending.size, 2);
  assert.deepEqual(
    ['a', 'b', 'c'].map((name) => spending.of(name, 0)),
    [2, 0, 1],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsEntries, isSame } from './same-value.ts';

const nested = [[[['a', 1], [null]]], [true]];

const VALUES: [one: unknown, other: unknown, same: boolean][] = [
  ['a', 'a', true],
  ['a', 'b', false],
  ['1', 1, false],
  [1, 1, true],
  [0, false, false],
  [null, null, true],
  [null, undefined, false],
  [[], [], true],
  [[], {}, false],
  [['a', 'b'], ['a', 'b'], true],
  [['a', 'b'], ['b', 'a'], false],
  [['a'], ['a', 'a'], false],
  [nested, structuredClone(nested), true],
  [nested, [[[['a', 1], [false]]], [true]], false],
  [{}, {}, true],
  [{ a: 1, b: ['x'] }, { b: ['x'], a: 1 }, true],
  [{ a: 1 }, { a: 2 }, false],
  [{ a: 1 }, { a: 1, b: 1 }, false],
  [{ a: undefined }, { b: undefined }, false],
  [{ a: 1 }, null, false],
  [new Map([['a', 1]]), new Map([['a', 1]]), true],
  [new Map([['a', 1]]), new Map([['a', 2]]), false],
  [new Map(), {}, false],
];
for (const [at, [one, other, same]] of VALUES.entries()) {
  test(`pair ${at}: ${JSON.stringify(one)} is ${same ? '' : 'not '}the same as ${JSON.stringify(other)}`, () => {
    assert.equal(isSame(one, other, { left: 1000 }), same);
    assert.equal(isSame(other, one, { left: 1000 }), same);
  });
}

const ENTRIES: [whole: unknown, part: unknown, holds: boolean][] = [
  [{ a: 1, b: ['x'] }, { b: ['x'] }, true],
  [{ a: 1, b: ['x'] }, { b: ['y'] }, false],
  [{ a: 1 }, { a: 1, b: 1 }, false],
  [{ a: 1 }, {}, false],
  [{ a: 1 }, ['a'], false],
  [['a'], { 0: 'a' }, false],
  [null, { a: 1 }, false],
];
for (const [whole, part, holds] of ENTRIES) {
  test(`${JSON.stringify(whole)} ${holds ? 'holds' : 'does not hold'} ${JSON.stringify(part)}`, () => {
    assert.equal(holdsEntries(whole, part, { left: 1000 }), holds);
  });
}

test('each part that is compared is taken from the budget, up to the first that differs', () => {
  const tree = Array.from({ length: 10 }, () => [[[]]]);
  const sizes: [one: unknown, other: unknown, taken: number][] = [
    ['a', 'a', 1],
    ['a'.repeat(6400), 'b', 101],
    [tree, structuredClone(tree), 31],
    [['x', ...tree], ['y', ...tree], 2],
    [tree, [...tree, 'x'], 1],
  ];
  for (const [one, other, taken] of sizes) {
    const budget = { left: 1000 };
    isSame(one, other, budget);
    assert.equal(1000 - budget.left, taken);
  }
  const short = { left: 30 };
  assert.equal(isSame(tree, structuredClone(tree), short), false);
  assert.ok(short.left < 0);
});

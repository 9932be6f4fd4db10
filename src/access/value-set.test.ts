import assert from 'node:assert/strict';
import test from 'node:test';
import { ValueSet } from './value-set.ts';

const ROWS: [named: string[], text: string, has: boolean][] = [
  [['a'], 'a', true],
  [['a'], 'ab', false],
  [['a', 'b'], 'b', true],
  [['a*'], 'a', true],
  [['a*'], 'ab', true],
  [['a*'], 'ba', false],
  [['*a'], 'ba', true],
  [['*a'], 'a', true],
  [['*a'], 'ab', false],
  [['*a*'], 'bab', true],
  [['*a*'], 'bb', false],
  [['*ab*'], 'a', false],
  [['*'], '', true],
  [['*'], 'a', true],
  [['**'], '', true],
  [['a*b'], 'axb', false],
  [['a*b'], 'a*b', true],
  [['abc*'], 'ab', false],
  [['*abc'], 'bc', false],
  [[], '', false],
];
for (const [named, text, has] of ROWS) {
  test(`${JSON.stringify(named)} ${has ? 'has' : 'does not have'} ${JSON.stringify(text)}`, () => {
    assert.equal(new ValueSet(named).has(text, { left: 100 }), has);
  });
}

test('a set says neither yes nor no of what would take more comparisons than are left', () => {
  const set = new ValueSet(['*a*', '*b*', '*c*']);
  assert.equal(set.has('c', { left: 4 }), true);
  assert.equal(set.has('c', { left: 3 }), undefined);
  const budget = { left: 9 };
  assert.deepEqual(
    [set.has('x', budget), set.has('x', budget), set.has('x', budget)],
    [false, false, undefined],
  );
});

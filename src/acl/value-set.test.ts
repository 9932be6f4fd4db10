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

test('ends of however many lengths are told apart as if each were looked for by itself', () => {
  const words = ['', 'a', 'ab', 'ba', 'aab', 'bab', 'abab', 'bbabab', 'äöü', 'üöä', 'xä'];
  const patterns = words.flatMap((word) => [`${word}*`, `*${word}`]).filter((each) => each !== '*');
  const texts = words.flatMap((one) => words.map((other) => one + other));
  for (const pattern of patterns) {
    const end = pattern.replace('*', '');
    // With others around it, so that texts are gone through piece by piece.
    const set = new ValueSet([
      pattern,
      ...(pattern.startsWith('*') ? ['*q', '*qqq'] : ['q*', 'qqq*']),
    ]);
    for (const text of texts) {
      const fits = pattern.startsWith('*') ? text.endsWith(end) : text.startsWith(end);
      assert.equal(set.has(text, { left: 1000 }), fits, `${pattern} ${text}`);
    }
  }
});

test('what a long text costs goes by what is gone through of it', () => {
  const costs: [named: string[], text: string, most: number][] = [
    [['*y', '*yy', '*yyy'], 'x'.repeat(65), 4],
    [Array.from({ length: 50 }, (_, at) => `*${'y'.repeat(at + 1)}`), 'x'.repeat(65), 57],
    [[`*${'y'.repeat(8000)}`], 'x'.repeat(80_000), 1002],
    [[`*${'y'.repeat(2000)}*`], 'x'.repeat(4000), 1502],
    [['*yyyyyyyyyy*'], 'x'.repeat(26), 4],
  ];
  for (const [named, text, most] of costs) {
    const budget = { left: 10_000 };
    assert.equal(new ValueSet(named).has(text, budget), false);
    assert.equal(10_000 - budget.left, most, `${named[0]?.slice(0, 10)} ${text.length}`);
  }
});

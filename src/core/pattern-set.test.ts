import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitsGlob, parseGlob } from './glob.ts';
import { PatternSet } from './pattern-set.ts';

const cases: [entries: string[], text: string, found: boolean, why: string][] = [
  [['a.test'], 'a.test', true, 'listed'],
  [['a.test'], 'A.test', false, 'in other letters'],
  [['a.test'], 'a.test.', false, 'longer than what is listed'],
  [['*.a.test', 'b.test'], 'x.a.test', true, 'by its end'],
  [['*.a.test', 'b.test'], 'a.test', false, 'without what the star stands before'],
  [['web-*'], 'web-1', true, 'by its beginning'],
  [['web-*'], 'we-1', false, 'another beginning'],
  [['a*b'], 'ab', true, 'shorter than a piece that patterns are filed under'],
  [['a*b'], 'ba', false, 'the same letters the other way round'],
  [['*abcdef*'], 'xxabcdefxx', true, 'by what is in the middle'],
  [['*abcdef*'], 'xxabcdexfx', false, 'with a letter between'],
  [['*'], '', true, 'any text, the empty one too'],
  [['**'], 'x', true, 'stars beside each other'],
  [[], '', false, 'nothing is listed'],
  [['x*', '*yyyyy', '*zz*', 'q'], 'aayyyyy', true, 'among patterns of other lengths'],
];

for (const [entries, text, found, why] of cases) {
  test(`${JSON.stringify(text)} in ${JSON.stringify(entries)}: ${why}`, () => {
    assert.equal(new PatternSet(entries).has(text, { left: 100 }), found);
  });
}

test('what is found is what one of the patterns fits, whatever the letters', () => {
  // A small alphabet makes pieces that many patterns share; the sequence is the same each time.
  let state = 1;
  const draw = (most: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % most;
  };
  const word = (letters: string, longest: number): string =>
    Array.from({ length: draw(longest) }, () => letters[draw(letters.length)]).join('');
  let found = 0;
  for (let round = 0; round < 2000; round += 1) {
    const entries = Array.from({ length: 1 + draw(4) }, () => word('ab*', 9));
    const text = word('ab', 12);
    const expected = entries.some((entry) => fitsGlob(parseGlob(entry), text));
    assert.equal(new PatternSet(entries).has(text, { left: 1000 }), expected, `${entries} ${text}`);
    if (expected) found += 1;
  }
  assert.ok(found > 200 && found < 1800, String(found));
});

test('a text is compared with the patterns that have a piece of it, not with all', () => {
  for (const shape of ['*.d#.example.com', 'd#*.example.com', '*-d#-*']) {
    const entries = Array.from({ length: 10_000 }, (_, i) => shape.replace('#', `${i + 10_000}`));
    const set = new PatternSet(entries);
    const budget = { left: 100_000 };
    const last = shape.replace('#', '19999').replaceAll('*', 'x');
    for (let round = 0; round < 100; round += 1) assert.equal(set.has(last, budget), true);
    assert.ok(budget.left > 50_000, `${shape}: ${100_000 - budget.left} comparisons`);
  }
});

test('patterns that cannot be told apart use the budget up, and then nothing is found', () => {
  const entries = Array.from({ length: 1000 }, (_, i) => `aaaa*x${'*'.repeat(i + 1)}y`);
  const set = new PatternSet(entries);
  const budget = { left: 1500 };
  assert.equal(set.has('aaaaxyc', budget), false);
  assert.equal(budget.left, 500);
  assert.equal(set.has('aaaaxyc', budget), false);
  assert.ok(budget.left < 0);
});

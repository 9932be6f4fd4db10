import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { fitsGlob, parseGlob } from './glob.ts';

const cases: [pattern: string, text: string, fits: boolean][] = [
  ['a', 'a', true],
  ['a', 'A', false],
  ['a', 'ab', false],
  ['', '', true],
  ['', 'a', false],
  ['*', '', true],
  ['*', 'a.b', true],
  ['*.b', '.b', true],
  ['*.b', 'b', false],
  ['a*', 'a', true],
  ['a*', 'ba', false],
  ['a*b*c', 'a1b2c', true],
  ['a*b*c', 'acb', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['ab*ba', 'aba', false],
  ['a**b', 'ab', true],
  ['*b*', 'abc', true],
  ['*b*', 'ac', false],
  ['a.c', 'abc', false],
  ['[a]', 'a', false],
];

for (const [pattern, text, fits] of cases) {
  test(`"${pattern}" ${fits ? 'fits' : 'does not fit'} "${text}"`, () => {
    assert.equal(fitsGlob(parseGlob(pattern), text), fits);
  });
}

test('a pattern of many stars does not stall on a text that nearly fits', async () => {
  await spendsAtMost(1_000, () => {
    assert.equal(fitsGlob(parseGlob(`${'a*'.repeat(5000)}b`), 'a'.repeat(20_000)), false);
  });
});

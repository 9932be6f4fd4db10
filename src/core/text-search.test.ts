import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { findLastText, findText } from './text-search.ts';

const long = (pattern: string): string => pattern.repeat(Math.ceil(200 / pattern.length));

const ROWS: [text: string, piece: string, from: number, at: number][] = [
  ['abc', 'b', 0, 1],
  ['abc', 'd', 0, -1],
  ['abc', '', 2, 2],
  ['abc', 'abcd', 0, -1],
  ['abcabc', 'abc', 1, 3],
  [`${long('ab')}c${long('ab')}`, `${long('ab').slice(2)}c`, 0, 2],
  [long('ab'), `${long('ab').slice(4)}c`, 0, -1],
  [`x${long('a')}`, long('a'), 0, 1],
  [`x${long('a')}`, long('a'), 2, -1],
  [`${long('aab')}${long('aac')}`, `aab${long('aac').slice(0, 150)}`, 0, 198],
];
for (const [text, piece, from, at] of ROWS) {
  const shown = (one: string) => (one.length > 20 ? `${one.slice(0, 8)}… of ${one.length}` : one);
  test(`"${shown(piece)}" in "${shown(text)}" from ${from} is at ${at}`, () => {
    assert.equal(findText(text, piece, from), at);
  });
}

test('whatever the texts, what indexOf and lastIndexOf find is found', () => {
  let seed = 7;
  const next = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const word = (length: number, letters: string): string =>
    Array.from({ length }, () => letters[next(letters.length)]).join('');
  for (let run = 0; run < 3_000; run += 1) {
    const letters = ['a', 'ab', 'abc', 'aé'][next(4)] ?? 'a';
    const text = word(next(600), letters);
    const start = next(text.length + 1);
    const piece =
      next(2) === 0
        ? word(next(60), letters)
        : text.slice(start, start + next(300)) + word(next(2), letters);
    const from = next(text.length + 1);
    assert.equal(
      findText(text, piece, from),
      text.indexOf(piece, from),
      `${text} ${piece} ${from}`,
    );
    assert.equal(
      findLastText(text, piece, from),
      text.lastIndexOf(piece, from),
      `the last: ${text} ${piece} ${from}`,
    );
    assert.equal(findLastText(text, piece), text.lastIndexOf(piece), `the last: ${text} ${piece}`);
  }
});

const WORST: [what: string, text: string, piece: string][] = [
  [
    'near misses at the beginning',
    'a'.repeat(1_000_000),
    `${'a'.repeat(20_000)}b${'a'.repeat(20_000)}`,
  ],
  ['near misses at the end', 'a'.repeat(1_000_000), `${'a'.repeat(40_000)}b`],
  ['near misses in the first character', 'a'.repeat(1_000_000), `b${'a'.repeat(40_000)}`],
  ['near misses of a period', 'ab'.repeat(500_000), `${'ab'.repeat(20_000)}b`],
];
for (const [what, text, piece] of WORST) {
  test(`a million characters are searched in a short time: ${what}`, async () => {
    findText(text.slice(0, 50_000), piece);
    await spendsAtMost(40, () => assert.equal(findText(text, piece), -1));
    await spendsAtMost(40, () => assert.equal(findLastText(text, piece), -1));
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RE2JS } from 're2js';
import { measurePattern } from './pattern-size.ts';

/** Pieces that expressions are put together from, those first that reading must not stumble over. */
const PIECES = [
  '(', ')', '(?:', '(?i)', '(?i:', '(?s', '(?-i)', '(?P<n>', '(?<m>', '|', '*', '+', '?', '??', '{3}',
  '{2,}', '{0,4}', '{0}', '{10}', '{', '}', ',', '[', ']', '[^', '[]', '[]a]', '[[:alpha:]', '[:', ':]',
  '[[:alpha:])]', '-', '^', '$', '.', 'a', 'b', 'a{20}', '(ab){5}', '(a|b){7}', '[a-z]', '[^\\d]',
  '\\Q', '\\E', '\\Q)\\E', '\\pL', '\\p{Greek}', '\\d', '\\x{41}', '\\x41', '\\101', '\\b', '\\]',
  '\\(', '\\)', '\\{', '\\\\', '\u03c3', '\u00e9', '\u{1f600}',
]; // biome-ignore format: one table

/** Numbers that look drawn at random, and are the same in every run. */
function* draw(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    yield state >> 8;
  }
}

test('no expression becomes a larger program than was foretold', () => {
  const random = draw(7);
  const next = (below: number): number => random.next().value % below;
  let compiled = 0;
  for (let round = 0; round < 20_000; round++) {
    const pieces = Array.from({ length: 1 + next(14) }, () => PIECES[next(PIECES.length)] ?? '');
    const text = pieces.join('');
    const foretold = measurePattern(text);
    if (foretold > 2_000) continue;
    const size = sizeOf(text);
    if (size === undefined) continue;
    compiled++;
    assert.ok(size <= foretold, `${JSON.stringify(text)}: ${size} instead of ${foretold}`);
  }
  assert.ok(compiled > 2_000, `${compiled} could be compiled`);
});

function sizeOf(text: string): number | undefined {
  try {
    return RE2JS.compile(text).programSize();
  } catch {
    return undefined;
  }
}

const closely: [text: string, size: number][] = [
  ['abc', 20],
  ['a{100}', 250],
  ['^[0-9a-f]{8}-[0-9a-f]{4}$', 60],
  ['(?i)web-[a-z]{3}', 40],
  ['\\Q{100}{100}\\E', 30],
  ['\\x{41}\\{100}', 20],
];

for (const [text, most] of closely) {
  test(`${text} is not foretold to be much larger than it is`, () => {
    const size = sizeOf(text);
    assert.ok(size !== undefined && measurePattern(text) >= size);
    assert.ok(measurePattern(text) <= most, String(measurePattern(text)));
  });
}

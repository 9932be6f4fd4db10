import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concealTexts } from './concealed-words.ts';

const UNTOLD = 'the words of this refusal may tell what is concealed';
const many = (count: number, length = 4): string[] =>
  Array.from({ length: count }, (_, at) => String(at).padStart(length, 'x'));
const words = (length: number): string => 'a'.repeat(length);

const cases: [rule: string, words: string, texts: string[], told: string][] = [
  ['nothing is concealed', words(5_000), [], words(5_000)],
  ['each place is', 'no b, nor b', ['b'], 'no <b>, nor <b>'],
  ['the longest of those that begin alike', 'abc', ['a', 'ab'], '<ab>c'],
  ['what stands in a hash is no text', 'x@y', ['x@y', '<', 'y'], '<x@y>'],
  ['a hundred texts', 'no', many(100), 'no'],
  ['one more', 'no', many(101), UNTOLD],
  ['words of 4,096 characters', words(4_096), ['b'], words(4_096)],
  ['one more', words(4_097), ['b'], UNTOLD],
  ['a thousand characters held against four thousand', words(4_000), many(10, 100), words(4_000)],
  ['one more', words(4_000), [...many(9, 100), words(101)], UNTOLD],
];
for (const [rule, given, texts, told] of cases) {
  test(`${rule}: ${told === UNTOLD ? 'nothing is told' : 'it is told'}`, () => {
    assert.equal(concealTexts(given, new Map(texts.map((text) => [text, `<${text}>`]))), told);
  });
}

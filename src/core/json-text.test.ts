import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { list, shortList, stringMap } from './fields.ts';
import { parseJsonText } from './json-text.ts';

const LIMITS = { maxDepth: 2, maxValues: 4, maxMembers: 2 };

const cases: [text: string, read: unknown, rule: string][] = [
  ['{"a":1,"b":[2]}', { a: 1, b: [2] }, 'as many members as may be'],
  ['{"a":1,"b":2,"c":3}', undefined, 'a member more'],
  ['[1,2,3,4]', [1, 2, 3, 4], 'as many values as may be'],
  ['[1,2,3,4,5]', undefined, 'a value more'],
  ['[[1]]', [[1]], 'as deep as may be'],
  ['[[[1]]]', undefined, 'deeper'],
  ['["[[[,,,,,:::"]', ['[[[,,,,,:::'], 'what stands in a string counts for nothing'],
  ['["\\\\",1]', ['\\', 1], 'a string that ends with an escape'],
  ['["\\",[[1', undefined, 'a string that does not end'],
  ['{"a":1,"a":2}', undefined, 'a key twice'],
  ['{"a"', undefined, 'no JSON'],
];
for (const [text, read, rule] of cases) {
  test(`${rule}: ${text} is ${read === undefined ? 'not ' : ''}read`, () => {
    assert.deepEqual(parseJsonText(text, LIMITS), read);
  });
}

test('fields that take a text of JSON refuse a megabyte of parts without parsing it', async () => {
  const many = (each: (at: number) => string) =>
    Array.from({ length: 90_000 }, (_, at) => each(at));
  const texts = [
    `[{${many((at) => `"${at}":""`).join()}}]`,
    `{${many((at) => `"${at}":""`).join()}}`,
    `[${many(() => '{}').join()}]`,
  ];
  for (const text of texts) {
    for (const field of [list(), shortList(), stringMap()]) {
      await spendsAtMost(25, () => assert.equal(field.safeParse(text).success, false));
    }
  }
});

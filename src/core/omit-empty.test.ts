import assert from 'node:assert/strict';
import { test } from 'node:test';
import { omitEmpty } from './omit-empty.ts';

const values: [value: unknown, isKept: boolean][] = [
  [undefined, false],
  [null, false],
  ['', false],
  [' ', true],
  ['0', true],
  [0, false],
  [-1, true],
  [false, false],
  [true, true],
  [[], false],
  [[''], true],
  [{}, false],
  [{ a: '' }, true],
];

for (const [value, isKept] of values) {
  test(`what clients take to be absent is left out: ${JSON.stringify(value)} ${isKept ? 'is not' : 'is'}`, () => {
    assert.deepEqual(omitEmpty({ value, other: 1 }), { ...(isKept ? { value } : {}), other: 1 });
  });
}

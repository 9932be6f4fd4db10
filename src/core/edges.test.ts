import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutLeading, withoutTrailing } from './edges.ts';

const cases: [text: string, trailing: string, leading: string][] = [
  ['', '', ''],
  ['a', 'a', 'a'],
  ['/', '', ''],
  ['//', '', ''],
  ['a//', 'a', 'a//'],
  ['//a', '//a', 'a'],
  ['/a/b/', '/a/b', 'a/b/'],
  ['a//b', 'a//b', 'a//b'],
];

for (const [text, trailing, leading] of cases) {
  test(`"${text}" without slashes at an end`, () => {
    assert.equal(withoutTrailing(text, '/'), trailing);
    assert.equal(withoutLeading(text, '/'), leading);
  });
}

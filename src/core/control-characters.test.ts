import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasControl } from './control-characters.ts';

const CASES: [value: unknown, has: boolean, why: string][] = [
  ['a\u0000b', true, 'NUL'],
  ['\u001b[31m', true, 'an escape'],
  ['a\u007f', true, 'DEL'],
  ['\u0085', true, 'those beyond ASCII'],
  ['a\tb\r\nc', false, 'a tab and ends of lines'],
  ['é\u2028 😀', false, 'other characters'],
  [['a', 'b\u0008'], true, 'in an item'],
  [['a', ['b', 'c\u0008']], true, 'in a list of a list'],
  [{ a: 'b\u0000' }, true, 'in a value of a map'],
  [{ 'a\u0000': 'b' }, true, 'in a name of it'],
  [{ a: { b: ['c\u0000'] } }, true, 'however deep'],
  [{ a: 'b', c: ['d'] }, false, 'a map without'],
  [new Uint8Array([0, 1]), false, 'bytes are no text'],
  [undefined, false, 'nothing'],
  [0, false, 'a number'],
];
for (const [value, has, why] of CASES) {
  test(`${JSON.stringify(value)} ${has ? 'has' : 'has no'} control characters: ${why}`, () => {
    assert.equal(hasControl(value), has);
  });
}

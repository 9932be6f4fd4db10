import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isParentOf } from './token.ts';

const MADE = 1_800_000_000;

const CASES: [
  name: string,
  parent: { accessor: string; created_at: number },
  batch: { parent_accessor?: string; created_at: number },
  is: boolean,
][] = [
  ['the one it names', at('a', 0), { ...made(0), parent_accessor: 'a' }, true],
  ['the one it names, of a clock ahead', at('a', 9), { ...made(0), parent_accessor: 'a' }, true],
  ['another one of the same second', at('b', 0), { ...made(0), parent_accessor: 'a' }, false],
  ['an earlier one of another parent', at('b', -9), { ...made(0), parent_accessor: 'a' }, false],
  ['one without an accessor', at('', 0), { ...made(0), parent_accessor: 'a' }, false],
  ['an earlier one, where none is named', at('a', -9), made(0), true],
  ['one of the same second, where none is named', at('a', 0), made(0), true],
  ['one of a second later, where none is named', at('a', 1), made(0), false],
];

function at(accessor: string, seconds: number) {
  return { accessor, ...made(seconds) };
}

function made(seconds: number) {
  return { created_at: MADE + seconds };
}

for (const [name, parent, batch, is] of CASES) {
  test(`${name} is ${is ? '' : 'not '}what a batch token was made by`, () => {
    assert.equal(isParentOf(parent, batch), is);
  });
}

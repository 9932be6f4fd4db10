import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inStatements } from './copy.ts';

for (const [what, bytes, together] of [
  ['none', [], []],
  ['short ones', [1, 1, 1], [3]],
  ['as many bytes as may be', [4, 4, 2], [3]],
  ['a byte more', [4, 4, 3], [2, 1]],
  ['a long one, alone', [1, 11, 1], [1, 1, 1]],
  ['long ones', [11, 11], [1, 1]],
  ['rows without bytes behind a full one', [10, 0, 0, 1], [3, 1]],
] as const) {
  test(`rows that a backup reads together: ${what}`, () => {
    const rows = bytes.map((length, at) => ({ place: `(0,${at})`, bytes: length }));
    const read = inStatements(rows, 10);
    assert.deepEqual(
      read.flat(),
      rows.map(({ place }) => place),
    );
    assert.deepEqual(
      read.map((places) => places.length),
      together,
    );
  });
}

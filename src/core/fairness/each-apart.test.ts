import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachApart } from './each-apart.ts';

const cases: [what: string, failing: readonly string[], thrown: string | undefined][] = [
  ['none fails', [], undefined],
  ['the first fails', ['a'], 'a'],
  ['the last fails', ['c'], 'c'],
  ['several fail', ['b', 'c'], 'b'],
];

for (const [what, failing, thrown] of cases) {
  const told = thrown === undefined ? 'nothing is told' : `the failure of ${thrown} is told`;
  test(`where ${what} all are done, and ${told}`, async () => {
    const done: string[] = [];
    const all = eachApart(['a', 'b', 'c'], async (one) => {
      done.push(one);
      if (failing.includes(one)) throw new Error(one);
    });
    const error = await all.catch((reason: unknown) => reason);
    assert.deepEqual(done, ['a', 'b', 'c']);
    assert.equal(error instanceof Error ? error.message : error, thrown);
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOfScopes, MOST_ORGS, MOST_PROJECTS, MOST_SCOPES } from './room.ts';

const CASES: [parent_id: string, siblings: number, all: number, fault: RegExp | undefined][] = [
  ['o_1234567890', 0, 2, undefined],
  ['o_1234567890', MOST_PROJECTS - 1, MOST_PROJECTS, undefined],
  ['o_1234567890', MOST_PROJECTS, MOST_PROJECTS, /at most 10000 projects/],
  ['global', MOST_ORGS - 1, MOST_ORGS, undefined],
  ['global', MOST_ORGS, MOST_ORGS, /at most 10000 orgs/],
  ['o_1234567890', 0, MOST_SCOPES - 1, undefined],
  ['o_1234567890', 0, MOST_SCOPES, /at most 50000 scopes/],
  ['global', 0, MOST_SCOPES, /at most 50000 scopes/],
];

for (const [parent_id, siblings, all, fault] of CASES) {
  test(`beside ${siblings} in ${parent_id}, of ${all}, another scope is ${fault ? 'refused' : 'taken'}`, () => {
    const because = faultOfScopes(parent_id, { siblings, all });
    if (fault) assert.match(because ?? '', fault);
    else assert.equal(because, undefined);
  });
}

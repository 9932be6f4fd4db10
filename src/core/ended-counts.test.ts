import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addEnded, type EndedCounts, tellEnded } from './ended-counts.ts';

const CASES: [counted: EndedCounts[], all: EndedCounts, told: string | undefined][] = [
  [[], {}, undefined],
  [[{ sessions: 0 }, {}], {}, undefined],
  [[{ sessions: 1 }], { sessions: 1 }, '1 sessions'],
  [
    [{ log_ins: 2 }, { sessions: 3, log_ins: 0 }],
    { sessions: 3, log_ins: 2 },
    '3 sessions and 2 log-ins',
  ],
  [
    [{ sessions: 500, log_ins: 7 }, { sessions: 500 }, { resources: 1 }],
    { sessions: 1000, log_ins: 7, resources: 1 },
    '1000 sessions, 7 log-ins and 1 resources',
  ],
];

for (const [counted, all, told] of CASES) {
  test(`what ended is counted and told: ${told ?? 'nothing'} by ${counted.length}`, () => {
    const counts: EndedCounts = {};
    for (const more of counted) addEnded(counts, more);
    assert.deepEqual(counts, all);
    const text = tellEnded(counts);
    if (told === undefined) assert.equal(text, undefined);
    else assert.ok(text?.includes(` had ended ${told}; `), `told: ${text}`);
  });
}

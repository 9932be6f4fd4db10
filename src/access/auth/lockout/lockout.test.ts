import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countFailures } from './lockout.ts';

const rules = { lockout_threshold: 3, lockout_duration: 100, lockout_counter_reset: 50 };
const cases: [failures: number, ago: number, counted: number, why: string][] = [
  [2, 49, 2, 'failures count until the counter is reset'],
  [2, 50, 0, 'and not a second longer'],
  [3, 99, 3, 'a lock lasts'],
  [3, 100, 0, 'and ends'],
];
for (const [failures, ago, counted, why] of cases) {
  test(`${failures} failures ${ago} s ago: ${why}`, () => {
    assert.equal(countFailures({ failures, last_failed_at: 1000 - ago }, rules, 1000), counted);
  });
}

test('a name without failures has none', () => assert.equal(countFailures(undefined, rules, 0), 0));

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeMonths, listMonths, monthOf, startOf } from './months.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');

const cases: [start: string, end: string, months: string[] | string, why: string][] = [
  ['', '', ['2026-01', '2025-12'], 'this month and the last'],
  ['2025-11', '', ['2026-01', '2025-12', '2025-11'], 'from a month up to this one'],
  ['2025-11', '2025-12', ['2025-11'], 'the end is not part of it'],
  ['2025-11', '2030-01', ['2026-01', '2025-12', '2025-11'], 'nothing of the future'],
  ['2026-05', '', [], 'a start in the future'],
  ['', '2025-12', 'start_time', 'an end alone'],
  ['2025-12', '2025-12', 'end_time', 'an end that is the start'],
  ['2025-12', '2025-11', 'end_time', 'an end before the start'],
  ['2025-13', '', 'start_time', 'no month'],
  ['2025-1', '', 'start_time', 'one digit'],
  ['2025-11-01', '', 'start_time', 'a day'],
  ['2025-11', 'soon', 'end_time', 'no month at the end'],
  ['1900-01', '', 'start_time', 'further back than anybody asks'],
];
for (const [start_time, end_time, wanted, why] of cases) {
  test(`active users from "${start_time}" to "${end_time}": ${why}`, () => {
    const verdict = judgeMonths({ start_time, end_time }, NOW);
    assert.deepEqual('refused' in verdict ? verdict.field : listMonths(verdict), wanted);
  });
}

test('a month begins at midnight in UTC, and its last millisecond belongs to it', () => {
  assert.equal(startOf('2026-01'), Date.parse('2026-01-01T00:00:00Z'));
  assert.equal(monthOf(startOf('2026-01') - 1), '2025-12');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveLine } from './live-line.ts';

const NOTHING = { open: 0, total: 0, bytes_up: 0, bytes_down: 0, connections_left: -1 };
const SECOND = 1000;

const lines: [tally: Partial<typeof NOTHING>, left_ms: number, line: string][] = [
  [{}, 30 * SECOND, '0 connections (0 in all) · 0 B up · 0 B down · 30 s left'],
  [
    { open: 1, total: 3, bytes_up: 999, bytes_down: 1000 },
    3599 * SECOND,
    '1 connection (3 in all) · 999 B up · 1.0 kB down · 59 min 59 s left',
  ],
  [
    { open: 2, total: 2, bytes_up: 999_949, bytes_down: 999_950, connections_left: 4 },
    8 * 3600 * SECOND,
    '2 connections (2 in all, 4 left) · 999.9 kB up · 1.0 MB down · 8 h 0 min left',
  ],
  [
    { bytes_up: 5e9, bytes_down: 3.2e12, connections_left: 0 },
    49 * 3600 * SECOND,
    '0 connections (0 in all, 0 left) · 5.0 GB up · 3.2 TB down · 2 d 1 h left',
  ],
  [{}, -5, '0 connections (0 in all) · 0 B up · 0 B down · 0 s left'],
];
for (const [tally, left_ms, line] of lines) {
  test(`what a proxy does is one line: ${line}`, () => {
    assert.equal(liveLine({ ...NOTHING, ...tally }, left_ms), line);
  });
}

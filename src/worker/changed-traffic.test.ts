import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChangedTraffic } from './changed-traffic.ts';

const one = (bytes_up: number, bytes_down = 0) => ({ connection_id: 'sc_1', bytes_up, bytes_down });
const other = { connection_id: 'sc_2', bytes_up: 0, bytes_down: 0 };

test('what has not carried anything since it was noted is not told', () => {
  const changed = new ChangedTraffic();
  assert.deepEqual(changed.of([one(0), other]), [one(0), other]);
  changed.note([one(0), other]);
  assert.deepEqual(changed.of([one(0), other]), []);
  assert.deepEqual(changed.of([one(1), other]), [one(1)]);
  assert.deepEqual(changed.of([one(0, 1), other]), [one(0, 1)]);
});

test('what could not be noted is told again, though it has carried nothing since', () => {
  const changed = new ChangedTraffic();
  changed.note([one(0)]);
  assert.deepEqual(changed.of([one(1)]), [one(1)]);
  assert.deepEqual(changed.of([one(1)]), [one(1)]);
  changed.note([one(1)]);
  assert.deepEqual(changed.of([one(1)]), []);
});

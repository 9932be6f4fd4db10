import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionsLeft, describeStates, mayFollow, SESSION_STATUSES } from './session.ts';

test('a session only goes forwards', () => {
  const passes = SESSION_STATUSES.flatMap((from) =>
    SESSION_STATUSES.filter((to) => mayFollow(from, to)).map((to) => `${from} ${to}`),
  );
  assert.deepEqual(passes, [
    'pending active',
    'pending canceling',
    'pending terminated',
    'active canceling',
    'active terminated',
    'canceling terminated',
  ]);
});

test('states are told newest first, each ending when the next began', () => {
  const states = describeStates({
    created_ms: 1000,
    active_ms: null,
    canceling_ms: 2000,
    terminated_ms: 3000,
  });
  const at = (second: number): string => `1970-01-01T00:00:0${second}.000Z`;
  assert.deepEqual(states, [
    { status: 'terminated', start_time: at(3) },
    { status: 'canceling', start_time: at(2), end_time: at(3) },
    { status: 'pending', start_time: at(1), end_time: at(2) },
  ]);
});

for (const [connection_limit, connections, left] of [
  [-1, 0, -1],
  [-1, 1000, -1],
  [2, 0, 2],
  [2, 1, 1],
  [2, 2, 0],
] as const) {
  test(`${connections} connections of ${connection_limit}: ${left} left`, () => {
    assert.equal(connectionsLeft({ connection_limit, connections }), left);
  });
}

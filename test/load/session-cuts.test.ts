import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planCuts } from '../../src/broker/sessions/connections/carried-session.operations.ts';
import { cpuUntil } from '../support/cpu-time.ts';
import { holdBounds } from '../support/machine.ts';

test('who has to cut what of thousands of sessions is found at once', async () => {
  const over = Array.from({ length: 5_000 }, (_, at) => ({ id: `s_${at}`, expires_ms: at % 2 }));
  const open = Array.from({ length: 20_000 }, (_, at) => ({
    id: `sc_${at}`,
    session_id: `s_${at % 5_000}`,
    worker_id: 'w_1',
    egress_worker_id: at % 3 === 0 ? 'w_2' : '',
  }));
  const what = 'cuts of 5,000 sessions with 20,000 connections';
  await holdBounds({ [what]: 100 }, async () => ({
    [what]: await cpuUntil(async () => {
      const cuts = planCuts(over, open, 0);
      assert.equal(cuts.length, 5_000);
      assert.deepEqual(cuts.slice(0, 2), [
        { session_id: 's_0', reason: 'timed out', worker_ids: ['w_1', 'w_2'] },
        { session_id: 's_1', reason: 'canceled', worker_ids: ['w_1', 'w_2'] },
      ]);
    }),
  }));
});

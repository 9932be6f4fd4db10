import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openTestApp } from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { copyRow } from '../../../../test/support/many-rows.ts';
import { holdsNobodyUp } from '../../../../test/support/turns.ts';
import { FewInTurn } from '../../../core/fairness/few-in-turn.ts';
import { build } from '../../../store/database.ts';
import { write } from '../../../store/write.ts';
import { showConnections } from './shown.operations.ts';

const ROW = {
  session_id: 's_1',
  worker_id: 'w_1',
  status: 'closed',
  created_ms: 0,
  connected_ms: 0,
  closed_ms: 0,
  updated_ms: 0,
  client_tcp_address: '127.0.0.1',
  client_tcp_port: 50_123,
  endpoint_tcp_address: '10.0.0.5',
  endpoint_tcp_port: 22,
  egress_worker_id: '',
  bytes_up: 0,
  bytes_down: 1,
  closed_reason: 'closed by end-user',
};

const CASES: [had: number, shown: number, waits: number][] = [
  [1, 1, 0],
  [999, 999, 0],
  [1_000, 1_000, 0],
  [1_001, 1_001, 1],
  [2_000, 2_000, 1],
  [10_000, 10_000, 1],
  [10_001, 10_000, 1],
  [25_000, 10_000, 1],
];

eachEngine('connections that are shown', (open) => {
  for (const [had, shown, waits] of CASES) {
    test(`of ${had} the newest ${shown}, with ${waits} of few places`, async (t) => {
      const { app } = await openTestApp(await open());
      const first = { ...ROW, id: 'sc_other', session_id: 's_2' };
      await app.store.commit([write(build.insertInto('session_connection').values(first))]);
      // Three of an instant each; what each received is its number.
      await copyRow(app.store, 'session_connection', {
        of: { id: first.id },
        copies: had,
        changes: {
          id: sql`'sc_' || (1000000 + n.i)`,
          session_id: sql`'s_1'`,
          created_ms: sql`n.i / 3`,
          bytes_down: sql`n.i`,
        },
      });
      const places = t.mock.method(FewInTurn.prototype, 'run');
      let found: Record<string, unknown>[] = [];
      await holdsNobodyUp(async () => {
        places.mock.resetCalls();
        found = await showConnections(app, 's_1', had);
      });
      assert.equal(places.mock.callCount(), waits);
      assert.deepEqual(
        found.map(({ bytes_down }) => Number(bytes_down)),
        Array.from({ length: shown }, (_, at) => had - at),
      );
      assert.deepEqual(found[0], {
        client_tcp_address: '127.0.0.1',
        client_tcp_port: 50_123,
        endpoint_tcp_address: '10.0.0.5',
        endpoint_tcp_port: 22,
        bytes_down: String(had),
        closed_reason: 'closed by end-user',
      });
    });
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../../test/support/engines.ts';
import { deleteNoncesBefore, insertNonce } from './store.ts';

eachEngine('nonces of recovery tokens', (open) => {
  test('are forgotten a hundred at a time, the oldest first, and none that may be shown again', async () => {
    const store = await open();
    const nonces = Array.from({ length: 230 }, (_, at) => insertNonce(`nonce-${at}`, at));
    await store.commit(nonces);
    const left: number[][] = [];
    for (let time = 0; time < 3; time += 1) {
      await store.commit([deleteNoncesBefore(220)]);
      const rows = await store.db.selectFrom('recovery_nonce').select('used_ms').execute();
      left.push([rows.length, Math.min(...rows.map((row) => row.used_ms))]);
    }
    assert.deepEqual(left, [
      [130, 100],
      [30, 200],
      [10, 220],
    ]);
  });
});

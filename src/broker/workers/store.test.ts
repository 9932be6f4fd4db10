import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { eachEngine, type Open } from '../../../test/support/engines.ts';
import { isConflict } from '../../core/failure.ts';
import { countActiveUsers, insertActiveUser } from '../billing/store.ts';
import { deleteNoncesBefore, insertNonce } from '../iam/recovery/store.ts';
import { findMadeSeed, insertMadeSeed } from '../seed/store.ts';
import { deleteActivations, insertActivation } from './enrolment.store.ts';
import { makeRoot, ROOT_RANDOMNESS } from './root/root.ts';
import { deleteRoots, insertRoot, listRoots } from './root/store.ts';
import { deleteStatus, listStatuses, saveStatus } from './store.ts';

eachEngine('what the broker notes beside its resources', (open: Open) => {
  test('the last report of a worker replaces the one before', async () => {
    const store = await open();
    const report = (last_status_ms: number, operational_state = 'active') =>
      saveStatus({
        worker_id: 'w_1',
        last_status_ms,
        operational_state,
        active_connection_count: 0,
      });
    await store.commit([report(1_795_279_296_840)]);
    await store.commit([report(1_795_279_301_840, 'shutdown')]);
    assert.deepEqual(await listStatuses(store.db), [
      {
        worker_id: 'w_1',
        last_status_ms: 1_795_279_301_840,
        operational_state: 'shutdown',
        active_connection_count: 0,
      },
    ]);
    await store.commit([deleteStatus('w_1')]);
    assert.deepEqual(await listStatuses(store.db), []);
  });

  test('of two who replace the roots at once one wins', async () => {
    const store = await open();
    const rows = (['current', 'next'] as const).map((use) => {
      const { seed, ...root } = makeRoot(randomBytes(ROOT_RANDOMNESS), 1_795_279_296_840);
      return { use, ...root, key_sealed: seed };
    });
    await store.commit(rows.map(insertRoot));
    assert.deepEqual(
      (await listRoots(store.db)).map(({ use }) => use),
      ['current', 'next'],
    );
    const replace = () =>
      store.commit([
        ...deleteRoots(rows),
        ...rows.map((row) => insertRoot({ ...row, public_key_sha256: row.use })),
      ]);
    const outcomes = await Promise.allSettled([replace(), replace()]);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    assert.equal((await listRoots(store.db)).length, 2);
  });

  test('a nonce is taken once, until it is forgotten', async () => {
    const store = await open();
    await store.commit([insertNonce('n', 5)]);
    await assert.rejects(store.commit([insertNonce('n', 6)]), isConflict);
    await store.commit([deleteNoncesBefore(5)]);
    await assert.rejects(store.commit([insertNonce('n', 6)]), isConflict);
    await store.commit([deleteNoncesBefore(6)]);
    await store.commit([insertNonce('n', 7)]);
  });

  test('a user counts once a month', async () => {
    const store = await open();
    const at = (time: string) => Date.parse(time);
    await store.commit([
      insertActiveUser('u_1', at('2026-11-01T00:00:00Z')),
      insertActiveUser('u_1', at('2026-11-30T23:59:59Z')),
      insertActiveUser('u_2', at('2026-11-15T00:00:00Z')),
      insertActiveUser('u_1', at('2026-10-31T23:59:59Z')),
    ]);
    const counts = await countActiveUsers(store.db, { from: '2026-10', before: '2026-12' });
    assert.deepEqual([...counts].sort(), [
      ['2026-10', 1],
      ['2026-11', 2],
    ]);
    const october = await countActiveUsers(store.db, { from: '2026-10', before: '2026-11' });
    assert.deepEqual([...october], [['2026-10', 1]]);
  });

  test('seed data is made once', async () => {
    const store = await open();
    const made = {
      id_suffix: '1234567890',
      login_name: 'admin',
      unprivileged_login_name: '',
      settings_hmac: 'ab',
    };
    assert.equal(await findMadeSeed(store.db), undefined);
    await store.commit([insertMadeSeed(made, 1)]);
    await assert.rejects(store.commit([insertMadeSeed(made, 2)]), isConflict);
    assert.deepEqual(await findMadeSeed(store.db), made);
  });

  test('activation tokens go with their worker', async () => {
    const store = await open();
    await store.commit([
      insertActivation({ secret_sealed: null, token_hmac: 'a', worker_id: 'w_1', expires_ms: 1 }),
      insertActivation({ secret_sealed: null, token_hmac: 'b', worker_id: 'w_2', expires_ms: 1 }),
    ]);
    await store.commit([deleteActivations('w_1')]);
    const rows = await store.db.selectFrom('worker_activation').select('worker_id').execute();
    assert.deepEqual(rows, [{ worker_id: 'w_2' }]);
  });
});

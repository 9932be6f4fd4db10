// However many sessions a log-in has that its job ends, no write set is larger for it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { endDeadLogIns } from '../../src/broker/iam/auth-tokens/operations.ts';
import { PAGE } from '../../src/broker/resource/ending.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { countAll, rowsOf, SetSizes } from '../support/set-sizes.ts';

const COUNT = 3 * PAGE + 7;

eachPlace('a log-in that nobody can use any more', (newPlace) => {
  test('ends with its many sessions in small write sets', async (t) => {
    const sizes = new SetSizes();
    const broker = await startBroker(t, { place: await newPlace(), store: sizes.watch });
    const { app } = broker.client.running;
    const { store, db } = app;
    const user = await broker.person(['ids=*;type=target;actions=authorize-session']);
    const fields = { type: 'tcp', address: '10.0.0.5', attributes: { default_port: 22 } };
    const target = await broker.make('targets', { scope_id: broker.project, name: 't', ...fields });
    const made = await user.call('POST', `targets/${target}:authorize-session`, {});
    const of = { id: made.textAt('session_id') };
    const changes = { id: numbered('id') };
    const keyed = { ...changes, unique_key: numbered('unique_key') };
    await copyRow(store, 'resource', { of, copies: COUNT, changes: keyed });
    await copyRow(store, 'session', { of, copies: COUNT, changes });
    await store.commit([
      write(build.deleteFrom('resource').where('id', '=', user.account_id), { rows: 1 }),
    ]);
    const counts = { live: rowsOf('session', sql`status in ('pending', 'active')`) };
    sizes.begin(counts);
    const { commit } = store;
    await endDeadLogIns(app, {
      commit,
      fence: () => ({ sql: 'select 1', parameters: [] }),
      stopping: false,
    });
    assert.deepEqual(await countAll(db, counts), { live: 0 });
    const { most, sets } = sizes.of('live');
    assert.ok(most <= PAGE && sets > 3, `${most} in one of ${sets}`);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openTestApp } from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { copyRow } from '../../../../test/support/many-rows.ts';
import { makeResource } from '../../../../test/support/resources.ts';
import { holdsNobodyUp } from '../../../../test/support/turns.ts';
import type { App } from '../../../app/app.ts';
import { insertResource } from '../store.ts';
import { estimate } from './counts.operations.ts';
import { PAGE } from './counts.store.ts';

const both = new Set(['p_1', 'p_2']);

async function make(app: App, id: string, scope_id: string, copies: number): Promise<void> {
  await app.store.commit([insertResource(makeResource(id, { scope_id }))]);
  const changes = { id: sql`${sql.ref('id')} || n.i`, created_ms: sql`1000 + n.i / 3` };
  if (copies > 0) await copyRow(app.store, 'resource', { of: { id }, copies, changes });
}

eachEngine('an estimate', (open) => {
  test('is exact of one container and of all, where that is not many', async () => {
    const { app } = await openTestApp(await open());
    await make(app, 'ttcp_1', 'p_1', 29);
    await make(app, 'ttcp_2', 'p_2', 10);
    await make(app, 'hcst_1', 'p_1', 0);
    assert.equal(await estimate(app, 'target', new Set(['p_1'])), 30);
    assert.equal(await estimate(app, 'target', both), 41);
    assert.equal(await estimate(app, 'host', both), 0);
  });

  test('counts many page by page, once a minute for everybody, and holds nobody up', async () => {
    const { app, clock } = await openTestApp(await open());
    const count = 3 * PAGE;
    await make(app, 'ttcp_1', 'p_1', count - 1);
    await holdsNobodyUp(
      async () => {
        const asked = await Promise.all([1, 2, 3].map(() => estimate(app, 'target', both)));
        assert.deepEqual(asked, [count, count, count]);
      },
      // It is remembered; some 5 ms.
      { attempts: 1 },
    );
    await make(app, 'ttcp_2', 'p_2', 0);
    assert.equal(await estimate(app, 'target', both), count, 'within a minute');
    clock.now += 60;
    assert.equal(await estimate(app, 'target', both), count + 1);
    assert.equal(await estimate(app, 'target', new Set(['p_2'])), 1);
  });
});

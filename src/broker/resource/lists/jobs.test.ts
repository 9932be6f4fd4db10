import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { listRemovedIds } from '../../../../test/support/removals.ts';
import { makeResource } from '../../../../test/support/resources.ts';
import { runIfFree } from '../../../start/jobs.ts';
import { removeResources } from '../removals.store.ts';
import { insertResource } from '../store.ts';
import { listJobs } from './jobs.ts';
import { readRemovedSequence } from './removals.store.ts';

const DAY = 24 * 3600 * 1000;

eachEngine('removals', (open) => {
  test('are forgotten when no list token can ask about them, and not before', async () => {
    const { app } = await openTestApp(await open());
    const now = app.now();
    const ids = ['ttcp_old', 'ttcp_kept'];
    await app.store.commit(ids.map((id) => insertResource(makeResource(id, { scope_id: 'p_1' }))));
    await app.store.commit(removeResources({ ids: ['ttcp_old'] }, now - 60 * DAY - 1));
    await app.store.commit(removeResources({ ids: ['ttcp_kept'] }, now - 60 * DAY));
    const [job] = listJobs;
    assert.ok(job);
    await runIfFree(app, job);
    const range = { after: 0, upTo: await readRemovedSequence(app.db) };
    assert.deepEqual(await listRemovedIds(app.db, 'target', range, ['p_1']), ['ttcp_kept']);
  });
});

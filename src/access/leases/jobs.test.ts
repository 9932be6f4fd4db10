import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { ISSUED_AT, leaseOf } from '../../../test/support/leases.ts';
import type { App, LeaseKind } from '../../app/app.ts';
import { runIfFree } from '../../start/jobs.ts';
import { leaseJobs } from './jobs.ts';
import { insertLease } from './store.ts';

eachEngine('jobs of leases', (open) => {
  test('what asks nobody, and what others are asked for, is ended by a job of its own: neither waits for the other', async () => {
    const { app, clock } = await openTestApp(await open());
    clock.now = ISSUED_AT + 60;
    const tried: string[] = [];
    const kindOf = (name: string): LeaseKind => ({
      planEnd() {
        tried.push(name);
        return Promise.reject(new Error('due for the next job, too'));
      },
    });
    const whose = { whom: 'server', party: 'project', site: 'org' };
    const elsewhere = { ...kindOf('elsewhere'), tellWhose: () => async () => whose };
    const trying: App = { ...app, leaseKinds: { own: kindOf('own'), elsewhere } };
    await app.store.commit([
      insertLease(leaseOf('a/1', { kind: 'own' })),
      insertLease(leaseOf('b/1', { kind: 'elsewhere' })),
    ]);
    const byJob: Record<string, string[]> = {};
    for (const job of leaseJobs) {
      await runIfFree(trying, job);
      byJob[job.name] = tried.splice(0);
    }
    assert.deepEqual(byJob, { 'access/leases': ['own'], 'access/leases-elsewhere': ['elsewhere'] });
  });
});

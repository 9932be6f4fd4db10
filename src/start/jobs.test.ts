import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../test/support/app.ts';
import { eachEngine } from '../../test/support/engines.ts';
import type { App } from '../app/app.ts';
import { type Job, LEASE_MS } from '../app/job.ts';
import { acquireLease, findHolder } from '../store/job-lock.ts';
import { runIfFree } from './jobs.ts';

/** Keeps the lease as another node does. */
function holdElsewhere(app: App, name: string, ttl_ms: number) {
  return acquireLease(app.store, { name, holder: 'other', now_ms: app.now(), ttl_ms });
}

function jobOf(run: Job['run'], every_ms = 60_000): Job {
  return { name: 'test/work', every_ms, run };
}

eachEngine('a job', (open) => {
  test('is done, and its lease kept until the next run is due', async () => {
    const { app, clock } = await openTestApp(await open());
    let runs = 0;
    const job = jobOf(async (_app, turn) => {
      runs += 1;
      await turn.commit([]);
    });
    assert.equal(await runIfFree(app, job), 60_000);
    assert.equal(runs, 1);
    const held = await findHolder(app.db, job.name);
    assert.equal(held?.expires_at_ms, app.now() + 60_000);
    assert.equal(await holdElsewhere(app, job.name, 1), undefined);
    clock.now += 60;
    assert.ok(await holdElsewhere(app, job.name, 1));
  });

  test('is not done while another node has it, and asked for again when that is over', async () => {
    const { app, clock } = await openTestApp(await open());
    const job = jobOf(async () => assert.fail('this node does not have the job'));
    await holdElsewhere(app, job.name, 7_000);
    assert.equal(await runIfFree(app, job), 7_000);
    clock.now += 7;
    let runs = 0;
    await runIfFree(app, {
      ...job,
      run: async () => {
        runs += 1;
      },
    });
    assert.equal(runs, 1);
  });

  test('of a node that was killed and whose clock was a day ahead is done after a run is due, and not before', async (t) => {
    const { app } = await openTestApp(await open());
    let steady = 0;
    t.mock.method(performance, 'now', () => steady);
    const ahead = { name: 'test/work', holder: 'other', now_ms: app.now() + 86_400_000 };
    assert.ok(await acquireLease(app.store, { ...ahead, ttl_ms: LEASE_MS }));
    let runs = 0;
    const job = jobOf(async () => {
      runs += 1;
    });
    assert.equal(await runIfFree(app, job), 60_000);
    steady += 59_999;
    await runIfFree(app, job);
    assert.equal(runs, 0);
    steady += 1;
    await runIfFree(app, job);
    assert.equal(runs, 1);
  });

  test('that another node has taken over can commit nothing more', async () => {
    const { app, clock } = await openTestApp(await open());
    const job = jobOf(async (_app, turn) => {
      await turn.commit([]);
      clock.now += LEASE_MS / 1000;
      assert.ok(await holdElsewhere(app, job.name, LEASE_MS));
      await assert.rejects(turn.commit([]), { kind: 'conflict' });
    });
    await runIfFree(app, job);
    assert.equal((await findHolder(app.db, job.name))?.holder, 'other');
  });

  test('of each cluster is done by one node of each', async () => {
    const { app } = await openTestApp(await open());
    const at = (cluster_name: string): App => ({ ...app, config: { ...app.config, cluster_name } });
    const done: string[] = [];
    const job: Job = {
      ...jobOf(async ({ config }) => void done.push(config.cluster_name)),
      of_cluster: true,
    };
    await holdElsewhere(app, `${job.name}/west`, 7_000);
    for (const name of ['east', 'west', '']) await runIfFree(at(name), job);
    assert.deepEqual(done, ['east', '']);
    assert.equal(await runIfFree(at('west'), job), 7_000);
    for (const name of [job.name, `${job.name}/east`]) {
      assert.equal(await holdElsewhere(app, name, 1), undefined);
    }
  });

  test('that fails is tried again soon, and other jobs go on', async () => {
    const { app } = await openTestApp(await open());
    const job = jobOf(async () => {
      throw new Error('broken on purpose');
    }, 3_600_000);
    assert.equal(await runIfFree(app, job), 30_000);
  });

  test('is left alone once the server stops', async () => {
    const { app } = await openTestApp(await open());
    let stopping = false;
    let pages = 0;
    const job = jobOf(async (_app, turn) => {
      for (; !turn.stopping && pages < 5; pages++) stopping = pages === 1;
    });
    await runIfFree(app, job, () => stopping);
    assert.equal(pages, 2);
  });
});

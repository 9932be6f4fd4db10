import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../test/support/app.ts';
import { eachEngine } from '../../test/support/engines.ts';
import type { App } from '../app/app.ts';
import { verifyChain } from '../core/record-chain.ts';
import { runIfFree } from '../start/jobs.ts';
import { auditJobs } from './jobs.ts';
import { findCut } from './retention.operations.ts';
import { cutChain, listRecordsAfter, readChainStart, saveCursor } from './store.ts';

const NODE = 'test';
const DAY = 86_400;

async function openWith(open: Parameters<Parameters<typeof eachEngine>[1]>[0], days: number) {
  const { app, clock } = await openTestApp(await open({ node_name: NODE }));
  const kept: App = {
    ...app,
    config: { ...app.config, audit: { ...app.config.audit, retention_days: days } },
  };
  for (let n = 0; n < 5; n++) await app.store.commit([{ audit: `{"n":${n}}` }]);
  // The committer takes the time of the machine's clock.
  clock.now = Math.floor(Date.now() / 1000) + 1;
  const run = async () => {
    for (const job of auditJobs) await runIfFree(kept, job);
    return listRecordsAfter(app.db, { node: NODE, seq: 0, limit: 100 });
  };
  return { app, clock, run };
}

eachEngine('retention', (open) => {
  test('what is older than the setting is deleted, and the rest is still a chain', async () => {
    const { app, clock, run } = await openWith(open, 2);
    const before = await run();
    assert.equal(before[0]?.seq, 1);
    const last = before.at(-1)?.seq ?? 0;
    clock.now += 2 * DAY;
    const rest = await run();
    assert.equal(rest[0]?.seq, last, 'the last earlier record stays');
    assert.ok(verifyChain(await readChainStart(app.db, NODE), rest).intact);
    assert.match(rest.at(-1)?.record ?? '', /job\/audit\/retention/, 'the cut is recorded');
  });

  test('what a sink has not taken stays, whatever its age', async () => {
    const { app, clock, run } = await openWith(open, 1);
    await app.store.commit([
      saveCursor({ name: 'slow', node: NODE, seq: 2 }),
      saveCursor({ name: 'quick', node: NODE, seq: 4 }),
      saveCursor({ name: 'slow', node: 'other', seq: 0 }),
    ]);
    clock.now += 10 * DAY;
    const rest = await run();
    assert.equal(rest[0]?.seq, 3);
    assert.ok(verifyChain(await readChainStart(app.db, NODE), rest).intact);
  });

  test('of long records few are deleted in one write set, of short ones many', async () => {
    const { app } = await openTestApp(await open({ node_name: NODE }));
    const large = (mebibytes: number) => `{"n":"${'x'.repeat(mebibytes * 1024 * 1024)}"}`;
    for (const mebibytes of [1, 2, 2, 5, 5, 0, 0, 0]) {
      await app.store.commit([{ audit: large(mebibytes) }]);
    }
    const cuts: number[] = [];
    for (;;) {
      const head = await findCut(app, NODE, { upTo: 7, before_ms: Number.MAX_SAFE_INTEGER });
      if (!head) break;
      cuts.push(head.seq);
      await app.store.commit(cutChain(NODE, head));
    }
    assert.deepEqual(cuts, [2, 3, 4, 5, 7]);
    const rest = await listRecordsAfter(app.db, { node: NODE, seq: 0, limit: 100 });
    assert.ok(verifyChain(await readChainStart(app.db, NODE), rest).intact);
  });

  test('without the setting everything stays', async () => {
    const { clock, run } = await openWith(open, 0);
    clock.now += 10_000 * DAY;
    assert.equal((await run())[0]?.seq, 1);
  });
});

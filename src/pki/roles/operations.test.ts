import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { heapUsed } from '../../../test/support/heap.ts';
import { findCachedRole } from './operations.ts';

eachEngine('roles that are kept', (open) => {
  test('names without a role, however many are asked for, take no more memory than there is for roles', async () => {
    const { app } = await openTestApp(await open());
    const before = heapUsed();
    for (let at = 0; at < 2000; at++) {
      assert.equal(await findCachedRole(app, 'mount', `${at}`.padEnd(100_000, 'n')), undefined);
    }
    // Together they are 191 MiB.
    const grown = heapUsed() - before;
    assert.ok(grown < 80 << 20, `${grown >> 20} MiB more`);
  });
});

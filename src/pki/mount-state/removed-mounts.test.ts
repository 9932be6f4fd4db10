import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openTestApp, testMount } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { deleteMount, insertMount } from '../../mounts/store.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { countMountsRead, readMountState } from './operations.ts';

const MANY = 50;
const CHANGES = 6;

eachEngine('the states of many mounts', (open) => {
  test('are looked through once for a change of mounts, and not for others', async () => {
    const store = await open();
    const { app } = await openTestApp(store);
    const mounts = Array.from({ length: MANY }, (_, at) => ({
      ...testMount({ kind: 'secret', path: `p${at}/`, type: 'pki' }),
      accessor: `p${at}`,
    }));
    await store.commit([...mounts.map(insertMount), bumpConfigVersion()]);
    for (const { id } of mounts) await readMountState(app, id);
    const { cached } = app;
    let asked = 0;
    const counted: typeof app.cached = (key, load, subjects) => {
      if (key === 'mounts by id') asked += 1;
      return cached(key, load, subjects);
    };
    app.cached = counted;
    const kept = countMountsRead(app);
    assert.equal(kept, MANY);
    for (let n = 0; n < CHANGES; n += 1) await store.commit([bumpConfigVersion()]);
    const [gone] = mounts;
    assert.ok(gone);
    await store.commit([deleteMount(gone), bumpConfigVersion()]);
    while (countMountsRead(app) === kept) await nextTurn();
    assert.equal(countMountsRead(app), kept - 1);
    assert.ok(asked <= 2 * CHANGES, `${asked} times`);
  });
});

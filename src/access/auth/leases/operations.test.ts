import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { endDue } from '../../../../test/support/job-work.ts';
import { ISSUED_AT, leaseOf } from '../../../../test/support/leases.ts';
import type { App, LeaseKind } from '../../../app/app.ts';
import { refuseForRoom } from '../../../store/waiting-sets.ts';
import { insertLease } from '../../leases/store.ts';
import { prepareRootToken } from '../../tokens/minting.operations.ts';
import { planLease, tidyLeases } from './operations.ts';

/** So much that no engine makes it shorter. */
const randomPath = ({ randomBytes }: App, length: number): string =>
  Buffer.from(randomBytes(length)).toString('base64url').slice(0, length);

eachEngine('leases', (open) => {
  const paths: [what: string, pathOf: (app: App) => string, isFit: boolean][] = [
    ['the longest path', (app) => randomPath(app, 2_023), true],
    ['the longest path of others than ASCII', (app) => `${randomPath(app, 2_021)}é`, true],
    ['a byte more', (app) => randomPath(app, 2_024), false],
    ['a byte more, in fewer characters', (app) => `${randomPath(app, 2_022)}é`, false],
  ];
  for (const [what, pathOf, isFit] of paths) {
    const does = isFit ? 'is given, and ends' : 'is refused';
    test(`one at ${what} ${does}`, async () => {
      const { app, clock } = await openTestApp(await open());
      const { token, effects } = prepareRootToken(app);
      await app.store.commit(effects);
      const mount = await requireTestMount(app, 'sys/');
      const { restricted = false, alias, bounds } = token;
      const facts = { ...token, restricted, alias, bounds, identity_policies: [], orphan: true };
      const caller = testCaller(mount, { token: facts });
      const record = { ...caller.record, path: pathOf(app) };
      const plan = () =>
        planLease(
          app,
          { ...caller, record },
          { kind: 'test', data: {}, expires_at: clock.now + 9, renewable: false },
        );
      if (!isFit) {
        assert.throws(plan, { kind: 'invalid' });
        return;
      }
      await app.store.commit(plan().effects);
      clock.now += 10;
      await endDue({ ...app, leaseKinds: { test: { planEnd: async () => ({ effects: [] }) } } });
      assert.equal((await app.db.selectFrom('lease').select('id').execute()).length, 0);
    });
  }

  for (const [where, whose] of [
    ['here', undefined],
    ['elsewhere', { whom: 'server', party: 'project', site: 'org' }],
  ] as const) {
    test(`what could not be ended ${where} for long is tried at once by whoever tidies, not by the job`, async () => {
      const { app, clock } = await openTestApp(await open());
      let isMended = false;
      const failing: LeaseKind = {
        tellWhose: () => async () => whose,
        async planEnd() {
          if (!isMended) throw new Error('out of order');
          return { effects: [] };
        },
      };
      const mending: App = { ...app, leaseKinds: { failing } };
      await app.store.commit([insertLease(leaseOf('a/1', { kind: 'failing' }))]);
      const count = async () => (await app.db.selectFrom('lease').select('id').execute()).length;
      for (const later of [60, 60, 1]) {
        clock.now += later;
        await endDue(mending);
        isMended = clock.now >= ISSUED_AT + 120;
      }
      assert.equal(await count(), 1, 'the job waits');
      await tidyLeases(mending, testCaller(await requireTestMount(app, 'sys/')));
      assert.equal(await count(), 0);
    });
  }

  test('what is due is ended once for all who tidy at the same time', async () => {
    const { app, clock } = await openTestApp(await open());
    const ids = Array.from({ length: 60 }, (_, at) => `a/${at}`);
    await app.store.commit(ids.map((id) => insertLease(leaseOf(id))));
    clock.now += 60;
    const planned: string[] = [];
    const planEnd: LeaseKind['planEnd'] = async (_app, { id }) => {
      planned.push(id);
      return { effects: [] };
    };
    const noting: App = { ...app, leaseKinds: { test: { planEnd } } };
    const mount = await requireTestMount(app, 'sys/');
    await Promise.all(ids.map(() => tidyLeases(noting, testCaller(mount))));
    assert.deepEqual(planned.toSorted(), ids.toSorted());
  });

  test('where there is no room for writes the run is over, and no lease has failed', async () => {
    const { app, clock } = await openTestApp(await open());
    const ids = Array.from({ length: 60 }, (_, at) => `a/${at}`);
    await app.store.commit(ids.map((id) => insertLease(leaseOf(id))));
    clock.now += 60;
    let asked = 0;
    const full: App = {
      ...app,
      leaseKinds: { test: { planEnd: async () => ({ effects: [] }) } },
      async commit(caller, effects) {
        if (effects.length === 0) return app.commit(caller, effects);
        asked += 1;
        throw refuseForRoom();
      },
    };
    const caller = testCaller(await requireTestMount(app, 'sys/'));
    await assert.rejects(tidyLeases(full, caller), /too many writes/);
    assert.ok(asked < ids.length, `${asked} asked for`);
    await endDue({ ...app, leaseKinds: full.leaseKinds });
    assert.equal((await app.db.selectFrom('lease').select('id').execute()).length, 0);
  });
});

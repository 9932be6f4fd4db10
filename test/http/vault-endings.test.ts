// What ends here ends at its Vault server, too, whatever other stores and servers have and when a store is changed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { revokeSessionCredentials } from '../../src/broker/session-credentials/ending/operations.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace } from '../support/engines.ts';
import { endDue } from '../support/job-work.ts';
import { type FakeVault, GOOD_TOKEN } from '../support/vault.ts';
import { countReplaced, startVaultStores } from '../support/vault-stores.ts';

/** Where another store has a token of the same text: as long as it has, is it kept? */
const places: [where: string, isElsewhere: boolean, namespace: string, isKept: boolean][] = [
  ['at the same server', false, '', true],
  ['in another namespace of the same server', false, 'team', true],
  ['at another server', true, '', false],
];

const REVOKE_LEASE = 'PUT sys/leases/revoke';

/** Waits at a path of a server, until it is let go on. */
function holdAt(vault: FakeVault, path: string): { reached: Promise<void>; letGo: () => void } {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  vault.pause = async (seen) => {
    if (seen.path !== path) return;
    reached.resolve();
    await released.promise;
  };
  return { reached: reached.promise, letGo: released.resolve };
}

eachPlace('what ends here ends at its Vault server', (newPlace) => {
  for (const [where, isElsewhere, namespace, isKept] of places) {
    for (const end of ['replaced', 'removed'] as const) {
      const kept = isKept ? 'as soon as that has it no longer' : 'all the same';
      test(`a token that is ${end}, with another store ${where} that has the same text, ${kept}`, async (t) => {
        const stores = await startVaultStores(t, await newPlace());
        const { app, vault, keepAfter, make, replace, remove } = stores;
        const at = isElsewhere ? await stores.another() : vault;
        const store = await make('same');
        const other = await make('same', { at, namespace });
        if (end === 'replaced') await replace(store, 'next');
        else await remove(store);
        await keepAfter(1);
        await keepAfter(121);
        assert.equal(vault.tokens.has('same'), isKept);
        assert.equal(await countReplaced(app), 0);
        assert.ok(at.tokens.has('same'), 'the other store works with it');
        await remove(other);
        await keepAfter(1);
        await keepAfter(121);
        assert.equal(vault.tokens.has('same'), false);
        assert.equal(at.tokens.has('same'), false);
      });
    }
  }

  test('a token that another store at the same server has, and has let expire', async (t) => {
    const stores = await startVaultStores(t, await newPlace());
    const { app, vault, keepAfter, make, replace, statusOf } = stores;
    const [store, other] = [await make('same'), await make('same')];
    const expired = build.updateTable('vault_token').set({ status: 'expired' });
    await app.store.commit([write(expired.where('store_id', '=', other))]);
    assert.equal(await statusOf(other), 'expired');
    await replace(store, 'next');
    await keepAfter(121);
    assert.equal(vault.tokens.has('same'), false);
  });

  test('a token and its leases, of a store that goes to another server with the same text', async (t) => {
    const stores = await startVaultStores(t, await newPlace());
    const { app, vault, keepAfter, make, change, lease } = stores;
    const next = await stores.another();
    const store = await make('same');
    const session = await lease(store);
    next.tokens.set('same', { ...GOOD_TOKEN, accessor: 'another' });
    await change(store, { address: next.url });
    for (let at = 0; at < 4; at++) await keepAfter(40);
    assert.deepEqual([...vault.leases.values()], ['same'], 'a session goes on with it');
    assert.ok(vault.tokens.has('same'));
    await revokeSessionCredentials(app, [session]);
    assert.equal(vault.leases.size, 0);
    await keepAfter(10);
    assert.equal(vault.tokens.has('same'), false);
    assert.ok(next.tokens.has('same'), 'the store works with it');
  });

  test('no token of a store whose server only has another name from now on, and its leases by that', async (t) => {
    const stores = await startVaultStores(t, await newPlace());
    const { app, vault, keepAfter, make, change, lease, statusOf } = stores;
    const store = await make('same');
    const session = await lease(store);
    await change(store, { address: vault.url.replace('127.0.0.1', 'localhost') });
    for (let at = 0; at < 4; at++) await keepAfter(40);
    assert.ok(vault.tokens.has('same'));
    assert.equal(await statusOf(store), 'current');
    assert.equal(await countReplaced(app), 0);
    await revokeSessionCredentials(app, [session]);
    assert.equal(vault.leases.size, 0);
  });

  const waits: [seconds: number, isShared: boolean, status: number][] = [
    [0, false, 200],
    [130, true, 200],
    // The source that it waited for is asked with a token that is gone.
    [130, false, 500],
  ];

  for (const [seconds, isShared, status] of waits) {
    const also = isShared ? ', which another store has, too' : '';
    test(`a lease of a token that is replaced while a session waits, for ${seconds} seconds more${also}`, async (t) => {
      const stores = await startVaultStores(t, await newPlace());
      const { app, vault, keepAfter, make, replace, newTarget, authorize } = stores;
      const store = await make('first');
      if (isShared) await make('first');
      vault.answers.set('GET slow', { body: { data: { password: 'p' } } });
      const target = await newTarget(store, ['database/creds/app', 'slow']);
      const { reached, letGo } = holdAt(vault, 'slow');
      const authorizing = authorize(target);
      await reached;
      await replace(store, 'second');
      await keepAfter(seconds);
      assert.equal(vault.tokens.has('first'), isShared || seconds === 0);
      letGo();
      const session = await authorizing;
      assert.equal(session.status, status, session.text);
      const given = status === 200 ? ['second'] : [];
      assert.deepEqual([...vault.leases.values()], given, 'what it was given is alive');
      if (status !== 200) return;
      await revokeSessionCredentials(app, [session.textAt('session_id')]);
      assert.equal(vault.leases.size, 0);
    });
  }

  test('a lease that could not be given back before its row of a token went, by another row of it', async (t) => {
    const stores = await startVaultStores(t, await newPlace());
    const { app, vault, keepAfter, make, replace, newTarget, authorize } = stores;
    const store = await make('first');
    await make('first');
    vault.answers.set('GET long', { body: { lease_id: 'long/1', lease_duration: 3600, data: {} } });
    const target = await newTarget(store, ['long', 'missing']);
    const { reached, letGo } = holdAt(vault, 'missing');
    vault.answers.set(REVOKE_LEASE, { status: 500, body: { errors: ['storage failed'] } });
    const authorizing = authorize(target);
    await reached;
    await replace(store, 'second');
    vault.leases.set('long/1', 'first');
    await keepAfter(130);
    assert.equal(await countReplaced(app), 0);
    letGo();
    assert.equal((await authorizing).status, 500);
    assert.deepEqual([...vault.leases.values()], ['first']);
    vault.answers.delete(REVOKE_LEASE);
    await endDue(app);
    assert.equal(vault.leases.size, 0);
  });
});

// What ends here ends at its Vault server, too, whatever other stores and servers have and when a store is changed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expireRange } from '../../src/access/leases/store.ts';
import type { App } from '../../src/app/app.ts';
import { rangeOf } from '../../src/app/lease.ts';
import { revokeSessionCredentials } from '../../src/broker/sessions/credentials/termination.operations.ts';
import {
  SESSION_LEASES,
  type VaultLeaseData,
  vaultLeaseData,
} from '../../src/broker/vault/leases/lease.ts';
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
const RENEW_LEASE = 'PUT sys/leases/renew';
/** What stands before a server, and hears nothing of what it does. */
const LOST = { status: 504, body: { errors: ['upstream request timeout'] } };

type Stores = Awaited<ReturnType<typeof startVaultStores>>;

/** What is known here of the one lease. */
async function readLease({ db }: App): Promise<VaultLeaseData> {
  const row = await db.selectFrom('lease').select('data').executeTakeFirstOrThrow();
  return vaultLeaseData({ data: JSON.parse(row.data) });
}

const countLeases = async ({ db }: App): Promise<number> =>
  (await db.selectFrom('lease').select('id').execute()).length;

const countRevocations = ({ requests }: FakeVault): number =>
  requests.filter(({ path }) => path === 'sys/leases/revoke').length;

/** A server with namespaces knows its leases in their own alone. */
function knowLeasesIn(vault: FakeVault, own: string): void {
  const unknown = { status: 400, body: { errors: ['invalid lease'] } };
  vault.pause = async ({ path, namespace }) => {
    for (const what of [REVOKE_LEASE, RENEW_LEASE]) {
      if (!what.endsWith(path)) continue;
      if (namespace === own) vault.answers.delete(what);
      else vault.answers.set(what, unknown);
    }
  };
}

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

  /** Where the row that a lease was asked with, and the other one of its token, look for it. */
  const namespaces: [where: string, own: string, other: string][] = [
    ['in the same namespace', '', ''],
    ['in another namespace', 'team-a', 'team-b'],
  ];

  for (const [where, own, other] of namespaces) {
    test(`a lease that could not be given back before its row of a token went, by another row of it ${where}`, async (t) => {
      const stores = await startVaultStores(t, await newPlace());
      const { app, vault, keepAfter, make, replace, newTarget, authorize } = stores;
      const store = await make('first', { namespace: own });
      await make('first', { namespace: other });
      const lease = { lease_id: 'long/1', lease_duration: 3600, data: {} };
      vault.answers.set('GET long', { body: lease });
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
      knowLeasesIn(vault, own);
      await endDue(app);
      assert.equal(vault.leases.size, 0);
    });
  }

  test('a lease of a store that goes to another namespace, where it lies', async (t) => {
    const stores = await startVaultStores(t, await newPlace());
    const { app, vault, keepAfter, make, change, lease } = stores;
    const store = await make('first', { namespace: 'team-a' });
    const session = await lease(store);
    await change(store, { namespace: 'team-b' });
    knowLeasesIn(vault, 'team-a');
    for (let at = 0; at < 4; at++) await keepAfter(40);
    assert.equal((await readLease(app)).until > app.now() / 1000, true, 'it is renewed');
    await revokeSessionCredentials(app, [session]);
    assert.equal(vault.leases.size, 0);
  });

  /** A lease of a minute whose renewals its server did, or did after what is known here. */
  const unheard: [what: string, lose: (stores: Stores) => Promise<void>][] = [
    [
      'whose renewals were not heard of',
      async ({ vault, keepAfter }) => {
        vault.answers.set(RENEW_LEASE, LOST);
        for (let at = 0; at < 3; at++) await keepAfter(31);
        vault.answers.delete(RENEW_LEASE);
      },
    ],
    [
      'that was renewed after the backup that this server goes on with',
      async ({ app }) => {
        const data = JSON.stringify({ ...(await readLease(app)), renew_at: 1, until: 2 });
        await app.store.commit([write(build.updateTable('lease').set({ data }))]);
      },
    ],
  ];

  for (const [what, lose] of unheard) {
    test(`a lease ${what}, though its time is over`, async (t) => {
      const stores = await startVaultStores(t, await newPlace());
      const { app, vault, make, lease } = stores;
      const session = await lease(await make('first'));
      await lose(stores);
      assert.ok((await readLease(app)).until <= app.now() / 1000);
      assert.equal(vault.leases.size, 1);
      await revokeSessionCredentials(app, [session]);
      assert.equal(vault.leases.size, 0);
    });

    test(`no lease ${what}, as long as its session lives: it is renewed`, async (t) => {
      const stores = await startVaultStores(t, await newPlace());
      const { app, keepAfter, make, lease } = stores;
      await lease(await make('first'));
      await lose(stores);
      // Longer than whatever was asked in vain waits: as long again as it has failed.
      await keepAfter(120);
      assert.ok((await readLease(app)).until > app.now() / 1000);
    });
  }

  test('a lease whose server is away is tried until it has ended by itself, and is let go of then', async (t) => {
    const stores = await startVaultStores(t, await newPlace());
    const { app, vault, keepAfter, make, lease } = stores;
    await lease(await make('first'));
    await keepAfter(40);
    vault.down = true;
    const now = Math.floor(app.now() / 1000);
    await app.store.commit([expireRange(rangeOf(SESSION_LEASES), now)]);
    await endDue(app);
    // Its last renewal may have been at the session's end, for two minutes as the one before.
    await keepAfter(110);
    await endDue(app);
    assert.equal(await countLeases(app), 1);
    await keepAfter(120);
    const asked = countRevocations(vault);
    await endDue(app);
    assert.equal(await countLeases(app), 0);
    assert.ok(countRevocations(vault) > asked);
  });

  for (const fails of [false, true]) {
    const when = fails ? 'and is due where that fails' : 'at once';
    test(`what a Vault server makes for a session while this server is sealed, ${when}`, async (t) => {
      const stores = await startVaultStores(t, await newPlace());
      const { app, vault, make, newTarget, authorize, seal } = stores;
      const target = await newTarget(await make('first'), ['database/creds/app']);
      const { reached, letGo } = holdAt(vault, 'database/creds/app');
      if (fails) vault.answers.set(REVOKE_LEASE, LOST);
      const authorizing = authorize(target);
      await reached;
      assert.equal((await seal()).status, 204);
      letGo();
      assert.equal((await authorizing).status, 503);
      assert.equal(countRevocations(vault), 1);
      assert.equal(vault.leases.size, fails ? 1 : 0);
      assert.equal(await countLeases(app), fails ? 1 : 0);
    });
  }
});

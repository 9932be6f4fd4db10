// Tokens of Vault stores: something that refuses them does not end them, and one that several rows have ends with the last.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { expireRange, listRange } from '../../src/access/leases/store.ts';
import type { App } from '../../src/app/app.ts';
import { rangeOf } from '../../src/app/lease.ts';
import { revokeSessionCredentials } from '../../src/broker/sessions/credentials/termination.operations.ts';
import { SESSION_LEASES } from '../../src/broker/vault/leases/lease.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace } from '../support/engines.ts';
import { endDue } from '../support/job-work.ts';
import type { FakeVault } from '../support/vault.ts';
import { countReplaced, startVaultStores } from '../support/vault-stores.ts';

const REVOKE = 'PUT auth/token/revoke-self';
const RENEW = 'PUT auth/token/renew-self';
const LOOK_UP = 'GET auth/token/lookup-self';
const refuse = (words: string): { status: number; body: object } => ({
  status: 403,
  body: { errors: [words] },
});
/** What is refused by something that stands before the server, and by policies that it has now. */
const NOT_GONE = ['request blocked by the firewall', 'permission denied'];
/** What stands before a server, and hears nothing of what it does. */
const LOST = { status: 504, body: { errors: ['upstream request timeout'] } };

/** Says of a token that lives what is said of one that is gone: its policies are away, or its addresses. */
function denyAll({ answers }: FakeVault): void {
  for (const what of [REVOKE, RENEW, LOOK_UP]) answers.set(what, refuse('permission denied'));
}

const countAsked = ({ requests }: FakeVault, what: string): number =>
  requests.filter(({ method, path }) => `${method} ${path}` === what).length;

const listLeases = (app: App) =>
  listRange(app.db, rangeOf(SESSION_LEASES), { after: '', limit: 10 });

eachPlace('tokens of Vault stores', (newPlace) => {
  test('a replaced one is revoked once its server lets it, after as long again as that has gone on', async (t) => {
    const { app, vault, keepAfter, make, replace } = await startVaultStores(t, await newPlace());
    const store = await make('first');
    await replace(store, 'second');
    await keepAfter(121);
    assert.equal(vault.tokens.has('first'), false, 'nothing refuses it');
    await replace(store, 'third');
    for (const words of NOT_GONE) {
      vault.answers.set(REVOKE, refuse(words));
      await keepAfter(121);
      assert.ok(vault.tokens.has('second'), words);
      assert.equal(await countReplaced(app), 1, words);
    }
    vault.answers.delete(REVOKE);
    await keepAfter(111);
    assert.ok(vault.tokens.has('second'));
    await keepAfter(20);
    assert.equal(vault.tokens.has('second'), false);
    assert.equal(await countReplaced(app), 0);
  });

  test('a replaced one that its server no longer has needs nothing more', async (t) => {
    const { app, vault, keepAfter, make, replace } = await startVaultStores(t, await newPlace());
    const store = await make('first');
    await replace(store, 'second');
    const both = '2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n';
    vault.answers.set(REVOKE, refuse(both));
    await keepAfter(121);
    assert.equal(await countReplaced(app), 0);
  });

  /** What servers say that have a replaced token no longer, or are away for good. */
  const silent: [what: string, take: (vault: FakeVault) => void][] = [
    ['says "permission denied" to all', ({ tokens }) => void tokens.delete('first')],
    ['is away', (vault) => void Object.assign(vault, { down: true })],
  ];

  for (const [what, take] of silent) {
    test(`a replaced one whose server ${what} is asked for until it has ended by itself`, async (t) => {
      const stores = await startVaultStores(t, await newPlace());
      const { app, vault, keepAfter, make, replace } = stores;
      const store = await make('first');
      await keepAfter(900);
      await replace(store, 'second');
      take(vault);
      await keepAfter(121);
      // It may have been renewed for an hour as late as it was replaced.
      await keepAfter(3_400);
      assert.equal(await countReplaced(app), 1);
      const asked = countAsked(vault, REVOKE);
      assert.ok(asked >= 2, `${asked} times`);
      await keepAfter(3_500);
      assert.equal(await countReplaced(app), 0);
      assert.ok(countAsked(vault, REVOKE) > asked);
    });
  }

  for (const end of ['replaced', 'removed'] as const) {
    test(`a refused one that is ${end} is revoked as soon as its server lets it`, async (t) => {
      const stores = await startVaultStores(t, await newPlace());
      const { app, vault, keepAfter, make, replace, remove, statusOf } = stores;
      const store = await make('first');
      denyAll(vault);
      await keepAfter(1_801);
      assert.equal(await statusOf(store), 'revoked');
      vault.answers.clear();
      if (end === 'replaced') await replace(store, 'second');
      else await remove(store);
      denyAll(vault);
      await keepAfter(1);
      await keepAfter(121);
      assert.equal(await countReplaced(app), 1);
      vault.answers.clear();
      await keepAfter(10);
      assert.equal(vault.tokens.has('first'), false);
      assert.equal(await countReplaced(app), 0);
    });
  }

  test('one whose renewals were not heard of is revoked when it is replaced after its time', async (t) => {
    const stores = await startVaultStores(t, await newPlace());
    const { app, vault, keepAfter, make, replace, statusOf } = stores;
    const store = await make('first');
    vault.answers.set(RENEW, LOST);
    await keepAfter(3_601);
    assert.equal(await statusOf(store), 'expired');
    vault.answers.clear();
    await replace(store, 'second');
    await keepAfter(121);
    assert.equal(vault.tokens.has('first'), false);
    assert.equal(await countReplaced(app), 0);
  });

  /** What keeps a token from being renewed for as long, and what it is meanwhile. */
  const aways: [
    what: string,
    seconds: number,
    answer: ReturnType<typeof refuse>,
    status: string,
  ][] = [
    ['that is refused everything for a moment', 1_801, refuse('permission denied'), 'revoked'],
    ['that is refused everything until it expires', 3_601, refuse('permission denied'), 'expired'],
    ['whose renewals are not heard of until it expires', 3_601, LOST, 'expired'],
  ];

  for (const [what, seconds, answer, status] of aways) {
    test(`one ${what} is ${status}, and works again as soon as it is renewed`, async (t) => {
      const stores = await startVaultStores(t, await newPlace());
      const { vault, keepAfter, make, newTarget, authorize, statusOf } = stores;
      const store = await make('first');
      const target = await newTarget(store, ['database/creds/app']);
      for (const asked of [RENEW, LOOK_UP]) vault.answers.set(asked, answer);
      await keepAfter(seconds);
      assert.equal(await statusOf(store), status);
      assert.match((await authorize(target)).text, new RegExp(`is ${status}`));
      await keepAfter(10);
      assert.equal(await statusOf(store), status);
      vault.answers.clear();
      await keepAfter(20);
      assert.equal(await statusOf(store), 'current');
      assert.equal((await authorize(target)).status, 200);
    });
  }

  test('one that is refused everything is asked for ever less', async (t) => {
    const { vault, keepAfter, make, statusOf } = await startVaultStores(t, await newPlace());
    const store = await make('first');
    denyAll(vault);
    await keepAfter(1_801);
    for (let at = 0; at < 60; at++) await keepAfter(10);
    const asked = countAsked(vault, RENEW) - 1;
    assert.ok(asked >= 4 && asked <= 12, `${asked} times`);
    vault.answers.clear();
    await keepAfter(1_200);
    assert.equal(await statusOf(store), 'current');
    await keepAfter(1_801);
    assert.ok(countAsked(vault, RENEW) - 1 >= asked + 2, 'what is well is renewed in its time');
  });

  test('replaced ones that are refused with whatever status are opened, asked for and logged ever less', async (t) => {
    const { app, vault, keepAfter, make, replace } = await startVaultStores(t, await newPlace());
    await replace(await make('first'), 'second');
    vault.answers.set(REVOKE, LOST);
    await keepAfter(121);
    const opened = t.mock.method(app.barrier, 'decrypt').mock;
    const warned = t.mock.method(app.log, 'warn').mock;
    const from = countAsked(vault, REVOKE);
    for (let at = 0; at < 60; at++) await keepAfter(10);
    const asked = countAsked(vault, REVOKE) - from;
    assert.ok(asked >= 4 && asked <= 12, `${asked} times`);
    assert.ok(opened.callCount() <= 3 * asked, `${opened.callCount()} times`);
    assert.equal(warned.callCount(), asked);
    assert.equal(await countReplaced(app), 1);
  });

  test('one that is refused its renewal with whatever status is asked for several times before it is over', async (t) => {
    const { vault, keepAfter, make, statusOf } = await startVaultStores(t, await newPlace());
    const store = await make('first');
    vault.answers.set(RENEW, LOST);
    const from = countAsked(vault, RENEW);
    await keepAfter(1_801);
    for (let at = 0; at < 179; at++) await keepAfter(10);
    const asked = countAsked(vault, RENEW) - from;
    assert.ok(asked >= 10 && asked <= 60, `${asked} times`);
    assert.equal(await statusOf(store), 'current');
    vault.answers.clear();
    await keepAfter(5);
    await keepAfter(3);
    assert.equal(await statusOf(store), 'current');
    assert.ok(countAsked(vault, RENEW) > from + asked, 'seconds before it would have been over');
  });

  test('one that is refused a renewal is revoked only when its server has it no longer', async (t) => {
    const { vault, keepAfter, make, statusOf } = await startVaultStores(t, await newPlace());
    const store = await make('first');
    for (const words of NOT_GONE) {
      vault.answers.set(RENEW, refuse(words));
      await keepAfter(900);
      await keepAfter(901);
      assert.equal(await statusOf(store), 'current', words);
      vault.answers.delete(RENEW);
      await keepAfter(10);
    }
    vault.tokens.delete('first');
    await keepAfter(1_801);
    assert.equal(await statusOf(store), 'revoked');
  });

  test('those that stores work with are not opened for those that are to be revoked', async (t) => {
    const { app, vault, keepAfter, make, replace } = await startVaultStores(t, await newPlace());
    for (let at = 0; at < 20; at++) {
      const store = await make(`old${at}`);
      await replace(store, at === 0 ? 'old1' : `new${at}`);
    }
    const inUse = app.db.selectFrom('vault_token').select('id').where('replaced_at', 'is', null);
    const ids = new Set((await inUse.execute()).map(({ id }) => id));
    const { mock } = t.mock.method(app.barrier, 'decrypt');
    await keepAfter(121);
    const left = [...vault.tokens.keys()].filter((token) => token.startsWith('old'));
    assert.deepEqual(left, ['old1'], 'another store works with it');
    assert.equal(await countReplaced(app), 0);
    const opened = mock.calls.map(({ arguments: [, { row }] }) => row);
    assert.ok(opened.length > 0);
    assert.deepEqual(
      opened.filter((id) => ids.has(id)),
      [],
    );
  });

  for (const first of ['quiet', 'busy'] as const) {
    test(`one that two stores had is revoked when no lease of either is left, the ${first} one replaced first`, async (t) => {
      const { app, vault, keepAfter, make, replace, lease } = await startVaultStores(
        t,
        await newPlace(),
      );
      const stores = { quiet: await make('shared'), busy: await make('shared') };
      const session = await lease(stores.busy);
      await replace(stores[first], 'next');
      await keepAfter(1);
      await replace(stores[first === 'quiet' ? 'busy' : 'quiet'], 'next');
      await keepAfter(121);
      assert.equal(vault.leases.size, 1, 'a session goes on with it');
      assert.ok(vault.tokens.has('shared'));
      await revokeSessionCredentials(app, [session]);
      await keepAfter(121);
      assert.equal(vault.tokens.has('shared'), false);
      assert.equal(await countReplaced(app), 0);
    });
  }

  test('those from before there were hashes are looked after like all others', async (t) => {
    const { app, vault, keepAfter, make, replace } = await startVaultStores(t, await newPlace());
    const [first, second] = [await make('both'), await make('both')];
    await replace(first, 'next');
    await app.store.commit([write(build.updateTable('vault_token').set({ token_mac: null }))]);
    await keepAfter(121);
    assert.ok(vault.tokens.has('both'), 'another store works with it');
    assert.equal(await countReplaced(app), 0);
    await replace(second, 'next');
    await keepAfter(121);
    assert.equal(vault.tokens.has('both'), false);
  });

  const broken: [what: string, changed: object][] = [
    ['no longer opens', { secret_sealed: Uint8Array.of(1) }],
    ['no longer opens and has no hash', { secret_sealed: Uint8Array.of(1), token_mac: null }],
  ];
  for (const [what, changed] of broken) {
    test(`one that ${what} keeps no other from what is due for it`, async (t) => {
      const { app, vault, keepAfter, make, lease, replace } = await startVaultStores(
        t,
        await newPlace(),
      );
      const stores = [await make('a'), await make('broken'), await make('b'), await make('old')];
      for (const store of stores.slice(0, 3)) await lease(store);
      await replace(stores[3] ?? '', 'new');
      const of = build.updateTable('vault_token').where('store_id', '=', stores[1] ?? '');
      await app.store.commit([write(of.set(changed))]);
      const from = vault.requests.length;
      await keepAfter(2_000);
      const asked = vault.requests.slice(from);
      for (const path of ['auth/token/renew-self', 'sys/leases/renew']) {
        const tokens = asked.filter((one) => one.path === path).map(({ token }) => token);
        assert.deepEqual(new Set(tokens.filter((token) => token !== 'new')), new Set(['a', 'b']));
      }
      assert.equal(vault.tokens.has('old'), false);
      await app.store.commit([expireRange(rangeOf(SESSION_LEASES), Math.floor(app.now() / 1000))]);
      await endDue(app);
      assert.equal(vault.leases.size, 1, 'that of the broken one');
      assert.ok(vault.tokens.has('broken'));
    });
  }

  /** A store whose connection does not open, with a lease. */
  async function breakOne(t: TestContext) {
    const stores = await startVaultStores(t, await newPlace());
    const { app, make, lease } = stores;
    const store = await make('broken');
    await lease(store);
    const of = build.updateTable('vault_token').where('store_id', '=', store);
    const secret_sealed = Uint8Array.of(1);
    await app.store.commit([write(of.set({ secret_sealed, token_mac: null }))]);
    const logged = t.mock.method(app.log, 'error').mock;
    const opened = t.mock.method(app.barrier, 'decrypt').mock;
    return { ...stores, store, logged, opened };
  }

  test('one that does not open is opened and logged ever less', async (t) => {
    const { keepAfter, logged, opened } = await breakOne(t);
    await keepAfter(1_801);
    for (let at = 0; at < 60; at++) await keepAfter(10);
    const [logs, opens] = [logged.callCount(), opened.callCount()];
    assert.ok(logs >= 4 && logs <= 8, `${logs} times`);
    assert.ok(opens <= 3 * logs, `${opens} times`);
    for (let at = 0; at < 10; at++) await keepAfter(3_600);
    assert.ok(logged.callCount() - logs >= 9, 'and once an hour at least');
  });

  for (const [what, end] of [
    ['replaced', ({ replace, store }) => replace(store, 'new')],
    ['removed', ({ remove, store }) => remove(store)],
  ] satisfies [string, (of: Awaited<ReturnType<typeof breakOne>>) => Promise<void>][]) {
    test(`one that does not open is let go of once it has been ${what} and must have ended, with its leases`, async (t) => {
      const broken = await breakOne(t);
      const { app, vault, keepAfter } = broken;
      await end(broken);
      const now = Math.floor(app.now() / 1000);
      await app.store.commit([expireRange(rangeOf(SESSION_LEASES), now)]);
      await endDue(app);
      assert.equal((await listLeases(app)).length, 1, 'it lives there for another minute or so');
      await keepAfter(1);
      await keepAfter(200);
      await endDue(app);
      assert.deepEqual(await listLeases(app), []);
      await keepAfter(2_800);
      assert.equal(await countReplaced(app), 1, 'it lives there for an hour');
      await keepAfter(3_600);
      assert.equal(await countReplaced(app), 0);
      assert.ok(vault.tokens.has('broken'), 'nothing can be asked for it');
    });
  }

  test('a store whose connection does not open is changed with a token, and with nothing else', async (t) => {
    const { app, keepAfter, change, store, replace, lease } = await breakOne(t);
    await assert.rejects(change(store, { namespace: 'other' }), /a token is needed/);
    await replace(store, 'new');
    await lease(store);
    await keepAfter(1_801);
    assert.ok((await listLeases(app)).length > 0);
  });
});

// Tokens of Vault stores: something that refuses them does not end them, and one that several rows have ends with the last.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { revokeSessionCredentials } from '../../src/broker/session-credentials/ending/operations.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace } from '../support/engines.ts';
import { countReplaced, startVaultStores } from '../support/vault-stores.ts';

const REVOKE = 'PUT auth/token/revoke-self';
const RENEW = 'PUT auth/token/renew-self';
const refuse = (words: string): { status: number; body: object } => ({
  status: 403,
  body: { errors: [words] },
});
/** What is refused by something that stands before the server, and by policies that it has now. */
const NOT_GONE = ['request blocked by the firewall', 'permission denied'];

eachPlace('tokens of Vault stores', (newPlace) => {
  test('a replaced one is revoked as soon as its server lets it', async (t) => {
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
    await keepAfter(10);
    assert.equal(vault.tokens.has('second'), false);
    assert.equal(await countReplaced(app), 0);
  });

  test('a replaced one that its server no longer has needs nothing more', async (t) => {
    const { app, vault, keepAfter, make, replace } = await startVaultStores(t, await newPlace());
    const store = await make('first');
    await replace(store, 'second');
    vault.tokens.delete('first');
    await keepAfter(121);
    assert.equal(await countReplaced(app), 0, 'it says "permission denied" to all');
    await replace(store, 'third');
    const both = '2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n';
    vault.answers.set(REVOKE, refuse(both));
    await keepAfter(121);
    assert.equal(await countReplaced(app), 0);
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
    const { mock } = t.mock.method(app.barrier, 'open');
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
});

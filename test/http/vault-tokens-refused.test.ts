// Tokens of Vault stores: something that refuses them does not end them, and one that several rows have ends with the last.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { App } from '../../src/app.ts';
import { revokeSessionCredentials } from '../../src/broker/session-credentials/ending/operations.ts';
import { keepVaultAlive } from '../../src/broker/vault-leases/operations.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { turnOfJob } from '../support/job-work.ts';
import { PROJECT, startBroker } from '../support/seeded-broker.ts';
import { GOOD_TOKEN, startFakeVault } from '../support/vault.ts';

/** A broker with one project, a Vault server beside it, and time that passes when it is told to. */
async function start(t: TestContext, place: Place) {
  let late = 0;
  const broker = await startBroker(t, { place, now: () => Date.now() + late });
  const { app } = broker.client.running;
  const vault = await startFakeVault();
  t.after(() => vault.stop());
  const wish = (token: string): object => {
    vault.tokens.set(token, { ...GOOD_TOKEN, accessor: token });
    return { attributes: { address: vault.url, token } };
  };
  const keepAfter = async (seconds: number): Promise<void> => {
    late += seconds * 1000;
    await keepVaultAlive(app, turnOfJob(app));
  };
  return {
    app,
    vault,
    keepAfter,
    make: (token: string) =>
      broker.make('credential-stores', { scope_id: PROJECT, type: 'vault', ...wish(token) }),
    /** Gives a session a lease of a store. */
    async lease(store: string): Promise<string> {
      const library = await broker.make('credential-libraries', {
        credential_store_id: store,
        type: 'vault-generic',
        attributes: { path: 'database/creds/app' },
      });
      const target = await broker.make('targets', {
        scope_id: PROJECT,
        type: 'tcp',
        name: 'leased',
        address: '127.0.0.1',
        attributes: { default_port: 22 },
      });
      const sources = { version: 1, brokered_credential_source_ids: [library] };
      const set = await broker.admin('POST', `targets/${target}:set-credential-sources`, sources);
      assert.equal(set.status, 200, set.text);
      const session = await broker.admin('POST', `targets/${target}:authorize-session`, {});
      assert.equal(session.status, 200, session.text);
      return session.textAt('session_id');
    },
    async replace(store: string, token: string): Promise<void> {
      const body = { version: await versionOf(store), ...wish(token) };
      const changed = await broker.admin('PATCH', `credential-stores/${store}`, body);
      assert.equal(changed.status, 200, changed.text);
    },
    statusOf: async (store: string) =>
      (await broker.admin('GET', `credential-stores/${store}`)).textAt('attributes.token_status'),
  };

  async function versionOf(store: string): Promise<unknown> {
    return (await broker.admin('GET', `credential-stores/${store}`)).field('version');
  }
}

const countReplaced = async (app: App): Promise<number> => {
  const rows = await app.db.selectFrom('vault_token').select('replaced_at').execute();
  return rows.filter(({ replaced_at }) => replaced_at !== null).length;
};

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
    const { app, vault, keepAfter, make, replace } = await start(t, await newPlace());
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
    const { app, vault, keepAfter, make, replace } = await start(t, await newPlace());
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
    const { vault, keepAfter, make, statusOf } = await start(t, await newPlace());
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
    const { app, vault, keepAfter, make, replace } = await start(t, await newPlace());
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
      const { app, vault, keepAfter, make, replace, lease } = await start(t, await newPlace());
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
    const { app, vault, keepAfter, make, replace } = await start(t, await newPlace());
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

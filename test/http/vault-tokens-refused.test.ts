// Tokens of Vault stores that something refuses: only their own server ends them.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { workOf } from '../../src/access/leases/ending/operations.ts';
import { systemCaller } from '../../src/access/system-caller.ts';
import type { App } from '../../src/app.ts';
import { keepVaultAlive } from '../../src/broker/vault-leases/operations.ts';
import { eachPlace, type Place } from '../support/engines.ts';
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
    const { commit } = workOf(app, systemCaller('job', 'test'));
    const fence = (): never => {
      throw new Error('not asked for');
    };
    await keepVaultAlive(app, { commit, fence, stopping: false });
  };
  return {
    app,
    vault,
    keepAfter,
    make: (token: string) =>
      broker.make('credential-stores', { scope_id: PROJECT, type: 'vault', ...wish(token) }),
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

  test('all that are in use are opened once for all that are to be revoked', async (t) => {
    const { app, vault, keepAfter, make, replace } = await start(t, await newPlace());
    const count = 20;
    for (let at = 0; at < count; at++) {
      const store = await make(`old${at}`);
      await replace(store, at === 0 ? 'old1' : `new${at}`);
    }
    const { mock } = t.mock.method(app.barrier, 'open');
    await keepAfter(121);
    const left = [...vault.tokens.keys()].filter((token) => token.startsWith('old'));
    assert.deepEqual(left, ['old1'], 'another store works with it');
    assert.equal(await countReplaced(app), 0);
    assert.ok(mock.callCount() < 5 * count, `${mock.callCount()} times`);
  });
});

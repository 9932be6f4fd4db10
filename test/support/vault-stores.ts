import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { App } from '../../src/app/app.ts';
import { keepVaultAlive } from '../../src/broker/vault/leases/operations.ts';
import type { Place } from './engines.ts';
import { turnOfJob } from './job-work.ts';
import { PROJECT, startBroker } from './seeded-broker.ts';
import type { Reply } from './server.ts';
import { type FakeVault, GOOD_TOKEN, startFakeVault } from './vault.ts';

/** Of which server a token is, and by which path there. */
interface Where {
  at?: FakeVault;
  path?: string;
  namespace?: string;
}

/** A broker with one project, a Vault server beside it, and time that passes when it is told to. */
export async function startVaultStores(t: TestContext, place: Place) {
  let late = 0;
  const broker = await startBroker(t, { place, now: () => Date.now() + late });
  const { admin } = broker;
  const { app } = broker.client.running;
  const another = async (): Promise<FakeVault> => {
    const started = await startFakeVault();
    t.after(() => started.stop());
    return started;
  };
  const vault = await another();
  const attributesOf = (
    token: string,
    { at = vault, path = '', namespace = '' }: Where,
  ): object => {
    if (!at.tokens.has(token)) at.tokens.set(token, { ...GOOD_TOKEN, accessor: token });
    return { attributes: { address: `${at.url}${path}`, token, namespace } };
  };
  const keepAfter = async (seconds: number): Promise<void> => {
    late += seconds * 1000;
    await keepVaultAlive(app, turnOfJob(app));
  };
  const versionOf = async (store: string): Promise<unknown> =>
    (await admin('GET', `credential-stores/${store}`)).field('version');

  async function change(store: string, attributes: object): Promise<void> {
    const body = { version: await versionOf(store), attributes };
    const changed = await admin('PATCH', `credential-stores/${store}`, body);
    assert.equal(changed.status, 200, changed.text);
  }

  const newLibrary = (credential_store_id: string, path: string): Promise<string> =>
    broker.make('credential-libraries', {
      credential_store_id,
      type: 'vault-generic',
      attributes: { path },
    });

  /** A target whose sessions are given something at these paths of a store. */
  async function newTarget(store: string, paths: readonly string[]): Promise<string> {
    const libraries: string[] = [];
    for (const path of paths) libraries.push(await newLibrary(store, path));
    const target = await broker.make('targets', {
      scope_id: PROJECT,
      type: 'tcp',
      name: `leased from ${libraries[0]}`,
      address: '127.0.0.1',
      attributes: { default_port: 22 },
    });
    const sources = { version: 1, brokered_credential_source_ids: libraries };
    const set = await admin('POST', `targets/${target}:set-credential-sources`, sources);
    assert.equal(set.status, 200, set.text);
    return target;
  }
  const authorize = (target: string): Promise<Reply> =>
    admin('POST', `targets/${target}:authorize-session`, {});

  return {
    app,
    vault,
    another,
    seal: () => broker.client.call('POST', 'sys/seal'),
    keepAfter,
    newTarget,
    authorize,
    change,
    make: (token: string, where: Where = {}) =>
      broker.make('credential-stores', {
        scope_id: PROJECT,
        type: 'vault',
        ...attributesOf(token, where),
      }),
    async remove(store: string): Promise<void> {
      const removed = await admin('DELETE', `credential-stores/${store}`);
      assert.equal(removed.status, 204, removed.text);
    },
    async removeProject(): Promise<void> {
      const removed = await admin('DELETE', `scopes/${PROJECT}`);
      assert.equal(removed.status, 204, removed.text);
    },
    /** Gives a session a lease of a store. */
    async lease(store: string): Promise<string> {
      const session = await authorize(await newTarget(store, ['database/creds/app']));
      assert.equal(session.status, 200, session.text);
      return session.textAt('session_id');
    },
    async replace(store: string, token: string): Promise<void> {
      vault.tokens.set(token, vault.tokens.get(token) ?? { ...GOOD_TOKEN, accessor: token });
      await change(store, { token });
    },
    statusOf: async (store: string) =>
      (await admin('GET', `credential-stores/${store}`)).textAt('attributes.token_status'),
  };
}

export async function countReplaced(app: App): Promise<number> {
  const rows = await app.db.selectFrom('vault_token').select('replaced_at').execute();
  return rows.filter(({ replaced_at }) => replaced_at !== null).length;
}

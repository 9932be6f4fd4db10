// For whom a Vault server is asked to end what it gave: for the project that had it, whatever of that is gone by now.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listRange } from '../../src/access/leases/store.ts';
import type { App } from '../../src/app/app.ts';
import { rangeOf } from '../../src/app/lease.ts';
import { whoseTokens } from '../../src/broker/vault/leases/asking.operations.ts';
import { SESSION_LEASES } from '../../src/broker/vault/leases/lease.ts';
import { vaultLease } from '../../src/broker/vault/leases/operations.ts';
import type { Whose } from '../../src/core/fairness/piece.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace } from '../support/engines.ts';
import { ORG, PROJECT } from '../support/seeded-broker.ts';
import { startVaultStores } from '../support/vault-stores.ts';

type Stores = Awaited<ReturnType<typeof startVaultStores>>;

const dropRow = ({ app }: Stores, store: string): Promise<unknown> =>
  app.store.commit([write(build.deleteFrom('vault_token').where('store_id', '=', store))]);

const whoseLease = async (app: App): Promise<Whose | undefined> => {
  const [lease] = await listRange(app.db, rangeOf(SESSION_LEASES), { after: '', limit: 1 });
  assert.ok(lease);
  return vaultLease.tellWhose?.(app)(lease);
};

const ofProject = { party: PROJECT, site: ORG };

const cases: [
  what: string,
  happen: (stores: Stores, store: string) => Promise<unknown>,
  party: Omit<Whose, 'whom'> | undefined,
][] = [
  ['nothing is gone', async () => undefined, ofProject],
  ['its store is gone', ({ remove }, store) => remove(store), ofProject],
  ['its project is gone', ({ removeProject }) => removeProject(), ofProject],
  [
    'its row of the token is gone, and another store has the token',
    async (stores, store) => {
      await stores.make('first');
      await dropRow(stores, store);
    },
    ofProject,
  ],
  [
    'its row of the token is gone, and another store has another one',
    async (stores, store) => {
      await stores.make('second');
      await dropRow(stores, store);
    },
    undefined,
  ],
  [
    'its store was gone before its project was kept',
    async ({ app, remove }, store) => {
      await remove(store);
      const unknown = build.updateTable('vault_token').set({ project_id: null, org_id: null });
      await app.store.commit([write(unknown)]);
    },
    { party: '127.0.0.1', site: '127.0.0.1' },
  ],
];

eachPlace('a lease of a Vault server', (newPlace) => {
  for (const [what, happen, party] of cases) {
    const told = party ? `is asked for on behalf of ${party.party}` : 'is asked for of nobody';
    test(`of which ${what} ${told}`, async (t) => {
      const stores = await startVaultStores(t, await newPlace());
      const { app, vault, make, lease } = stores;
      // What is made is kept, as its server ends nothing just now.
      vault.answers.set('PUT sys/leases/revoke', { status: 503, body: { errors: ['not now'] } });
      const store = await make('first');
      await lease(store);
      await happen(stores, store);
      const whose = party && { whom: new URL(vault.url).host, ...party };
      assert.deepEqual(await whoseLease(app), whose);
      if (what === 'its store is gone') {
        const { id } = await app.db
          .selectFrom('vault_token')
          .select('id')
          .executeTakeFirstOrThrow();
        const find = whoseTokens(app);
        assert.deepEqual(await find({ token_id: id, token_mac: '' }), whose, 'so is its token');
      }
    });
  }
});

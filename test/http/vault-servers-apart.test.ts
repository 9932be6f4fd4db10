// What is asked of Vault servers on a timer: one that does not answer keeps nobody else's leases and tokens waiting.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expireRange } from '../../src/access/leases/store.ts';
import { rangeOf } from '../../src/app/lease.ts';
import { SESSION_LEASES } from '../../src/broker/vault/leases/lease.ts';
import { keepVaultAlive } from '../../src/broker/vault/leases/operations.ts';
import { eachPlace } from '../support/engines.ts';
import { endDue, turnOfJob } from '../support/job-work.ts';
import { type Broker, PROJECT, startBroker } from '../support/seeded-broker.ts';
import { type FakeVault, GOOD_TOKEN, startFakeVault } from '../support/vault.ts';

/** More than ever went on at the same time. */
const SILENT = 30;
const QUICK = 12;

/** Stores at a server, of a token each, whose sources one target has; a session has a lease of each. */
async function makeStores(
  { make, admin }: Broker,
  { vault, project, count }: { vault: FakeVault; project: string; count: number },
): Promise<string[]> {
  const stores: string[] = [];
  const sources: string[] = [];
  for (let at = 0; at < count; at++) {
    // No two servers have a token in common: one that several stores have is ended by the last of them.
    const token = `t${at}.${new URL(vault.url).port}`;
    vault.tokens.set(token, { ...GOOD_TOKEN, accessor: token });
    const attributes = { address: vault.url, token };
    const store = await make('credential-stores', {
      scope_id: project,
      type: 'vault',
      attributes,
    });
    stores.push(store);
    sources.push(
      await make('credential-libraries', {
        credential_store_id: store,
        type: 'vault-generic',
        attributes: { path: 'database/creds/app' },
      }),
    );
  }
  for (let start = 0; start < count; start += 10) {
    const target = await make('targets', {
      scope_id: project,
      type: 'tcp',
      name: `${start}`,
      address: '127.0.0.1',
      attributes: { default_port: 22 },
    });
    const set = await admin('POST', `targets/${target}:set-credential-sources`, {
      version: 1,
      brokered_credential_source_ids: sources.slice(start, start + 10),
    });
    assert.equal(set.status, 200, set.text);
    const session = await admin('POST', `targets/${target}:authorize-session`, {});
    assert.equal(session.status, 200, session.text);
  }
  return stores;
}

/** Runs something while one server does not answer a request, until the other was asked it by all of its stores. */
async function runBeside(
  { silent, quick }: { silent: FakeVault; quick: FakeVault },
  path: string,
  run: () => Promise<void>,
): Promise<{ asked: number }> {
  const released = Promise.withResolvers<void>();
  const through = Promise.withResolvers<void>();
  const seen = new Set<string>();
  let asked = 0;
  silent.pause = async (request) => {
    if (request.path !== path) return;
    asked += 1;
    await released.promise;
  };
  quick.pause = async (request) => {
    if (request.path === path) seen.add(request.token);
    if (seen.size === QUICK) through.resolve();
  };
  const running = run();
  await Promise.race([through.promise, running]);
  const found = { asked, through: seen.size };
  released.resolve();
  await running;
  assert.equal(found.through, QUICK, `${path} of all others`);
  return found;
}

eachPlace('servers that do not answer', (newPlace) => {
  test('keep no leases and tokens of others waiting', async (t) => {
    let late = 0;
    const now = (): number => Date.now() + late;
    const broker = await startBroker(t, { place: await newPlace(), now });
    const { app } = broker.client.running;
    const [silent, quick] = [await startFakeVault(), await startFakeVault()];
    t.after(() => Promise.all([silent.stop(), quick.stop()]));
    const org = await broker.make('scopes', { scope_id: 'global', name: 'others' });
    const project = await broker.make('scopes', { scope_id: org, name: 'theirs' });
    const stores = [
      ...(await makeStores(broker, { vault: silent, project, count: SILENT })),
      ...(await makeStores(broker, { vault: quick, project: PROJECT, count: QUICK })),
    ];
    const keep = (): Promise<void> => keepVaultAlive(app, turnOfJob(app));
    const beside = (path: string, run: () => Promise<void>) =>
      runBeside({ silent, quick }, path, run);
    // What one run asks of one server at once, and one more when that is late; the server's own timer may run beside.
    const most = 2 * (4 + 1);

    late = 31_000;
    assert.ok((await beside('sys/leases/renew', keep)).asked <= most);

    const due = expireRange(rangeOf(SESSION_LEASES), Math.floor(app.now() / 1000));
    const end = async (): Promise<void> => {
      await app.store.commit([due]);
      await endDue(app);
    };
    assert.ok((await beside('sys/leases/revoke', end)).asked <= most);
    assert.equal(quick.leases.size, 0);
    await endDue(app);
    assert.equal(silent.leases.size, 0, 'also where it answers at last');

    late += 1_801_000;
    assert.ok((await beside('auth/token/renew-self', keep)).asked <= most);

    for (const [at, store] of stores.entries()) {
      const token = `new${at}`;
      for (const vault of [silent, quick]) {
        vault.tokens.set(token, { ...GOOD_TOKEN, accessor: token });
      }
      const read = await broker.admin('GET', `credential-stores/${store}`);
      const changed = await broker.admin('PATCH', `credential-stores/${store}`, {
        version: read.field('version'),
        attributes: { token },
      });
      assert.equal(changed.status, 200, changed.text);
    }
    late += 121_000;
    assert.ok((await beside('auth/token/revoke-self', keep)).asked <= most);
  });
});

// What a Vault server gave to a session that was refused is given back, also where that takes a while.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaseJobs } from '../../src/access/leases/jobs.ts';
import { Failure } from '../../src/core/failure.ts';
import { runIfFree } from '../../src/start/jobs.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { SSH_HOST_KEY } from '../support/ssh-host-key.ts';
import { GOOD_TOKEN, startFakeVault } from '../support/vault.ts';

type Broker = Awaited<ReturnType<typeof startBroker>>;

/** A target whose sessions are given what a Vault server has at a path. */
async function makeVaultTarget(
  { admin, make, project }: Broker,
  vault: { url: string },
  path: string,
): Promise<{ store: string; target: string }> {
  const store = await make('credential-stores', {
    scope_id: project,
    type: 'vault',
    attributes: { address: vault.url, token: 'good' },
  });
  const library = await make('credential-libraries', {
    credential_store_id: store,
    type: 'vault-generic',
    attributes: { path },
  });
  const target = await make('targets', {
    scope_id: project,
    type: 'tcp',
    name: 'x',
    address: '127.0.0.1',
    attributes: { default_port: 1 },
  });
  await admin('POST', `targets/${target}:add-credential-sources`, {
    version: 1,
    brokered_credential_source_ids: [library],
  });
  return { store, target };
}

const held: [what: string, down: boolean, rows: number][] = [
  ['is given back at once, and leaves nothing', false, 0],
  ['of a server that does not answer is due, and given back when it does', true, 1],
];

for (const [what, down, rows] of held) {
  test(`the credential of a refused session ${what}`, async (t) => {
    const holder = new CommitHolder();
    const broker = await startBroker(t, { store: holder.over });
    const { admin, client } = broker;
    const vault = await startFakeVault();
    t.after(() => vault.stop());
    const { target } = await makeVaultTarget(broker, vault, 'database/creds/app');
    const path = `targets/${target}:authorize-session`;
    const commit = holder.hold(path);
    const making = admin('POST', path, {});
    await commit.reached;
    assert.equal((await admin('DELETE', `targets/${target}`)).status, 204);
    vault.down = down;
    commit.letGo();
    assert.equal((await making).status, 404);
    assert.equal(vault.leases.size, rows, 'at the Vault server');
    const { app } = client.running;
    const listed = await app.db.selectFrom('lease').select(['id', 'expires_at']).execute();
    assert.equal(listed.length, rows);
    for (const { expires_at } of listed) assert.ok(expires_at <= app.now() / 1000);
    vault.down = false;
    for (const job of leaseJobs) await runIfFree(app, job);
    assert.equal(vault.leases.size, 0);
    assert.deepEqual(await app.db.selectFrom('lease').select('id').execute(), []);
  });
}

/** A target with a Vault library and a stored credential, each brokered or injected. */
async function makeTarget(
  { admin, make, project }: Broker,
  vault: { url: string },
  how: {
    library: 'brokered' | 'injected_application';
    stored: 'brokered' | 'injected_application';
  },
): Promise<{ target: string; credential: string }> {
  const inStore = async (type: string, attributes: object): Promise<string> =>
    make('credential-stores', { scope_id: project, type, attributes });
  const library = await make('credential-libraries', {
    credential_store_id: await inStore('vault', { address: vault.url, token: 'good' }),
    type: 'vault-generic',
    attributes: { path: 'database/creds/app' },
  });
  const credential = await make('credentials', {
    credential_store_id: await inStore('static', {}),
    type: 'username_password',
    attributes: { username: 'u', password: 'p' },
  });
  const target = await make('targets', {
    scope_id: project,
    type: 'ssh',
    name: `${how.library} ${how.stored}`,
    address: '127.0.0.1',
    attributes: { default_port: 1, host_keys: [SSH_HOST_KEY] },
  });
  const added = await admin('POST', `targets/${target}:add-credential-sources`, {
    version: 1,
    [`${how.library}_credential_source_ids`]: [library],
    ...(how.library === how.stored
      ? { [`${how.library}_credential_source_ids`]: [library, credential] }
      : { [`${how.stored}_credential_source_ids`]: [credential] }),
  });
  assert.equal(added.status, 200, added.text);
  return { target, credential };
}

for (const library of ['brokered', 'injected_application'] as const) {
  for (const stored of ['brokered', 'injected_application'] as const) {
    test(`nothing of a ${library} library is left at its Vault where a ${stored} stored credential does not open`, async (t) => {
      const broker = await startBroker(t);
      const vault = await startFakeVault();
      t.after(() => vault.stop());
      const { target, credential } = await makeTarget(broker, vault, { library, stored });
      const authorize = () => broker.admin('POST', `targets/${target}:authorize-session`, {});
      const { app } = broker.client.running;
      const { secret_sealed } = await app.db
        .selectFrom('resource')
        .select('secret_sealed')
        .where('id', '=', credential)
        .executeTakeFirstOrThrow();
      const changed = Uint8Array.from(secret_sealed ?? []);
      changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
      const body = build.updateTable('resource').set({ secret_sealed: changed });
      await app.store.commit([write(body.where('id', '=', credential), { rows: 1 })]);
      assert.equal((await authorize()).status, 500);
      assert.deepEqual([...vault.leases], []);
      assert.ok(!vault.requests.some(({ path }) => path === 'database/creds/app'), 'not asked for');
    });
  }
}

test('what a library issued is given back where it can no longer be sealed for the worker', async (t) => {
  const broker = await startBroker(t);
  const vault = await startFakeVault();
  t.after(() => vault.stop());
  const how = { library: 'injected_application', stored: 'brokered' } as const;
  const { target } = await makeTarget(broker, vault, how);
  const { barrier } = broker.client.running.app;
  const sealing = t.mock.method(barrier, 'encrypt', () => {
    throw new Failure('unavailable', 'Vault is sealed');
  });
  const authorize = () => broker.admin('POST', `targets/${target}:authorize-session`, {});
  assert.equal((await authorize()).status, 503);
  sealing.mock.restore();
  assert.deepEqual([...vault.leases], []);
  assert.ok(
    vault.requests.some(({ path }) => path === 'database/creds/app'),
    'was asked for',
  );
  assert.equal((await authorize()).status, 200);
  assert.equal(vault.leases.size, 1);
});

for (const [what, isElsewhere] of [
  ['with a token that is replaced meanwhile', false],
  ['of a server that the store leaves meanwhile', true],
] as const) {
  test(`what a session was given without a lease ${what} is had anew`, async (t) => {
    const broker = await startBroker(t);
    const { admin } = broker;
    const [vault, other] = [await startFakeVault(), await startFakeVault()];
    t.after(() => Promise.all([vault.stop(), other.stop()]));
    vault.tokens.set('next', { ...GOOD_TOKEN, accessor: 'next' });
    other.tokens.set('next', { ...GOOD_TOKEN, accessor: 'other' });
    const secret = (password: string) => ({ body: { data: { password } } });
    vault.answers.set('GET secret/kv', secret('before'));
    other.answers.set('GET secret/kv', secret('after'));
    const { store, target } = await makeVaultTarget(broker, vault, 'secret/kv');
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    let asked = 0;
    vault.pause = async ({ path }) => {
      if (path !== 'secret/kv') return;
      asked += 1;
      reached.resolve();
      await released.promise;
      // Read after this one was asked.
      if (asked > 1) vault.answers.set('GET secret/kv', secret('after'));
    };
    const making = admin('POST', `targets/${target}:authorize-session`, {});
    await reached.promise;
    const attributes = { token: 'next', ...(isElsewhere ? { address: other.url } : {}) };
    const changed = await admin('PATCH', `credential-stores/${store}`, { version: 1, attributes });
    assert.equal(changed.status, 200, changed.text);
    released.resolve();
    const made = await making;
    assert.equal(made.status, 200, made.text);
    assert.match(made.text, /"password":"after"/);
  });
}

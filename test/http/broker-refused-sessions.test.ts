// What a Vault server gave to a session that was refused is given back, also where that takes a while.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaseJobs } from '../../src/access/leases/jobs.ts';
import { runIfFree } from '../../src/jobs.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { startFakeVault } from '../support/vault.ts';

const held: [what: string, down: boolean, rows: number][] = [
  ['is given back at once, and leaves nothing', false, 0],
  ['of a server that does not answer is due, and given back when it does', true, 1],
];

for (const [what, down, rows] of held) {
  test(`the credential of a refused session ${what}`, async (t) => {
    const holder = new CommitHolder();
    const { admin, make, project, client } = await startBroker(t, { store: holder.over });
    const vault = await startFakeVault();
    t.after(() => vault.stop());
    const credential_store_id = await make('credential-stores', {
      scope_id: project,
      type: 'vault',
      attributes: { address: vault.url, token: 'good' },
    });
    const library = await make('credential-libraries', {
      credential_store_id,
      type: 'vault-generic',
      attributes: { path: 'database/creds/app' },
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
    const [job] = leaseJobs;
    assert.ok(job);
    await runIfFree(app, job);
    assert.equal(vault.leases.size, 0);
    assert.deepEqual(await app.db.selectFrom('lease').select('id').execute(), []);
  });
}

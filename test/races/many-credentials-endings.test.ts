// However many sessions have something of a source of credentials, no write set is larger for it, and
// when its removal is answered all of that has ended.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { insertLease } from '../../src/access/leases/store.ts';
import { PAGE } from '../../src/broker/resource/ending.ts';
import { insertInjected } from '../../src/broker/sessions/credentials/store.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { type Counts, countAll, rowsOf, SetSizes } from '../support/set-sizes.ts';

const COUNT = 3 * PAGE + 7;

type Part = 'store' | 'source';
const REMOVALS: [what: string, of: 'credential' | 'credential-library', part: Part][] = [
  ['library', 'credential-library', 'source'],
  ['store of libraries', 'credential-library', 'store'],
  ['credential', 'credential', 'source'],
  ['store of credentials', 'credential', 'store'],
];

eachPlace('the removal of a source of credentials', (newPlace) => {
  for (const [what, type, part] of REMOVALS) {
    test(`${what}: ends what many sessions have of it in small write sets, and nothing else`, async (t) => {
      const sizes = new SetSizes();
      const broker = await startBroker(t, { place: await newPlace(), store: sizes.watch });
      const { make, admin, project, client } = broker;
      const { store, db, now } = client.running.app;
      const isLibrary = type === 'credential-library';
      await client.call('POST', 'sys/mounts/pki', { type: 'pki' });
      const credential_store_id = await make('credential-stores', {
        scope_id: project,
        ...(isLibrary ? { type: 'authority', attributes: { mount: 'pki' } } : { type: 'static' }),
      });
      const fields = isLibrary
        ? { role: 'web', common_name: 'a.test' }
        : { username: 'u', password: 'p' };
      const kind = isLibrary ? {} : { type: 'username_password' };
      const made = await client.call('POST', isLibrary ? 'credential-libraries' : 'credentials', {
        credential_store_id,
        ...kind,
        attributes: fields,
      });
      assert.equal(made.status, 200, made.text);
      const source_id = made.textAt('id');

      const session_id = 's_1234567890';
      const expires_at = Math.floor(now() / 1000) + 3600;
      const secret_sealed = new Uint8Array([1]);
      const lease = { token_id: undefined, mount_id: '', kind: 'none', data: {}, renewable: false };
      for (const source of [source_id, 'other']) {
        const id = `broker/sessions/${session_id}/${source}/x`;
        const times = { issued_at: 1, expires_at, renewed_at: undefined };
        await store.commit([
          insertLease({ ...lease, ...times, id, source_id: source }),
          insertInjected({ session_id, source_id: source, expires_at, secret_sealed }),
        ]);
        const copies = COUNT;
        await copyRow(store, 'lease', { of: { id }, copies, changes: { id: numbered('id') } });
        const changes = { session_id: numbered('session_id') };
        await copyRow(store, 'session_credential', { of: { source_id: source }, copies, changes });
      }
      const counts: Counts = {
        leases: rowsOf('lease', sql`source_id = ${source_id} and expires_at >= ${expires_at}`),
        kept: rowsOf('session_credential', sql`source_id = ${source_id}`),
        others: rowsOf('session_credential', sql`source_id = 'other'`),
        other_leases: rowsOf('lease', sql`source_id = 'other' and expires_at >= ${expires_at}`),
      };
      sizes.begin(counts);
      const path = isLibrary ? 'credential-libraries' : 'credentials';
      const removed = await admin(
        'DELETE',
        part === 'store' ? `credential-stores/${credential_store_id}` : `${path}/${source_id}`,
      );
      assert.equal(removed.status, 204, removed.text);
      assert.deepEqual(await countAll(db, counts), {
        leases: 0,
        kept: 0,
        others: COUNT + 1,
        other_leases: COUNT + 1,
      });
      for (const each of ['leases', 'kept']) {
        const { most, sets } = sizes.of(each);
        assert.ok(most <= PAGE && sets > 3, `${each}: ${most} in one of ${sets}`);
      }
    });
  }

  test('of a store with many of them is made in pages, too', async (t) => {
    const sizes = new SetSizes();
    const broker = await startBroker(t, { place: await newPlace(), store: sizes.watch });
    const { make, admin, project, client } = broker;
    const { store, db } = client.running.app;
    const credential_store_id = await make('credential-stores', {
      scope_id: project,
      type: 'static',
    });
    const made = await client.call('POST', 'credentials', {
      credential_store_id,
      type: 'username_password',
      attributes: { username: 'u', password: 'p' },
    });
    const changes = { id: numbered('id'), name: sql`null`, unique_key: sql`null` };
    const of = { id: made.textAt('id') };
    await copyRow(store, 'resource', { of, copies: COUNT, changes });
    const counts = { credentials: rowsOf('resource', sql`type = 'credential'`) };
    sizes.begin(counts);
    const removed = await admin('DELETE', `credential-stores/${credential_store_id}`);
    assert.equal(removed.status, 204, removed.text);
    const left = sql`type = 'credential' and container_id = ${credential_store_id}`;
    assert.deepEqual(await countAll(db, { left: rowsOf('resource', left) }), { left: 0 });
    const { most, sets } = sizes.of('credentials');
    assert.ok(most <= PAGE && sets > 3, `${most} in one of ${sets}`);
  });
});

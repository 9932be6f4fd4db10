// However many leases, aliases or secret IDs end at once, no write set is larger for it, and when that
// is answered all of them have ended.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RawBuilder, sql } from 'kysely';
import { insertLease } from '../../src/access/leases/store.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { purgeRemovedMounts } from '../../src/system/mounts/purge.operations.ts';
import { insertRemovedMount } from '../../src/system/mounts/purge.store.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { type Client, startTestServer } from '../support/server.ts';
import { countAll, rowsOf, SetSizes } from '../support/set-sizes.ts';

/** More than three pages of each. */
const COUNT = 3_307;
const MOST = 1_000;
const LATER = 4_000_000_000;

interface Ending {
  /** What is counted. */
  left: RawBuilder<number>;
  /** Of others, which are left alone. */
  others: RawBuilder<number>;
  end(): Promise<number>;
}

const unexpired = (prefix: string): RawBuilder<number> =>
  rowsOf('lease', sql`expires_at = ${LATER} and id like ${`${prefix}%`}`);

async function makeLeases({ running }: Client, prefix: string, mount_id: string): Promise<void> {
  const { store } = running.app;
  const id = `${prefix}x`;
  const lease = { token_id: undefined, kind: 'none', data: {}, renewable: false };
  const times = { issued_at: 1, expires_at: LATER, renewed_at: undefined };
  await store.commit([insertLease({ ...lease, ...times, id, mount_id })]);
  const changes = { id: sql`id || '/' || (1000000 + n.i)` };
  await copyRow(store, 'lease', { of: { id }, copies: COUNT, changes });
}

async function post({ call }: Client, path: string, body: object = {}) {
  const reply = await call('POST', path, body);
  assert.ok(reply.status < 300, `${path}: ${reply.text}`);
  return reply;
}

async function leases(client: Client, end: () => Promise<number>): Promise<Ending> {
  const found = await client.running.app.db
    .selectFrom('mount')
    .select('id')
    .where('path', '=', 'pki/')
    .executeTakeFirstOrThrow();
  await makeLeases(client, 'pki/issue/', found.id);
  await makeLeases(client, 'pki2/issue/', 'another');
  return { left: unexpired('pki/'), others: unexpired('pki2/'), end };
}

async function aliases(client: Client): Promise<Ending & { accessor: string }> {
  const { store, db } = client.running.app;
  const counts: RawBuilder<number>[] = [];
  const accessors: string[] = [];
  for (const path of ['gone', 'kept']) {
    await post(client, `sys/auth/${path}`, { type: 'userpass' });
    const { accessor } = await db
      .selectFrom('mount')
      .select('accessor')
      .where('path', '=', `${path}/`)
      .executeTakeFirstOrThrow();
    accessors.push(accessor);
    const made = await post(client, 'identity/entity', { name: path });
    const id = made.textAt('data.id');
    const alias = { name: path, canonical_id: id, mount_accessor: accessor };
    await post(client, 'identity/entity-alias', alias);
    const names = { name: numbered('name'), name_key: numbered('name_key') };
    const copies = COUNT;
    const entity = { of: { id }, copies, changes: { id: numbered('id'), ...names } };
    await copyRow(store, 'identity_entity', entity);
    await copyRow(store, 'identity_alias', {
      of: { entity_id: id },
      copies,
      changes: { id: numbered('id'), entity_id: numbered('entity_id'), ...names },
    });
    counts.push(rowsOf('identity_alias', sql`mount_accessor = ${accessor}`));
  }
  const [left, others] = counts;
  const [accessor] = accessors;
  assert.ok(left && others && accessor);
  const end = async () => (await client.call('DELETE', 'sys/auth/gone')).status;
  return { left, others, accessor, end };
}

async function secretIds(client: Client): Promise<Ending> {
  const { store } = client.running.app;
  await post(client, 'sys/auth/approle', { type: 'approle' });
  for (const name of ['gone', 'kept']) {
    await post(client, `auth/approle/role/${name}`);
    const made = await post(client, `auth/approle/role/${name}/secret-id`);
    await copyRow(store, 'approle_secret_id', {
      of: { accessor: made.textAt('data.secret_id_accessor') },
      copies: COUNT,
      changes: { id: numbered('id'), accessor: numbered('accessor') },
    });
  }
  return {
    left: rowsOf('approle_secret_id', sql`role = 'gone'`),
    others: rowsOf('approle_secret_id', sql`role = 'kept'`),
    end: async () => (await client.call('DELETE', 'auth/approle/role/gone')).status,
  };
}

const ENDINGS: [what: string, make: (client: Client) => Promise<Ending>, status: number][] = [
  [
    'leases beneath a prefix',
    (client) =>
      leases(client, async () => {
        const path = 'sys/leases/revoke-prefix/pki/issue';
        return (await client.call('POST', path, { sync: false })).status;
      }),
    202,
  ],
  [
    'leases of a mount that moves',
    (client) =>
      leases(client, async () => {
        const body = { from: 'pki', to: 'moved' };
        return (await client.call('POST', 'sys/remount', body)).status;
      }),
    200,
  ],
  ['aliases of a way to log in that is removed', aliases, 204],
  ['secret IDs of a role that is removed', secretIds, 204],
];

eachPlace('many at once', (newPlace) => {
  for (const [what, make, status] of ENDINGS) {
    test(`${what}: end in small write sets, and no others`, async (t) => {
      const sizes = new SetSizes();
      const config = { storage: storageOf(await newPlace()) };
      const client = await startTestServer(t, { config, store: sizes.watch });
      await post(client, 'sys/mounts/pki', { type: 'pki' });
      const { left, others, end } = await make(client);
      const { db } = client.running.app;
      sizes.begin({ left });
      assert.equal(await end(), status);
      assert.deepEqual(await countAll(db, { left, others }), { left: 0, others: COUNT + 1 });
      const { most, sets } = sizes.of('left');
      assert.ok(most <= MOST && sets > 3, `${most} in one of ${sets}`);
    });
  }

  test('aliases that a removal has left, as when its server was killed, are deleted by a job', async (t) => {
    const config = { storage: storageOf(await newPlace()) };
    const client = await startTestServer(t, { config });
    const { accessor, left, others } = await aliases(client);
    const { store, db } = client.running.app;
    await store.commit([
      write(build.deleteFrom('mount').where('path', '=', 'gone/')),
      insertRemovedMount({ id: 'gone', accessor, removed_at: 1 }),
    ]);
    await purgeRemovedMounts(client.running.app, { commit: store.commit, stopping: false });
    assert.deepEqual(await countAll(db, { left, others }), { left: 0, others: COUNT + 1 });
  });
});

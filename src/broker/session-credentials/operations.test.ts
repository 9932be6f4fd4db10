import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { findLease, insertLease } from '../../access/leases/store.ts';
import type { App } from '../../app.ts';
import type { BrokerCaller } from '../caller.ts';
import { Authority } from '../grants/decision.ts';
import { insertLink } from '../links/store.ts';
import type { Resource } from '../resource.ts';
import { insertResource } from '../resources/store.ts';
import { insertSession, type NewSession } from '../sessions/store.ts';
import { sessionPrefix } from '../vault-leases/lease.ts';
import {
  endSessionCredentials,
  heldSecrets,
  planSourceRemoval,
  readInjectedCredentials,
  resolveCredentials,
} from './operations.ts';
import { deleteExpiredInjected } from './store.ts';

const base: Resource = {
  id: '',
  type: 'target',
  subtype: 'tcp',
  scope_id: 'p_1',
  container_id: 'p_1',
  owner_id: '',
  name: null,
  description: null,
  unique_key: null,
  version: 1,
  created_ms: 1,
  updated_ms: 1,
  body: {},
  secret_sealed: null,
};
const target: Resource = { ...base, id: 'ttcp_1' };

function credential(app: App, id: string, password: string): Resource {
  const place = { table: 'resource', column: 'secret_sealed', row: id };
  const bytes = Buffer.from(JSON.stringify({ password }));
  return {
    ...base,
    id,
    type: 'credential',
    subtype: 'username_password',
    container_id: 'csst_1',
    name: id,
    body: { username: 'u', domain: '', hmacs: {} },
    secret_sealed: app.barrier.seal('credential', place, bytes),
  };
}

const pendingSession = (id: string, now: number): NewSession => ({
  id,
  scope_id: base.scope_id,
  user_id: target.id,
  type: 'tcp',
  target,
  holder: { auth_token_id: '', token_id: '', alias_id: '', auth_mount_id: '' },
  host_set_id: '',
  host_id: '',
  endpoint: 'tcp://127.0.0.1:1',
  connection_limit: 1,
  created_ms: now * 1000,
  expires_ms: (now + 60) * 1000,
  worker_filter: '',
  certificate: new Uint8Array(1),
  private_key_sealed: new Uint8Array(1),
});

async function callerOf(app: App): Promise<BrokerCaller> {
  const who = { user_id: 'u_1', account_id: '', auth_method_id: '', auth_token_id: '' };
  const authority = new Authority('recovery', []);
  return { ...testCaller(await requireTestMount(app, 'sys/')), who: { ...who, authority } };
}

eachEngine('credentials of a session', (open) => {
  test('are refused while others with long ones have taken what all together may, and not for longer', async () => {
    const { app } = await openTestApp(await open());
    const caller = await callerOf(app);
    const ids = Array.from({ length: 16 }, (_, at) => `credup_${at}`);
    const links = ids.map((to_id) =>
      insertLink({ from_id: target.id, kind: 'target-brokered', to_id }),
    );
    const long = 'x'.repeat(65_000);
    await app.store.commit([
      insertResource(target),
      ...ids.map((id) => insertResource(credential(app, id, long))),
      ...links,
    ]);
    const session = { id: 's_1', expires_at: 2 ** 31 };
    const made = await Promise.allSettled(
      Array.from({ length: 50 }, () => resolveCredentials(app, caller, { target, session })),
    );
    const resolved = made.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const refused = made.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    assert.ok(resolved.length >= 4 && resolved.length <= 16, `${resolved.length} at once`);
    for (const reason of refused) assert.equal(reason.kind, 'rate_limited');
    assert.ok(heldSecrets(app) > 0);
    for (const one of resolved) one.release();
    assert.equal(heldSecrets(app), 0);
    const { credentials, release } = await resolveCredentials(app, caller, { target, session });
    assert.equal(credentials.length, ids.length);
    release();
  });

  test('are none for a target without any', async () => {
    const { app } = await openTestApp(await open());
    const session = { id: 's_1', expires_at: 2_000_000_000 };
    const caller = await callerOf(app);
    const { credentials, effects } = await resolveCredentials(app, caller, { target, session });
    assert.deepEqual([credentials, effects], [[], []]);
  });

  test('are shown when brokered, kept sealed when injected, and gone when it ends', async () => {
    const { app, clock } = await openTestApp(await open());
    await app.store.commit([
      ...[target, credential(app, 'credup_1', 'one'), credential(app, 'credup_2', 'two')].map(
        insertResource,
      ),
      insertLink({ from_id: target.id, kind: 'target-brokered', to_id: 'credup_1' }),
      insertLink({ from_id: target.id, kind: 'target-injected', to_id: 'credup_1' }),
      insertLink({ from_id: target.id, kind: 'target-injected', to_id: 'credup_2' }),
    ]);
    const session = { id: 's_1', expires_at: clock.now + 60 };
    const caller = await callerOf(app);
    const resolved = await resolveCredentials(app, caller, { target, session });
    assert.deepEqual(resolved.credentials, [
      {
        credential_source: {
          id: 'credup_1',
          name: 'credup_1',
          credential_store_id: 'csst_1',
          type: 'static',
          credential_type: 'username_password',
        },
        secret: {
          raw: Buffer.from('{"password":"one","username":"u"}').toString('base64'),
          decoded: { password: 'one', username: 'u' },
        },
        credential: { password: 'one', username: 'u' },
      },
    ]);
    await app.store.commit(resolved.effects);
    const other = { id: 's_2', expires_at: clock.now + 10 };
    const more = await resolveCredentials(app, caller, { target, session: other });
    await app.store.commit(more.effects);
    const passwords = async (id: string): Promise<unknown[]> =>
      (await readInjectedCredentials(app, id)).map((one) => one.credential?.password);
    assert.deepEqual(await passwords('s_1'), ['one', 'two']);
    await app.store.commit(endSessionCredentials('s_1', clock.now));
    assert.deepEqual(await passwords('s_1'), []);
    assert.deepEqual(await passwords('s_2'), ['one', 'two']);
    await app.store.commit([deleteExpiredInjected(['s_2'], clock.now + 9)]);
    assert.deepEqual(await passwords('s_2'), ['one', 'two']);
    await app.store.commit([deleteExpiredInjected(['s_2'], clock.now + 10)]);
    assert.deepEqual(await passwords('s_2'), []);
  });

  test('have leases that are due when it ends, and those of no other session', async () => {
    const { app, clock } = await openTestApp(await open());
    const ids = ['s_1', 's_10'].map((session) => `${sessionPrefix(session)}/clvlt_1/x`);
    await app.store.commit(
      ids.map((id) =>
        insertLease({
          id,
          token_id: undefined,
          mount_id: '',
          kind: 'broker-vault',
          data: {},
          issued_at: clock.now,
          expires_at: clock.now + 60,
          renewed_at: undefined,
          renewable: false,
        }),
      ),
    );
    await app.store.commit(endSessionCredentials('s_1', clock.now));
    const ends = await Promise.all(ids.map((id) => findLease(app.db, id)));
    assert.deepEqual(
      ends.map((lease) => lease?.expires_at),
      [clock.now, clock.now + 60],
    );
  });

  const removals = [
    ['one', ['credup_1'], 'credup_1'],
    ['all of its store', ['credup_1', 'credup_2'], 'csst_1'],
    ['none of another store', [], 'csst_2'],
  ] as const;
  for (const [name, gone, id] of removals) {
    test(`a removal takes what was injected for workers of live sessions: ${name}`, async () => {
      const { app, clock } = await openTestApp(await open());
      const ids = ['credup_1', 'credup_2'];
      await app.store.commit([
        ...[target, ...ids.map((one) => credential(app, one, one))].map(insertResource),
        ...ids.map((to_id) => insertLink({ from_id: target.id, kind: 'target-injected', to_id })),
        ...insertSession(pendingSession('s_1', clock.now)),
      ]);
      const session = { id: 's_1', expires_at: clock.now + 60 };
      const caller = await callerOf(app);
      const resolved = await resolveCredentials(app, caller, { target, session });
      await app.store.commit([...resolved.effects, ...planSourceRemoval(app, { removed_id: id })]);
      const left = await readInjectedCredentials(app, 's_1');
      assert.deepEqual(
        left.map(({ credential_source }) => credential_source.id),
        ids.filter((one) => !gone.some((taken) => taken === one)),
      );
    });
  }
});

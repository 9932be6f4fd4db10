import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../../test/support/app.ts';
import { eachEngine, sqlitePlace } from '../../../../test/support/engines.ts';
import { findLease, insertLease } from '../../../access/leases/store.ts';
import type { App } from '../../../app/app.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { GrantSet } from '../../resource/grants/decision.ts';
import { insertLink } from '../../resource/links/store.ts';
import type { Resource } from '../../resource/resource.ts';
import { insertResource } from '../../resource/store.ts';
import { deleteExpiredInjected } from '../../sessions/credentials/store.ts';
import {
  endSessionCredentials,
  planSourceRemoval,
} from '../../sessions/credentials/termination.operations.ts';
import { insertSession, type NewSession } from '../../sessions/new-session.store.ts';
import { sessionPrefix } from '../../vault/leases/lease.ts';
import { readInjectedCredentials } from './injected.operations.ts';
import { heldSecrets, resolveCredentials } from './operations.ts';

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
    secret_sealed: app.barrier.encrypt('credential', place, bytes),
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
  injects: false,
  certificate: new Uint8Array(1),
  private_key_sealed: new Uint8Array(1),
});

async function callerOf(app: App): Promise<BrokerCaller> {
  const who = { user_id: 'u_1', account_id: '', auth_method_id: '', auth_token_id: '' };
  const grants = new GrantSet('recovery', []);
  return { ...testCaller(await requireTestMount(app, 'sys/')), who: { ...who, grants } };
}

/** A target whose credentials are a MiB together. */
async function addLong(app: App): Promise<string[]> {
  const ids = Array.from({ length: 16 }, (_, at) => `credup_${at}`);
  const long = 'x'.repeat(65_000);
  await app.store.commit([
    insertResource(target),
    ...ids.map((id) => insertResource(credential(app, id, long))),
    ...ids.map((to_id) => insertLink({ from_id: target.id, kind: 'target-brokered', to_id })),
  ]);
  return ids;
}
const session = { id: 's_1', expires_at: 2 ** 31 };
const injection = { kind: 'unused' } as const;
const from = (caller: BrokerCaller, remote_address: string): BrokerCaller => ({
  ...caller,
  record: { ...caller.record, outcome: {}, remote_address },
});

eachEngine('credentials of a session', (open) => {
  test('that are long are given to all of a crowd, in turn, and meanwhile to others', async () => {
    const { app } = await openTestApp(await open());
    const caller = await callerOf(app);
    const ids = await addLong(app);
    let done = 0;
    let most = 0;
    const resolveOne = async (remote_address: string): Promise<number> => {
      const asked = resolveCredentials(app, from(caller, remote_address), {
        target,
        session,
        injection,
      });
      const { credentials, release } = await asked;
      most = Math.max(most, heldSecrets(app));
      await new Promise(setImmediate);
      release();
      done += 1;
      return credentials.length;
    };
    const crowd = Promise.all(Array.from({ length: 50 }, () => resolveOne('192.0.2.1')));
    assert.equal(await resolveOne('203.0.113.1'), ids.length);
    assert.ok(done < 10, `${done} before whoever comes from elsewhere`);
    assert.deepEqual(new Set(await crowd), new Set([ids.length]));
    assert.ok(most > 0 && most <= 32 << 20, `${most} bytes`);
    await new Promise(setImmediate);
    assert.equal(heldSecrets(app), 0);
  });

  test('are none for a target without any', async () => {
    const { app } = await openTestApp(await open());
    const caller = await callerOf(app);
    const { credentials, effects } = await resolveCredentials(app, caller, {
      target,
      session,
      injection,
    });
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
    const resolved = await resolveCredentials(app, caller, { target, session, injection });
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
    const more = await resolveCredentials(app, caller, { target, session: other, injection });
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
      const resolved = await resolveCredentials(app, caller, { target, session, injection });
      await app.store.commit([...resolved.effects, ...planSourceRemoval(app, { removed_id: id })]);
      const left = await readInjectedCredentials(app, 's_1');
      assert.deepEqual(
        left.map(({ credential_source }) => credential_source.id),
        ids.filter((one) => !gone.some((taken) => taken === one)),
      );
    });
  }
});

// A driver of PostgreSQL has timers of its own.
test('credentials that are long are refused once the wait is over, and not before', async (t) => {
  const place = sqlitePlace();
  t.after(() => place.remove());
  const { app } = await openTestApp(await place.open());
  const caller = await callerOf(app);
  const ids = await addLong(app);
  const resolveOne = (remote_address: string) =>
    resolveCredentials(app, from(caller, remote_address), { target, session, injection });
  const first = await resolveOne('192.0.2.1');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const waits = Promise.allSettled([resolveOne('192.0.2.1'), resolveOne('192.0.2.1')]);
  let ended = false;
  void waits.then(() => {
    ended = true;
  });
  t.mock.timers.tick(0);
  for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
  t.mock.timers.tick(19_000);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  assert.equal(ended, false);
  t.mock.timers.tick(1_001);
  for (const one of await waits) {
    assert.ok(one.status === 'rejected');
    assert.equal(one.reason.kind, 'rate_limited');
  }
  assert.ok(heldSecrets(app) <= 32 << 20);
  first.release();
  await new Promise(setImmediate);
  assert.equal(heldSecrets(app), 0);
  const again = await resolveOne('192.0.2.1');
  assert.equal(again.credentials.length, ids.length);
  again.release();
});

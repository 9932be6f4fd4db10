// What stands on something that is gone, as an older program could leave it, is found and ended.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { tokenId } from '../../src/access/tokens/minting.operations.ts';
import { planDeadLogIns, planStrayTokens } from '../../src/broker/iam/auth-tokens/operations.ts';
import { listTokenRows } from '../../src/broker/principals/log-ins.store.ts';
import { planOrphanCancellation } from '../../src/broker/sessions/termination.operations.ts';
import { build } from '../../src/store/database.ts';
import { type Effect, write } from '../../src/store/write.ts';
import { endStrays } from '../../src/system/mounts/purge.operations.ts';
import { startBroker, tokenIdOf } from '../support/seeded-broker.ts';

const broker = await startBroker({ after }, { jobs: [] });
const { client, admin } = broker;
const { app } = client.running;

/** Takes a row away behind everybody's back. */
const lose = (table: 'resource' | 'mount', id: string): Promise<void> =>
  app.store.commit([write(build.deleteFrom(table).where('id', '=', id), { rows: 1 })]);

const isAlive = async (token: string): Promise<boolean> =>
  (await client.call('GET', 'auth/token/lookup-self', undefined, { token })).status === 200;

test('a token whose log-in is not there is refused, and ends, and no other', async () => {
  const [gone, stays] = [await broker.person([]), await broker.person([])];
  await lose('resource', tokenIdOf(gone.token));
  assert.ok(!(await isAlive(gone.token)));
  const page = await planStrayTokens(app, '');
  const id = tokenId(app, gone.token);
  assert.deepEqual(page.stray, [id]);
  assert.equal((await listTokenRows(app.db, [id])).size, 1);
  await app.store.commit(page.effects);
  assert.equal((await listTokenRows(app.db, [id])).size, 0);
  assert.ok(await isAlive(stays.token));
  assert.ok(await isAlive('root'));
});

test('a log-in whose user, or whose account, is not there ends, and no other', async () => {
  const [user, account, stays] = [
    await broker.person([]),
    await broker.person([]),
    await broker.person([]),
  ];
  await lose('resource', user.user_id);
  await lose('resource', account.account_id);
  const page = await planDeadLogIns(app, { ms: 0, id: '' });
  assert.deepEqual(
    page.dead.toSorted(),
    [user, account].map(({ token }) => tokenIdOf(token)).toSorted(),
  );
  await app.store.commit(page.effects);
  assert.deepEqual(
    [await isAlive(user.token), await isAlive(account.token), await isAlive(stays.token)],
    [false, false, true],
  );
});

test('a session whose target, or whose log-in, is not there is canceled, and no other', async () => {
  const grants = ['ids=*;type=target;actions=authorize-session'];
  const targets: string[] = [];
  for (const name of ['lost', 'kept']) {
    const fields = { type: 'tcp', name, address: '10.0.0.5', attributes: { default_port: 22 } };
    targets.push(await broker.make('targets', { scope_id: broker.project, ...fields }));
  }
  const [lost = '', kept = ''] = targets;
  const [one, two] = [await broker.person(grants), await broker.person(grants)];
  const sessionOf = async ({ call }: typeof one, target: string): Promise<string> => {
    const made = await call('POST', `targets/${target}:authorize-session`, {});
    assert.equal(made.status, 200, made.text);
    return made.textAt('session_id');
  };
  const ids = [await sessionOf(one, lost), await sessionOf(one, kept), await sessionOf(two, kept)];
  await lose('resource', lost);
  await lose('resource', tokenIdOf(two.token));
  const page = await planOrphanCancellation(app);
  assert.deepEqual(page.ended.toSorted(), [ids[0], ids[2]].toSorted());
  await app.store.commit(page.effects);
  const statuses = await Promise.all(
    ids.map(async (id) => (await admin('GET', `sessions/${id}`)).field('status')),
  );
  assert.deepEqual(statuses, ['canceling', 'pending', 'canceling']);
  assert.deepEqual((await planOrphanCancellation(app)).ended, []);
});

test('tokens and leases whose mount is not there end, and no others', async () => {
  const logIns: string[] = [];
  for (const path of ['lost', 'kept']) {
    await client.call('POST', `sys/auth/${path}`, { type: 'userpass' });
    await client.call('POST', `auth/${path}/users/ann`, { password: 'correct horse' });
    const made = await client.call('POST', `auth/${path}/login/ann`, { password: 'correct horse' });
    logIns.push(made.textAt('auth.client_token'));
  }
  const lost = await app.db
    .selectFrom('mount')
    .select('id')
    .where('path', '=', 'lost/')
    .executeTakeFirstOrThrow();
  await lose('mount', lost.id);
  const work = {
    stopping: false,
    commits: 0,
    async commit(effects: Effect[]) {
      work.commits += 1;
      await app.store.commit(effects);
    },
  };
  await endStrays(app, work);
  assert.equal(work.commits, 1);
  const rows = await app.db
    .selectFrom('token')
    .select('id')
    .where('mount_id', '=', lost.id)
    .execute();
  assert.deepEqual(rows, []);
  assert.ok(await isAlive(logIns[1] ?? ''));
});

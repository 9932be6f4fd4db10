import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { deleteTree } from '../../src/access/tokens/ending.store.ts';
import { tokenId } from '../../src/access/tokens/minting.operations.ts';
import { endLogIns, planDeadLogIns } from '../../src/broker/iam/auth-tokens/operations.ts';
import { removeResources } from '../../src/broker/resource/removals.store.ts';
import { AUTH_METHOD, type Person, startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const audit = { wait_for_reads: true, record_public_reads: false, retention_days: 0, sinks: [] };
const broker = await startBroker({ after }, { config: { audit }, jobs: [] });
const { admin, nobody, client, make } = broker;

const attempt = (login_name: string): Promise<Reply> =>
  nobody('POST', `auth-methods/${AUTH_METHOD}:authenticate`, {
    attributes: { login_name, password: 'password' },
  });

test('a token of the other API is not somebody because it says so', async () => {
  const policy = 'path "auth/token/create" { capabilities = ["update"] }';
  await client.call('PUT', 'sys/policies/acl/makes-tokens', { policy });
  const plain = await client.call('POST', 'auth/token/create', { policies: ['makes-tokens'] });
  const { token: theirs } = await broker.person([]);
  for (const meta of [
    { auth_token_id: tokenIdOf(broker.admin_token) },
    { auth_token_id: tokenIdOf(theirs), path: `auth-methods/${AUTH_METHOD}:authenticate` },
  ]) {
    const child = await client.call(
      'POST',
      'auth/token/create',
      { meta },
      {
        token: plain.textAt('auth.client_token'),
      },
    );
    const token = child.textAt('auth.client_token');
    assert.equal(
      (await client.call('GET', 'auth/token/lookup-self', undefined, { token })).status,
      200,
    );
    const call = broker.as(token);
    assert.equal((await call('GET', 'users?scope_id=global')).status, 401);
    assert.equal((await call('GET', `auth-tokens/${meta.auth_token_id}`)).status, 401);
    assert.equal((await call('DELETE', `auth-tokens/${meta.auth_token_id}`)).status, 401);
  }
});

const ends: [name: string, end: (person: Person) => Promise<Reply>][] = [
  ['its account is deleted', ({ account_id }) => admin('DELETE', `accounts/${account_id}`)],
  ['its user is deleted', ({ user_id }) => admin('DELETE', `users/${user_id}`)],
  [
    'its account is taken from the user',
    async ({ user_id, account_id }) => {
      const version = (await admin('GET', `users/${user_id}`)).field('version');
      const body = { version, account_ids: [account_id] };
      return admin('POST', `users/${user_id}:remove-accounts`, body);
    },
  ],
];
for (const [name, end] of ends) {
  test(`a log-in is nobody's who it was when, before it is done, ${name}`, async () => {
    const person = await broker.person([]);
    const late = [attempt(person.login_name), attempt(person.login_name)];
    const done = await end(person);
    assert.ok(done.status < 300, done.text);
    for (const reply of await Promise.all(late)) {
      if (reply.status !== 200) continue;
      // Where there still is an account, whoever owns it may be somebody new, or it came before.
      const token = reply.textAt('attributes.token');
      const own = await broker.as(token)('GET', `auth-tokens/${tokenIdOf(token)}`);
      assert.notEqual(own.field('user_id'), person.user_id);
      if (name.startsWith('its account is deleted')) assert.equal(own.status, 401);
    }
  });
}

test('a log-in between what an end of its account finds and what it does ends with it', async () => {
  const person = await broker.person([]);
  const { app } = client.running;
  const found = await endLogIns(app, { account_ids: [person.account_id] });
  const token = (await attempt(person.login_name)).textAt('attributes.token');
  await app.store.commit([...found, ...removeResources({ id: person.account_id }, app.now())]);
  const self = await client.call('GET', 'auth/token/lookup-self', undefined, { token });
  assert.equal(self.status, 403);
  assert.equal((await broker.as(token)('GET', `auth-tokens/${tokenIdOf(token)}`)).status, 404);
});

const entityOf = async (token: string): Promise<string> =>
  (await client.call('GET', 'auth/token/lookup-self', undefined, { token })).textAt(
    'data.entity_id',
  );

test('an account that is given to another user makes nobody who had it before', async () => {
  const before = await broker.person([]);
  const account_ids = [before.account_id];
  const version = (await admin('GET', `users/${before.user_id}`)).field('version');
  const path = `users/${before.user_id}:remove-accounts`;
  assert.equal((await admin('POST', path, { version, account_ids })).status, 200);
  const user_id = await make('users', { scope_id: 'global' });
  const given = await admin('POST', `users/${user_id}:set-accounts`, { version: 1, account_ids });
  assert.equal(given.status, 200);
  const entity = await entityOf(await broker.logIn(before.login_name));
  assert.notEqual(entity, '');
  assert.equal(
    (await client.call('GET', `identity/entity/id/${entity}`)).textAt('data.aliases.0.name'),
    user_id,
  );
});

test('without an entity a user gets another, with a disabled one no log-in', async () => {
  const { token, login_name, user_id } = await broker.person([]);
  const entity = `identity/entity/id/${await entityOf(token)}`;
  await client.call('POST', entity, { disabled: true });
  assert.equal((await attempt(login_name)).status, 401);
  assert.equal((await client.call('DELETE', entity)).status, 204);
  const again = await attempt(login_name);
  assert.equal(again.textAt('attributes.user_id'), user_id);
  assert.notEqual(await entityOf(again.textAt('attributes.token')), '');
});

test('who gets a login name that somebody had before is not who had it', async () => {
  const before = await broker.person([]);
  const entity = await entityOf(before.token);
  assert.equal((await admin('DELETE', `accounts/${before.account_id}`)).status, 204);
  const attributes = { login_name: before.login_name, password: 'password' };
  await make('accounts', { auth_method_id: AUTH_METHOD, attributes });
  const logIn = await attempt(before.login_name);
  assert.equal(logIn.status, 200, logIn.text);
  assert.notEqual(logIn.textAt('attributes.user_id'), before.user_id);
  assert.notEqual(await entityOf(logIn.textAt('attributes.token')), entity);
});

test('a log-in whose token alone was ended goes from the lists, and its sessions end', async () => {
  const grants = ['ids=*;type=target;actions=authorize-session'];
  const [gone, stays] = [await broker.person(grants), await broker.person(grants)];
  const sessionOf = async ({ call }: Person): Promise<string> => {
    const made = await call('POST', 'targets/ttcp_1234567890:authorize-session', {});
    assert.equal(made.status, 200, made.text);
    return made.textAt('session_id');
  };
  const sessions = [await sessionOf(gone), await sessionOf(stays)];
  const { token } = gone;
  const { app } = client.running;
  // As a program did that knew nothing of log-ins.
  await app.store.commit([deleteTree(tokenId(app, token))]);
  const page = await planDeadLogIns(app, { ms: 0, id: '' });
  assert.ok(page.dead.includes(tokenIdOf(token)));
  assert.ok(!page.dead.includes(tokenIdOf(stays.token)));
  assert.ok(!page.dead.includes(tokenIdOf(broker.admin_token)));
  await app.store.commit(page.effects);
  assert.equal((await admin('GET', `auth-tokens/${tokenIdOf(token)}`)).status, 404);
  const statuses = await Promise.all(
    sessions.map(async (id) => (await admin('GET', `sessions/${id}`)).field('status')),
  );
  assert.deepEqual(statuses, ['canceling', 'pending']);
  assert.deepEqual((await planDeadLogIns(app, { ms: 0, id: '' })).dead, []);
});

test('of several cancellations with one version, one is done', async () => {
  const made = await admin('POST', 'targets/ttcp_1234567890:authorize-session', {});
  const path = `sessions/${made.textAt('session_id')}:cancel`;
  const replies = await Promise.all(
    Array.from({ length: 32 }, () => admin('POST', path, { version: 1 })),
  );
  assert.equal(replies.filter(({ status }) => status === 200).length, 1);
  assert.equal(replies.filter(({ status }) => status === 404).length, 31);
});

test('a whole token in a path is not in the record', async () => {
  const { token } = await broker.person([]);
  for (const path of [`auth-tokens/${token}`, `auth-tokens/${token}:read`, `targets/${token}`]) {
    await broker.as(token)('DELETE', path);
  }
  const rows = await client.running.app.db.selectFrom('audit_entry').select('record').execute();
  const records = rows.map(({ record }) => Buffer.from(record).toString('utf8'));
  assert.ok(
    records.some((record) => record.includes(`auth-tokens/${tokenIdOf(token)}_hmac-sha256:`)),
  );
  assert.ok(!records.some((record) => record.includes(token)));
});

test('a name that the database could not keep is refused by its field', async () => {
  const name = 'n'.repeat(513);
  const long = await admin('POST', 'groups', { scope_id: 'global', name });
  assert.equal(long.status, 400);
  const attributes = { login_name: name };
  const account = await admin('POST', 'accounts', { auth_method_id: AUTH_METHOD, attributes });
  assert.equal(account.status, 400);
  assert.match(account.text, /attributes\.login_name/);
});

const revocations: [name: string, revoke: (token: string, accessor: string) => Promise<Reply>][] = [
  ['by itself', (token) => client.call('POST', 'auth/token/revoke-self', undefined, { token })],
  ['by its text', (token) => client.call('POST', 'auth/token/revoke', { token })],
  [
    'by its accessor',
    (_token, accessor) => client.call('POST', 'auth/token/revoke-accessor', { accessor }),
  ],
  ['without its children', (token) => client.call('POST', 'auth/token/revoke-orphan', { token })],
];
for (const [name, revoke] of revocations) {
  test(`a log-in whose token is revoked ${name} is gone with its sessions at once`, async () => {
    const grants = ['ids=*;type=target;actions=authorize-session'];
    const [gone, stays] = [await broker.person(grants), await broker.person(grants)];
    const sessionOf = async ({ call }: Person): Promise<string> =>
      (await call('POST', 'targets/ttcp_1234567890:authorize-session', {})).textAt('session_id');
    const sessions = [await sessionOf(gone), await sessionOf(stays)];
    const { token } = gone;
    const self = await client.call('GET', 'auth/token/lookup-self', undefined, { token });
    const revoked = await revoke(token, self.textAt('data.accessor'));
    assert.equal(revoked.status, 204, revoked.text);
    assert.equal((await admin('GET', `auth-tokens/${tokenIdOf(token)}`)).status, 404);
    assert.equal((await admin('GET', `auth-tokens/${tokenIdOf(stays.token)}`)).status, 200);
    const statuses = await Promise.all(
      sessions.map(async (id) => (await admin('GET', `sessions/${id}`)).textAt('status')),
    );
    assert.notEqual(statuses[0], 'pending');
    assert.equal(statuses[1], 'pending');
  });
}

let others = 0;

/** The administrator, by an account of their own for one test. */
async function otherLogIn(): Promise<{ user: string; account: string; token: string }> {
  const user = (await admin('GET', `auth-tokens/${tokenIdOf(broker.admin_token)}`)).textAt(
    'user_id',
  );
  const attributes = { login_name: `other-${++others}`, password: 'password' };
  const account = await make('accounts', { auth_method_id: AUTH_METHOD, attributes });
  const version = (await admin('GET', `users/${user}`)).field('version');
  const given = { version, account_ids: [account] };
  assert.equal((await admin('POST', `users/${user}:add-accounts`, given)).status, 200);
  return { user, account, token: await broker.logIn(attributes.login_name) };
}

type OtherLogIn = Awaited<ReturnType<typeof otherLogIn>>;
const removals: [name: string, remove: (made: OtherLogIn) => Promise<Reply>][] = [
  ['itself', ({ token }) => admin('DELETE', `auth-tokens/${tokenIdOf(token)}`)],
  ['its account', ({ account }) => admin('DELETE', `accounts/${account}`)],
  [
    'the link of its account',
    async ({ user, account }) => {
      const version = (await admin('GET', `users/${user}`)).field('version');
      const body = { version, account_ids: [account] };
      return admin('POST', `users/${user}:remove-accounts`, body);
    },
  ],
];

for (const [name, remove] of removals) {
  test(`a session by a token that was made from a log-in ends when the removal is answered: ${name}`, async () => {
    const [gone, stays] = [await otherLogIn(), await otherLogIn()];
    const sessionBelow = async ({ token }: OtherLogIn): Promise<string> => {
      const made = await client.call('POST', 'auth/token/create', { ttl: '60m' }, { token });
      const call = broker.as(made.textAt('auth.client_token'));
      const session = await call('POST', 'targets/ttcp_1234567890:authorize-session', {});
      assert.equal(session.status, 200, session.text);
      return session.textAt('session_id');
    };
    const sessions = [await sessionBelow(gone), await sessionBelow(stays)];
    const removed = await remove(gone);
    assert.ok(removed.status < 300, removed.text);
    const rows = await client.running.app.db
      .selectFrom('session')
      .select(['id', 'status'])
      .where('id', 'in', sessions)
      .execute();
    const statuses = new Map(rows.map(({ id, status }) => [id, status]));
    const left = sessions.map((id) => statuses.get(id) ?? 'gone');
    assert.deepEqual(left, ['canceling', 'pending']);
  });
}

// How much is read for a log-in that fails, which tells by its time what it depends on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { ReadCounter } from '../support/counted-reads.ts';
import { hashOfOld } from '../support/old-hashes.ts';
import { AUTH_METHOD, type Broker, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const PASSWORD = 'a password';

/** A kind of name, and how one that is of that kind logs in with a password. */
type Kind = [what: string, logIn: (password: string) => Promise<Reply>];

/** The first of them reads what is kept afterwards; one more than these would lock the name. */
const ATTEMPTS = 3;

async function leastRead(counter: ReadCounter, [what, logIn]: Kind): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < ATTEMPTS; at += 1) {
    const { status } = await logIn('a wrong one');
    assert.ok(status === 400 || status === 401, `${what}: ${status}`);
    least = Math.min(least, counter.last.count);
  }
  return least;
}

async function disable({ client }: Broker, token: string): Promise<void> {
  const self = await client.call('GET', 'auth/token/lookup-self', undefined, { token });
  const entity = `identity/entity/id/${self.textAt('data.entity_id')}`;
  assert.equal((await client.call('POST', entity, { disabled: true })).status, 204);
}

async function brokerKinds(broker: Broker): Promise<Kind[]> {
  const { make, nobody } = broker;
  const second = await make('auth-methods', { scope_id: 'global', type: 'password' });
  const logIn =
    (login_name: string, method = AUTH_METHOD) =>
    (password: string) =>
      nobody('POST', `auth-methods/${method}:authenticate`, {
        attributes: { login_name, password },
      });
  const account = (login_name: string, auth_method_id = AUTH_METHOD) =>
    make('accounts', { auth_method_id, attributes: { login_name, password: PASSWORD } });
  for (const name of ['new', 'known', 'off']) await account(name);
  await account('second', second);
  await logIn('known')(PASSWORD);
  await disable(broker, (await logIn('off')(PASSWORD)).textAt('attributes.token'));
  return [
    ['nobody', logIn('nobody')],
    ['an account that is no user yet', logIn('new')],
    ['an account of a user', logIn('known')],
    ['one whose entity is disabled', logIn('off')],
    ['an account that is no user, of a method that is not primary', logIn('second', second)],
  ];
}

async function userKinds(broker: Broker, store: Store): Promise<Kind[]> {
  const { call } = broker.client;
  const logIn = (name: string) => (password: string) =>
    call('POST', `auth/people/login/${name}`, { password }, { token: '' });
  await call('POST', 'sys/auth/people', { type: 'userpass' });
  for (const name of ['new', 'known', 'off', 'old']) {
    await call('POST', `auth/people/users/${name}`, { password: PASSWORD });
  }
  await logIn('known')(PASSWORD);
  await disable(broker, (await logIn('off')(PASSWORD)).textAt('auth.client_token'));
  const sql = "update userpass_user set password_hash = $1 where name = 'old'";
  await store.commit([{ sql, parameters: [hashOfOld(PASSWORD)], rows: 1 }]);
  return [
    ['nobody', logIn('nobody')],
    ['a user who never logged in', logIn('new')],
    ['a user', logIn('known')],
    ['a user whose hash is of old', logIn('old')],
    ['one whose entity is disabled', logIn('off')],
  ];
}

for (const [api, kindsOf] of [
  ['the broker', brokerKinds],
  ['userpass', userKinds],
] as const) {
  test(`as much is read for a failed log-in whether the name is somebody's or not: ${api}`, async (t) => {
    using counter = new ReadCounter();
    let store: Store | undefined;
    const broker = await startBroker(t, {
      store(real) {
        store = real;
        return counter.over(real);
      },
    });
    const read: Record<string, number> = {};
    const kinds = await kindsOf(broker, store ?? assert.fail('the server has a store'));
    for (const kind of kinds) read[kind[0]] = await leastRead(counter, kind);
    assert.ok((read.nobody ?? 0) > 2, 'what is read is counted');
    assert.equal(new Set(Object.values(read)).size, 1, JSON.stringify(read));
  });
}

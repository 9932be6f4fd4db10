// What a log-in to the broker answers that is refused although the password is right.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { AUTH_METHOD, type Broker, ORG, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const RIGHT = 'a password';
/** Of the configuration, unless it says otherwise. */
const THRESHOLD = 5;

interface Account {
  method: string;
  login_name: string;
}

const logIn = ({ nobody }: Broker, { method, login_name }: Account, password = RIGHT) =>
  nobody('POST', `auth-methods/${method}:authenticate`, { attributes: { login_name, password } });

const newAccount = async ({ make }: Broker, { method, login_name }: Account): Promise<string> =>
  make('accounts', { auth_method_id: method, attributes: { login_name, password: RIGHT } });

const cases: [who: string, prepare: (broker: Broker) => Promise<Account>][] = [
  ...['global', ORG].map((scope_id): (typeof cases)[number] => [
    `who is no user yet, by a method of ${scope_id} that is not the primary one`,
    async (broker) => {
      const method = await broker.make('auth-methods', { scope_id, type: 'password' });
      const account = { method, login_name: 'carol' };
      await newAccount(broker, account);
      return account;
    },
  ]),
  [
    'whose entity is disabled',
    async (broker) => {
      const account = { method: AUTH_METHOD, login_name: 'erin' };
      await newAccount(broker, account);
      const token = (await logIn(broker, account)).textAt('attributes.token');
      const { call } = broker.client;
      const self = await call('GET', 'auth/token/lookup-self', undefined, { token });
      const entity = `identity/entity/id/${self.textAt('data.entity_id')}`;
      assert.equal((await call('POST', entity, { disabled: true })).status, 204);
      return account;
    },
  ],
];

for (const [who, prepare] of cases) {
  test(`${who}: nothing tells that the password is right, and it counts as a wrong one`, async (t) => {
    const broker = await startBroker(t);
    const account = await prepare(broker);
    const answers: Reply[] = [await logIn(broker, account, 'a wrong one')];
    for (let at = 1; at < THRESHOLD; at += 1) answers.push(await logIn(broker, account));
    for (const { status, text } of answers) {
      assert.equal(status, 401);
      assert.equal(text, answers[0]?.text);
    }
    const locked = await broker.client.call('GET', 'sys/locked-users');
    assert.match(locked.text, new RegExp(`"${account.login_name}"`), locked.text);
  });
}

eachPlace('a login name that is taken away during the log-in', (newPlace) => {
  test('lets nobody in any more', async (t) => {
    const holder = new CommitHolder();
    const broker = await startBroker(t, { place: await newPlace(), store: holder.over });
    const account = { method: AUTH_METHOD, login_name: 'frank' };
    const path = `accounts/${await newAccount(broker, account)}`;
    assert.equal((await logIn(broker, account)).status, 200);
    const version = (await broker.admin('GET', path)).field('version');
    const held = holder.hold(`auth-methods/${AUTH_METHOD}:authenticate`);
    const late = logIn(broker, account);
    await held.reached;
    const body = { version, attributes: { login_name: 'francis' } };
    const renamed = await broker.admin('PATCH', path, body).finally(held.letGo);
    assert.equal(renamed.status, 200, renamed.text);
    assert.equal((await late).status, 401);
    assert.equal((await logIn(broker, { ...account, login_name: 'francis' })).status, 200);
  });
});

// What ends with a removal on the broker's side, and what is being made at that moment.

import assert from 'node:assert/strict';
import {
  aliasPath,
  logIn,
  logInPath,
  make,
  newPerson,
  outliveMethod,
  type Person,
  versionOf,
} from '../support/broker-places.ts';
import { type Bench, must, type RaceCase, raceAll } from '../support/racing.ts';
import { tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

/** A log-in that is of no use any more, on either API. */
async function refuseLogIn({ remover }: Bench, made: Reply): Promise<void> {
  const token = made.textAt('attributes.token');
  const self = await remover.call('GET', 'auth/token/lookup-self', undefined, { token });
  assert.equal(self.status, 403, self.text);
  const read = await remover.call('GET', `auth-tokens/${tokenIdOf(token)}`);
  assert.equal(read.status, 404, read.text);
}

type End = [
  name: string,
  refused: readonly number[],
  remove: (bench: Bench, person: Person) => Promise<Reply>,
];

const ends: End[] = [
  ['its scope', [404], ({ remover }, { org }) => remover.call('DELETE', `scopes/${org}`)],
  [
    'its auth method',
    [404],
    ({ remover }, { method }) => remover.call('DELETE', `auth-methods/${method}`),
  ],
  [
    'its account',
    [401],
    ({ remover }, { account }) => remover.call('DELETE', `accounts/${account}`),
  ],
  ['its user', [401, 404], ({ remover }, { user }) => remover.call('DELETE', `users/${user}`)],
  [
    'the link of account and user',
    [401, 404],
    async (bench, { user, account }) => {
      const version = await versionOf(bench, `users/${user}`);
      const body = { version, account_ids: [account] };
      return bench.remover.call('POST', `users/${user}:remove-accounts`, body);
    },
  ],
  [
    'the links of the user',
    [401, 404],
    async (bench, { user }) => {
      const version = await versionOf(bench, `users/${user}`);
      return bench.remover.call('POST', `users/${user}:set-accounts`, { version, account_ids: [] });
    },
  ],
];

const logIns: RaceCase[] = ends.flatMap(([name, refused, remove]) =>
  [false, true].map((again) => ({
    name: `a ${again ? 'second' : 'first'} log-in and ${name}`,
    refused,
    async setUp(bench: Bench) {
      const person = await newPerson(bench);
      if (again) await must(logIn(bench, person));
      return {
        path: logInPath(person),
        make: () => logIn(bench, person),
        remove: () => remove(bench, person),
        ended: (made: Reply) => refuseLogIn(bench, made),
      };
    },
  })),
);

const changed: RaceCase = {
  name: 'a log-in and its password',
  refused: [401],
  async setUp(bench) {
    const person = await newPerson(bench);
    await must(logIn(bench, person));
    return {
      path: logInPath(person),
      make: () => logIn(bench, person),
      async remove() {
        const path = `accounts/${person.account}`;
        const version = await versionOf(bench, path);
        return bench.remover.call('POST', `${path}:set-password`, {
          version,
          password: 'battery staple',
        });
      },
    };
  },
};

const entityOf = async ({ remover }: Bench, made: Reply): Promise<string> => {
  const token = made.textAt('attributes.token');
  const self = await remover.call('GET', 'auth/token/lookup-self', undefined, { token });
  assert.ok(self.status === 200 || self.status === 403, self.text);
  return self.textAt('data.entity_id');
};

type AliasEnd = [name: string, end: (bench: Bench, path: string) => Promise<Reply>];

const aliasEnds: readonly AliasEnd[] = [
  ['removed', ({ remover }, path) => remover.call('DELETE', path)],
  [
    'which becomes that of a mount',
    async (bench, path) => {
      const mount = `up${bench.next()}`;
      const { call } = bench.remover;
      await must(call('POST', `sys/auth/${mount}`, { type: 'userpass' }));
      const mount_accessor = (await must(call('GET', `sys/auth/${mount}`))).textAt('data.accessor');
      return call('POST', path, { mount_accessor });
    },
  ],
];

const aliases: RaceCase[] = aliasEnds.flatMap(([name, end]) =>
  [false, true].map((outlived) => ({
    name: `a log-in and the alias by which its user is an entity, ${name}${outlived ? ', of an auth method that is gone' : ''}`,
    refused: [401],
    // Whoever comes in then is another entity.
    judge: (made: Reply) => assert.equal(made.status, 200, made.text),
    async setUp(bench: Bench) {
      const first = await newPerson(bench);
      const entity = await entityOf(bench, await must(logIn(bench, first)));
      assert.notEqual(entity, '');
      const person = outlived ? await outliveMethod(bench, first) : first;
      const before = await must(logIn(bench, person));
      assert.equal(await entityOf(bench, before), entity, 'the same person by either');
      const path = await aliasPath(bench, entity, person);
      return {
        path: logInPath(person),
        make: () => logIn(bench, person),
        async remove() {
          const removed = await end(bench, path);
          await refuseLogIn(bench, before);
          const later = await must(logIn({ ...bench, maker: bench.remover }, person));
          assert.notEqual(await entityOf(bench, later), entity);
          return removed;
        },
        async ended(made: Reply) {
          assert.notEqual(await entityOf(bench, made), entity);
        },
      };
    },
  })),
);

/** Somebody whose account stands for nobody yet, but whose auth method is the primary one. */
async function newcomer(bench: Bench): Promise<Person> {
  const person = await newPerson(bench);
  const { org, method, user } = person;
  const login_name = `newcomer-${bench.next()}`;
  const attributes = { login_name, password: 'correct horse' };
  const account = await make(bench, 'accounts', { auth_method_id: method, attributes });
  const primary = { version: 1, primary_auth_method_id: method };
  await must(bench.maker.call('PATCH', `scopes/${org}`, primary));
  return { org, method, user, account, login_name };
}

const newcomers: RaceCase[] = [
  {
    name: 'a log-in that makes its user and the primary method of the scope',
    refused: [401],
    async setUp(bench) {
      const person = await newcomer(bench);
      const path = `scopes/${person.org}`;
      const none = { version: 2, primary_auth_method_id: null };
      return {
        path: logInPath(person),
        make: () => logIn(bench, person),
        remove: () => bench.remover.call('PATCH', path, none),
        async left() {
          const users = await must(bench.remover.call('GET', `users?scope_id=${person.org}`));
          assert.equal((users.field('items') as unknown[]).length, 1, users.text);
        },
      };
    },
  },
];

raceAll('who logs in to the broker', [...logIns, changed, ...aliases, ...newcomers]);

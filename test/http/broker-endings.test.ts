// What ends with a removal on the broker's side, and what is being made at that moment.

import assert from 'node:assert/strict';
import { type Bench, must, type RaceCase, raceAll } from '../support/racing.ts';
import { tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

async function make({ maker }: Bench, plural: string, body: object): Promise<string> {
  return (await must(maker.call('POST', plural, body))).textAt('id');
}

/** Somebody with an account of an auth method in an org of their own. */
interface Person {
  org: string;
  method: string;
  account: string;
  user: string;
  login_name: string;
}

async function newPerson(bench: Bench): Promise<Person> {
  const login_name = `person-${bench.next()}`;
  const org = await make(bench, 'scopes', { scope_id: 'global' });
  const method = await make(bench, 'auth-methods', { scope_id: org, type: 'password' });
  const attributes = { login_name, password: 'correct horse' };
  const account = await make(bench, 'accounts', { auth_method_id: method, attributes });
  const user = await make(bench, 'users', { scope_id: org });
  const given = { version: 1, account_ids: [account] };
  await must(bench.maker.call('POST', `users/${user}:add-accounts`, given));
  return { org, method, account, user, login_name };
}

const logInPath = ({ method }: Person): string => `auth-methods/${method}:authenticate`;

const logIn = ({ maker }: Bench, person: Person): Promise<Reply> =>
  maker.call(
    'POST',
    logInPath(person),
    { attributes: { login_name: person.login_name, password: 'correct horse' } },
    { token: '' },
  );

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

const versionOf = async ({ remover }: Bench, path: string): Promise<unknown> =>
  (await must(remover.call('GET', path))).field('version');

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

/** Somebody who may use a target that is reached through a host set and brings a credential. */
interface Place {
  person: Person;
  token: string;
  role: string;
  project: string;
  catalog: string;
  host_set: string;
  host: string;
  store: string;
  credential: string;
  target: string;
}

async function newPlace(bench: Bench): Promise<Place> {
  const { call } = bench.maker;
  const person = await newPerson(bench);
  const project = await make(bench, 'scopes', { scope_id: person.org });
  const role = await make(bench, 'roles', { scope_id: project });
  const principals = { version: 1, principal_ids: [person.user] };
  await must(call('POST', `roles/${role}:add-principals`, principals));
  const grant_strings = ['ids=*;type=target;actions=authorize-session'];
  await must(call('POST', `roles/${role}:add-grants`, { version: 2, grant_strings }));
  const catalog = await make(bench, 'host-catalogs', { scope_id: project, type: 'static' });
  const attributes = { address: '10.0.0.5' };
  const host = await make(bench, 'hosts', { host_catalog_id: catalog, attributes });
  const host_set = await make(bench, 'host-sets', { host_catalog_id: catalog });
  await must(call('POST', `host-sets/${host_set}:add-hosts`, { version: 1, host_ids: [host] }));
  const store = await make(bench, 'credential-stores', { scope_id: project, type: 'static' });
  const credential = await make(bench, 'credentials', {
    credential_store_id: store,
    type: 'username_password',
    attributes: { username: 'ann', password: 'a password' },
  });
  const target = await make(bench, 'targets', {
    scope_id: project,
    type: 'tcp',
    name: `target-${bench.next()}`,
    attributes: { default_port: 22 },
  });
  await must(
    call('POST', `targets/${target}:add-host-sources`, { version: 1, host_source_ids: [host_set] }),
  );
  const brokered_credential_source_ids = [credential];
  await must(
    call('POST', `targets/${target}:add-credential-sources`, {
      version: 2,
      brokered_credential_source_ids,
    }),
  );
  const token = (await must(logIn(bench, person))).textAt('attributes.token');
  return { person, token, role, project, catalog, host_set, host, store, credential, target };
}

const deleting =
  (plural: string, id: (place: Place) => string) =>
  ({ remover }: Bench, place: Place): Promise<Reply> =>
    remover.call('DELETE', `${plural}/${id(place)}`);

/** The sessions of those go on that lost only what they were begun with. */
const losses: [
  name: string,
  refused: readonly number[],
  remove: (bench: Bench, place: Place) => Promise<Reply>,
  ends: boolean,
][] = [
  ['its target', [404], deleting('targets', ({ target }) => target), true],
  ['its project', [404], deleting('scopes', ({ project }) => project), true],
  ['its host set', [404], deleting('host-sets', ({ host_set }) => host_set), true],
  ['its host', [404], deleting('hosts', ({ host }) => host), true],
  ['its host catalog', [404], deleting('host-catalogs', ({ catalog }) => catalog), true],
  [
    'the place of its host',
    [404],
    ({ remover }, { host_set, host }) =>
      remover.call('POST', `host-sets/${host_set}:remove-hosts`, { version: 2, host_ids: [host] }),
    true,
  ],
  [
    'the host set of its target',
    [404],
    ({ remover }, { target, host_set }) =>
      remover.call('POST', `targets/${target}:remove-host-sources`, {
        version: 3,
        host_source_ids: [host_set],
      }),
    true,
  ],
  ['its user', [401], deleting('users', ({ person }) => person.user), true],
  ['its account', [401], deleting('accounts', ({ person }) => person.account), true],
  ['its auth method', [401], deleting('auth-methods', ({ person }) => person.method), true],
  ['its log-in', [401], deleting('auth-tokens', ({ token }) => tokenIdOf(token)), true],
  [
    'its log-in, revoked on the other API',
    [401],
    ({ remover }, { token }) => remover.call('POST', 'auth/token/revoke', { token }),
    false,
  ],
  ['the role that allows it', [403], deleting('roles', ({ role }) => role), false],
];

const sessions: RaceCase[] = losses.map(([name, refused, remove, ends]) => ({
  name: `a session and ${name}`,
  refused,
  async setUp(bench: Bench) {
    const place = await newPlace(bench);
    const path = `targets/${place.target}:authorize-session`;
    return {
      path,
      make: () => bench.maker.call('POST', path, {}, { token: place.token }),
      remove: () => remove(bench, place),
      ...(ends ? { ended: (made: Reply) => requireCanceled(bench, made) } : {}),
    };
  },
}));

async function requireCanceled({ remover }: Bench, made: Reply): Promise<void> {
  const id = made.textAt('session_id');
  const row = await remover.running.app.db
    .selectFrom('session')
    .select('status')
    .where('id', '=', id)
    .executeTakeFirst();
  assert.ok(['canceling', 'terminated'].includes(row?.status ?? ''), row?.status ?? 'gone');
}

/** A session that its target goes on for, without what was to be brought. */
function bringing(name: string, remove: (bench: Bench, place: Place) => Promise<Reply>): RaceCase {
  return {
    name: `a session and ${name}`,
    refused: [],
    async setUp(bench) {
      const place = await newPlace(bench);
      const path = `targets/${place.target}:authorize-session`;
      return {
        path,
        make: () => bench.maker.call('POST', path, {}, { token: place.token }),
        remove: () => remove(bench, place),
      };
    },
  };
}

raceAll('who logs in to the broker', [...logIns, changed]);
raceAll('sessions', sessions);
raceAll(
  'what a session brings',
  [
    bringing(
      'its credential',
      deleting('credentials', ({ credential }) => credential),
    ),
    bringing(
      'its credential store',
      deleting('credential-stores', ({ store }) => store),
    ),
  ],
  (made) => {
    assert.equal(made.status, 200, made.text);
    assert.doesNotMatch(made.text, /a password/);
  },
);

// What ends sessions, and what becomes of those that are being made at that moment.

import assert from 'node:assert/strict';
import { newPlace, type Place, type PlaceOptions } from '../support/broker-places.ts';
import { type Bench, type RaceCase, raceAll } from '../support/racing.ts';
import { tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const deleting =
  (plural: string, id: (place: Place) => string) =>
  ({ remover }: Bench, place: Place): Promise<Reply> =>
    remover.call('DELETE', `${plural}/${id(place)}`);

/** Sessions go on that lost only what they were begun with: a role, a log-in's other name. */
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
  ['the role that allows it', [403], deleting('roles', ({ role }) => role), false],
];

const verb =
  (path: (place: Place) => string, body: (place: Place) => object) =>
  ({ remover }: Bench, place: Place): Promise<Reply> =>
    remover.call('POST', path(place), body(place));

losses.push(
  [
    'every host of its host set',
    [404],
    verb(
      ({ host_set }) => `host-sets/${host_set}:set-hosts`,
      () => ({ version: 2, host_ids: [] }),
    ),
    true,
  ],
  [
    'every host set of its target',
    [404],
    verb(
      ({ target }) => `targets/${target}:set-host-sources`,
      () => ({ version: 3, host_source_ids: [] }),
    ),
    true,
  ],
  [
    'the principal of the role',
    [403],
    verb(
      ({ role }) => `roles/${role}:remove-principals`,
      ({ person }) => ({ version: 3, principal_ids: [person.user] }),
    ),
    false,
  ],
  [
    'what the role grants',
    [403],
    verb(
      ({ role }) => `roles/${role}:set-grants`,
      () => ({ version: 3, grant_strings: ['ids=*;type=target;actions=read'] }),
    ),
    false,
  ],
  [
    'where the role grants it',
    [403],
    verb(
      ({ role }) => `roles/${role}:set-grant-scopes`,
      () => ({ version: 3, grant_scope_ids: [] }),
    ),
    false,
  ],
);

/** What ends whoever it is for. */
const ofPerson: typeof losses = [
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
  ['the org of everything', [401, 404], deleting('scopes', ({ person }) => person.org), true],
  [
    'the account of its log-in, taken from the user',
    [401],
    verb(
      ({ person }) => `users/${person.user}:set-accounts`,
      () => ({ version: 2, account_ids: [] }),
    ),
    true,
  ],
];

/** Of somebody who has the role by a group. */
const byGroup: typeof losses = [
  ['the group that has the role', [403], deleting('groups', ({ group }) => group), false],
  [
    'the membership of its group',
    [403],
    verb(
      ({ group }) => `groups/${group}:remove-members`,
      ({ person }) => ({ version: 2, member_ids: [person.user] }),
    ),
    false,
  ],
  [
    'the group as principal of the role',
    [403],
    verb(
      ({ role }) => `roles/${role}:set-principals`,
      () => ({ version: 3, principal_ids: [] }),
    ),
    false,
  ],
];

const sessionsOf =
  (options: PlaceOptions) =>
  ([name, refused, remove, ends]: (typeof losses)[number]): RaceCase => ({
    name: `a session and ${name}`,
    refused,
    async setUp(bench: Bench) {
      const place = await newPlace(bench, options);
      const path = `targets/${place.target}:authorize-session`;
      return {
        path,
        make: () => bench.maker.call('POST', path, {}, { token: place.token }),
        remove: () => remove(bench, place),
        ...(ends ? { ended: (made: Reply) => requireCanceled(bench, made) } : {}),
      };
    },
  });

const sessions = [
  ...losses.map(sessionsOf({})),
  ...ofPerson.map(sessionsOf({ own: true })),
  ...byGroup.map(sessionsOf({ permitted: 'group' })),
];

async function requireCanceled({ remover }: Bench, made: Reply): Promise<void> {
  const id = made.textAt('session_id');
  const row = await remover.running.app.db
    .selectFrom('session')
    .select('status')
    .where('id', '=', id)
    .executeTakeFirst();
  assert.ok(['canceling', 'terminated'].includes(row?.status ?? ''), row?.status ?? 'gone');
}

/** A session that its target goes on for, without what was to be brought or as the target is then. */
function goingOn(
  name: string,
  change: (bench: Bench, place: Place) => Promise<Reply>,
  judge: (made: Reply) => void,
  refused: readonly number[] = [],
): RaceCase {
  return {
    name: `a session and ${name}`,
    refused,
    judge,
    async setUp(bench) {
      const place = await newPlace(bench);
      const path = `targets/${place.target}:authorize-session`;
      return {
        path,
        make: () => bench.maker.call('POST', path, {}, { token: place.token }),
        remove: () => change(bench, place),
      };
    },
  };
}

function bringsNothing(made: Reply): void {
  assert.equal(made.status, 200, made.text);
  assert.doesNotMatch(made.text, /a password/);
}

const patching =
  (change: object) =>
  (bench: Bench, place: Place): Promise<Reply> =>
    bench.remover.call('PATCH', `targets/${place.target}`, { version: 3, ...change });

const changed: RaceCase[] = [
  goingOn(
    'its credential',
    deleting('credentials', ({ credential }) => credential),
    bringsNothing,
  ),
  goingOn(
    'its credential store',
    deleting('credential-stores', ({ store }) => store),
    bringsNothing,
  ),
  goingOn(
    'the credential of its target',
    verb(
      ({ target }) => `targets/${target}:set-credential-sources`,
      () => ({ version: 3, brokered_credential_source_ids: [] }),
    ),
    bringsNothing,
  ),
  goingOn(
    'how many connections its target allows',
    patching({ session_connection_limit: 3 }),
    (made) => assert.equal(made.field('connection_limit'), 3, made.text),
  ),
  goingOn('how long its target lets it be', patching({ session_max_seconds: 60 }), (made) => {
    const lives = Date.parse(made.textAt('expiration')) - Date.parse(made.textAt('created_time'));
    assert.equal(lives, 60_000, made.text);
  }),
  goingOn('the port of its target', patching({ attributes: { default_port: 2222 } }), (made) =>
    assert.equal(made.textAt('endpoint'), 'tcp://10.0.0.5:2222', made.text),
  ),
  goingOn(
    'which workers its target is for',
    patching({ egress_worker_filter: '"x" in "/name"' }),
    (made) => {
      assert.ok(made.status >= 400, made.text);
      assert.doesNotMatch(made.text, /authorization_token/);
    },
    // There are no others.
    [500],
  ),
];

raceAll('sessions', [...sessions, ...changed]);

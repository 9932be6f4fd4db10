// Sessions that somebody authorizes by a token of the Vault API, and persons who end on that API.

import assert from 'node:assert/strict';
import { aliasPath, logIn, newPlace, outliveMethod, type Place } from '../support/broker-places.ts';
import { type Bench, must, type RaceCase, raceAll } from '../support/racing.ts';
import { tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

/** Somebody of the broker's who logs in at an auth mount of the Vault API. */
interface Foreigner {
  place: Place;
  entity: string;
  mount: string;
  alias: string;
  token: string;
  accessor: string;
}

type Engine = 'userpass' | 'approle';

const entityOf = async ({ maker }: Bench, token: string): Promise<string> =>
  (await must(maker.call('GET', 'auth/token/lookup-self', undefined, { token }))).textAt(
    'data.entity_id',
  );

async function newForeigner(
  bench: Bench,
  settings: object = {},
  engine: Engine = 'userpass',
): Promise<Foreigner> {
  const { call } = bench.maker;
  const place = await newPlace(bench, { own: true });
  const entity = await entityOf(bench, place.token);
  const mount = `up${bench.next()}`;
  await must(call('POST', `sys/auth/${mount}`, { type: engine }));
  const mount_accessor = (await must(call('GET', `sys/auth/${mount}`))).textAt('data.accessor');
  const login = await (engine === 'userpass' ? newUser : newRole)(bench, mount, settings);
  const given = { name: login.alias, mount_accessor, canonical_id: entity };
  const alias = (await must(call('POST', 'identity/entity-alias', given))).textAt('data.id');
  const made = await must(call('POST', login.path, login.body, { token: '' }));
  const token = made.textAt('auth.client_token');
  assert.equal(made.textAt('auth.entity_id'), entity);
  return { place, entity, mount, alias, token, accessor: made.textAt('auth.accessor') };
}

interface LogIn {
  alias: string;
  path: string;
  body: object;
}

async function newUser({ maker }: Bench, mount: string, settings: object): Promise<LogIn> {
  const password = 'correct horse';
  await must(maker.call('POST', `auth/${mount}/users/ann`, { password, ...settings }));
  return { alias: 'ann', path: `auth/${mount}/login/ann`, body: { password } };
}

async function newRole({ maker }: Bench, mount: string, settings: object): Promise<LogIn> {
  const role = `auth/${mount}/role/ann`;
  await must(maker.call('POST', role, settings));
  const role_id = (await must(maker.call('GET', `${role}/role-id`))).textAt('data.role_id');
  const secret = await must(maker.call('POST', `${role}/secret-id`, {}));
  const body = { role_id, secret_id: secret.textAt('data.secret_id') };
  return { alias: role_id, path: `auth/${mount}/login`, body };
}

async function removeUserAlias(bench: Bench, { entity, place }: Foreigner): Promise<Reply> {
  return bench.remover.call('DELETE', await aliasPath(bench, entity, place.person));
}

/** What ends a token of a log-in of the Vault API, whether or not it has a row. */
type End = [name: string, end: (bench: Bench, person: Foreigner) => Promise<Reply>];

const removing =
  (path: (person: Foreigner) => string) =>
  ({ remover }: Bench, person: Foreigner): Promise<Reply> =>
    remover.call('DELETE', path(person));
const sending =
  (path: (person: Foreigner) => string, body: (person: Foreigner) => object) =>
  ({ remover }: Bench, person: Foreigner): Promise<Reply> =>
    remover.call('POST', path(person), body(person));

const ofPerson: readonly End[] = [
  ['its entity', removing(({ entity }) => `identity/entity/id/${entity}`)],
  [
    'its entity, disabled',
    sending(
      ({ entity }) => `identity/entity/id/${entity}`,
      () => ({ disabled: true }),
    ),
  ],
  [
    'its entity, with others',
    sending(
      () => 'identity/entity/batch-delete',
      ({ entity }) => ({ entity_ids: ['x', entity] }),
    ),
  ],
];

const ofLogIn: readonly End[] = [
  ...ofPerson,
  ['its alias', removing(({ alias }) => `identity/entity-alias/id/${alias}`)],
  [
    'its alias, renamed',
    sending(
      ({ alias }) => `identity/entity-alias/id/${alias}`,
      () => ({ name: 'bob' }),
    ),
  ],
  [
    'its alias, given to another',
    async ({ remover }, { alias }) => {
      const made = await must(remover.call('POST', 'identity/entity', {}));
      const canonical_id = made.textAt('data.id');
      return remover.call('POST', `identity/entity-alias/id/${alias}`, { canonical_id });
    },
  ],
  ['its mount', removing(({ mount }) => `sys/auth/${mount}`)],
  ['the alias of its broker user', removeUserAlias],
  ['its broker user', removing(({ place }) => `users/${place.person.user}`)],
  ['its org', removing(({ place }) => `scopes/${place.person.org}`)],
];

const ofUser: readonly End[] = [
  ['its account', removing(({ mount }) => `auth/${mount}/users/ann`)],
];
const ofRole: readonly End[] = [
  ['its role', removing(({ mount }) => `auth/${mount}/role/ann`)],
  [
    'the ID of its role',
    sending(
      ({ mount }) => `auth/${mount}/role/ann/role-id`,
      ({ mount }) => ({ role_id: `another-${mount}` }),
    ),
  ],
];

const revocations: readonly End[] = [
  [
    'its token, by its text',
    sending(
      () => 'auth/token/revoke',
      ({ token }) => ({ token }),
    ),
  ],
  [
    'its token, by its accessor',
    sending(
      () => 'auth/token/revoke-accessor',
      ({ accessor }) => ({ accessor }),
    ),
  ],
  [
    'its token alone',
    sending(
      () => 'auth/token/revoke-orphan',
      ({ token }) => ({ token }),
    ),
  ],
  [
    'its token, by itself',
    ({ remover }, { token }) => remover.call('POST', 'auth/token/revoke-self', {}, { token }),
  ],
];

async function statusOf({ remover }: Bench, made: Reply): Promise<string> {
  const row = await remover.running.app.db
    .selectFrom('session')
    .select('status')
    .where('id', '=', made.textAt('session_id'))
    .executeTakeFirst();
  return row?.status ?? 'gone';
}

const ended = async (bench: Bench, made: Reply): Promise<void> =>
  assert.match(await statusOf(bench, made), /^(canceling|terminated|gone)$/);

/** What ends all that somebody has, and not what they have by one token. */
const PERSONAL = /entity|user|org/;

/** A session that goes on: by the same person's log-in of the broker's, or somebody else's. */
async function neighbour(bench: Bench, own: Place | undefined): Promise<Reply> {
  const { target, token } = own ?? (await newPlace(bench));
  return must(bench.maker.call('POST', `targets/${target}:authorize-session`, {}, { token }));
}

const authorizing =
  (kind: string, settings: object, engine: Engine) =>
  ([name, end]: End): RaceCase => ({
    name: `a session by a ${kind} and ${name}`,
    refused: [401, 403, 404],
    async setUp(bench) {
      const person = await newForeigner(bench, settings, engine);
      const path = `targets/${person.place.target}:authorize-session`;
      const goesOn = await neighbour(bench, PERSONAL.test(name) ? undefined : person.place);
      return {
        path,
        make: () => bench.maker.call('POST', path, {}, { token: person.token }),
        remove: () => end(bench, person),
        async ended(made) {
          await ended(bench, made);
          assert.equal(await statusOf(bench, goesOn), 'pending');
        },
      };
    },
  });

/** Somebody who logs in by another auth method than the one by which they became an entity. */
async function newOutliver(bench: Bench): Promise<Place> {
  const place = await newPlace(bench, { own: true });
  const person = await outliveMethod(bench, place.person);
  const token = (await must(logIn(bench, person))).textAt('attributes.token');
  return { ...place, person, token };
}

/** The log-in of the broker's own, with what was asked for by its token. */
const loggingIn = ([name, end, outlived]: [...End, outlived?: boolean]): RaceCase => ({
  name: `a session by a log-in of the broker's and ${name}`,
  refused: [401, 403, 404],
  async setUp(bench) {
    const place = outlived ? await newOutliver(bench) : await newPlace(bench, { own: true });
    const { token } = place;
    const self = await must(
      bench.maker.call('GET', 'auth/token/lookup-self', undefined, { token }),
    );
    const person: Foreigner = {
      place,
      token,
      entity: self.textAt('data.entity_id'),
      accessor: self.textAt('data.accessor'),
      mount: '',
      alias: '',
    };
    const path = `targets/${place.target}:authorize-session`;
    return {
      path,
      make: () => bench.maker.call('POST', path, {}, { token }),
      remove: () => end(bench, person),
      async ended(made) {
        await ended(bench, made);
        if (name.includes('disabled')) return;
        const { app } = bench.remover.running;
        const rows = await app.db
          .selectFrom('resource')
          .select('id')
          .where('id', '=', tokenIdOf(token))
          .execute();
        assert.deepEqual(rows, [], 'the log-in is gone');
      },
    };
  },
});

raceAll('sessions by tokens of the other API', [
  ...[...ofLogIn, ...ofUser, ...revocations].map(authorizing('token', {}, 'userpass')),
  ...[...ofLogIn.slice(0, 1), ...ofRole].map(authorizing('token of a role', {}, 'approle')),
  ...[...ofLogIn, ...ofUser].map(authorizing('batch token', { token_type: 'batch' }, 'userpass')),
  ...[...ofPerson, ...revocations].map((end) => loggingIn(end)),
  loggingIn(['the alias of its user', removeUserAlias]),
  loggingIn(['the alias of its user, of an auth method that is gone', removeUserAlias, true]),
]);

// Whoever ends the log-ins that they came by ends those last: a request by a token that was made from one of
// them is not refused half way for what it has ended itself.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type RawBuilder, sql } from 'kysely';
import { tokenId } from '../../src/access/tokens/minting.operations.ts';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Broker, startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';
import { countAll, rowsOf } from '../support/set-sizes.ts';

/** More than a page; the log-in itself is one more. */
const COUNT = 507;

// The second as the policy that everybody has says less of one's own entity.
const ALL = `
  path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }
  path "identity/entity/id/{{identity.entity.id}}" { capabilities = ["delete"] }`;
const BARE = 'path "auth/token/create" { capabilities = ["update"] }';

class World {
  readonly broker: Broker;
  #people = 0;
  constructor(broker: Broker) {
    this.broker = broker;
  }

  async call(method: string, path: string, body?: object, token = 'root'): Promise<Reply> {
    return this.broker.client.call(method, path, body, { token });
  }

  async must(method: string, path: string, body?: object, token?: string): Promise<Reply> {
    const reply = await this.call(method, path, body, token);
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.text}`);
    return reply;
  }

  async makeChild(parent: string, body: object = {}): Promise<string> {
    return (await this.must('POST', 'auth/token/create', { ttl: '1h', ...body }, parent)).textAt(
      'auth.client_token',
    );
  }

  async count(query: RawBuilder<number>): Promise<number> {
    const { n = -1 } = await countAll(this.broker.client.running.app.db, { n: query });
    return n;
  }

  /** Somebody who logged in on the Vault API, many times. */
  async logIn(kind: 'user' | 'role', policy = 'all'): Promise<LoggedIn> {
    const name = `p${this.#people++}`;
    const reply =
      kind === 'user' ? await this.#byPassword(name, policy) : await this.#byRole(name, policy);
    const { store, db } = this.broker.client.running.app;
    const token = reply.textAt('auth.client_token');
    const id = tokenId(this.broker.client.running.app, token);
    const changes = { id: numbered('id'), accessor: numbered('accessor') };
    await copyRow(store, 'token', { of: { id }, copies: COUNT, changes });
    const row = db.selectFrom('token').select('alias_id').where('id', '=', id);
    const { alias_id } = await row.executeTakeFirstOrThrow();
    const living = rowsOf('token', sql`expires_at > 0 and alias_id = ${alias_id}`);
    return { name, token, alias_id, entity_id: reply.textAt('auth.entity_id'), living };
  }

  async #byPassword(name: string, policy: string): Promise<Reply> {
    const password = 'password';
    await this.must('POST', `auth/up/users/${name}`, { password, token_policies: [policy] });
    return this.must('POST', `auth/up/login/${name}`, { password }, '');
  }

  async #byRole(name: string, policy: string): Promise<Reply> {
    const role = `auth/approle/role/${name}`;
    await this.must('POST', role, { token_policies: [policy] });
    const role_id = (await this.must('GET', `${role}/role-id`)).textAt('data.role_id');
    const { secret_id } = Object((await this.must('POST', `${role}/secret-id`)).field('data'));
    return this.must('POST', 'auth/approle/login', { role_id, secret_id }, '');
  }

  /** Somebody who logged in at the broker's API, many times, and may do anything on the Vault API. */
  async logInAtBroker(): Promise<LoggedIn> {
    const { token, login_name: name, user_id } = await this.broker.person([]);
    const self = await this.must('GET', 'auth/token/lookup-self', undefined, token);
    const entity_id = self.textAt('data.entity_id');
    await this.must('POST', `identity/entity/id/${entity_id}`, { policies: ['all'] });
    const entity = await this.must('GET', `identity/entity/id/${entity_id}`);
    await this.copyLogIn(tokenIdOf(token));
    const alias_id = entity.textAt('data.aliases.0.id');
    const living = rowsOf('resource', sql`type = 'auth-token' and owner_id = ${user_id}`);
    return { name, token, alias_id, entity_id, living };
  }

  /** What the account of an administrator of both APIs is made with. */
  async giveRoot(user_id: string): Promise<void> {
    const { store, db } = this.broker.client.running.app;
    const row = db.selectFrom('resource').select('body').where('id', '=', user_id);
    const { body } = await row.executeTakeFirstOrThrow();
    const next = JSON.stringify({ ...JSON.parse(body), policies: ['root'] });
    const user = build.updateTable('resource').set({ body: next }).where('id', '=', user_id);
    await store.commit([write(user, { rows: 1 }), bumpConfigVersion()]);
  }

  async copyLogIn(id: string): Promise<void> {
    const { store } = this.broker.client.running.app;
    const changes = { id: numbered('id'), unique_key: numbered('unique_key') };
    await copyRow(store, 'resource', { of: { id }, copies: COUNT, changes });
    const from_id = numbered('from_id');
    await copyRow(store, 'resource_link', {
      of: { from_id: id },
      copies: COUNT,
      changes: { from_id },
    });
  }
}

interface LoggedIn {
  name: string;
  token: string;
  alias_id: string;
  entity_id: string;
  /** How many log-ins they have. */
  living: RawBuilder<number>;
}

async function openWorld(
  t: { after(stop: () => Promise<void>): void },
  place: Place,
): Promise<World> {
  const world = new World(await startBroker(t, { place }));
  await world.must('POST', 'sys/auth/up', { type: 'userpass' });
  await world.must('POST', 'sys/auth/approle', { type: 'approle' });
  await world.must('PUT', 'sys/policies/acl/all', { policy: ALL });
  await world.must('PUT', 'sys/policies/acl/bare', { policy: BARE });
  return world;
}

/** What a request came with, made from a log-in's token. */
const BY: Record<string, (world: World, token: string) => Promise<string>> = {
  'the log-in itself': async (_world, token) => token,
  'a child of the log-in': (world, token) => world.makeChild(token),
  'a grandchild of the log-in': async (world, token) =>
    world.makeChild(await world.makeChild(token)),
  'a batch token of the log-in': (world, token) => world.makeChild(token, { type: 'batch' }),
  'a batch token of a child': async (world, token) =>
    world.makeChild(await world.makeChild(token), { type: 'batch' }),
};

type Request = [method: string, path: string, body?: object];

const ENDS: Record<string, { of: 'user' | 'role'; request(one: LoggedIn): Request }> = {
  'its user': { of: 'user', request: ({ name }) => ['DELETE', `auth/up/users/${name}`] },
  'its role': { of: 'role', request: ({ name }) => ['DELETE', `auth/approle/role/${name}`] },
  'the ID of its role': {
    of: 'role',
    request: ({ name }) => ['POST', `auth/approle/role/${name}/role-id`, { role_id: `${name}-id` }],
  },
  'its alias': {
    of: 'user',
    request: ({ alias_id }) => ['DELETE', `identity/entity-alias/id/${alias_id}`],
  },
  'the name of its alias': {
    of: 'user',
    request: ({ alias_id, name }) => [
      'POST',
      `identity/entity-alias/id/${alias_id}`,
      { name: `${name}-new` },
    ],
  },
  'its entity': {
    of: 'user',
    request: ({ entity_id }) => ['DELETE', `identity/entity/id/${entity_id}`],
  },
  'its entity, among others': {
    of: 'user',
    request: ({ entity_id }) => [
      'POST',
      'identity/entity/batch-delete',
      { entity_ids: [entity_id, ...Array.from({ length: 30 }, (_, at) => `none-${at}`)] },
    ],
  },
};

eachPlace('who ends what they came by', (newPlace) => {
  let world: World;
  const stops: (() => Promise<void>)[] = [];
  before(async () => {
    world = await openWorld({ after: (stop) => stops.push(stop) }, await newPlace());
  });
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  for (const [what, { of, request }] of Object.entries(ENDS)) {
    for (const [by, make] of Object.entries(BY)) {
      test(`ends it whole: ${what}, by ${by}`, async () => {
        const one = await world.logIn(of);
        const token = await make(world, one.token);
        assert.equal(await world.count(one.living), COUNT + 1);
        const [method, path, body] = request(one);
        await world.must(method, path, body, token);
        assert.equal(await world.count(one.living), 0);
        const self = await world.call('GET', 'auth/token/lookup-self', undefined, token);
        assert.equal(self.status, 403);
      });
    }

    test(`has ended nothing where that is refused: ${what}, by a child that may not`, async () => {
      const one = await world.logIn(of);
      const token = await world.makeChild(await world.makeChild('root', { policies: ['bare'] }));
      const [method, path, body] = request(one);
      assert.equal((await world.call(method, path, body, token)).status, 403);
      assert.equal(await world.count(one.living), COUNT + 1);
    });
  }

  for (const what of ['its alias', 'its entity', 'its entity, among others']) {
    for (const [by, make] of Object.entries(BY)) {
      test(`ends it whole: ${what}, by ${by} at the broker`, async () => {
        const one = await world.logInAtBroker();
        const token = await make(world, one.token);
        assert.equal(await world.count(one.living), COUNT + 1);
        const [method, path, body] = ENDS[what]?.request(one) ?? assert.fail();
        await world.must(method, path, body, token);
        assert.equal(await world.count(one.living), 0);
      });
    }
  }

  const OWN: [what: string, request: (own: { user_id: string; account_id: string }) => Request][] =
    [
      ['the accounts of its user', ({ user_id }) => ['POST', `users/${user_id}:set-accounts`, {}]],
      ['its account', ({ account_id }) => ['DELETE', `accounts/${account_id}`]],
      ['its user', ({ user_id }) => ['DELETE', `users/${user_id}`]],
    ];
  for (const [what, request] of OWN) {
    for (const by of ['a child of the log-in', 'a grandchild of the log-in']) {
      test(`ends it whole at the broker: ${what}, by ${by}`, async () => {
        const { broker } = world;
        const person = await broker.person(['ids=*;type=*;actions=*']);
        // With the root policy a token that was made from a log-in is the user there.
        await world.giveRoot(person.user_id);
        const token = await broker.logIn(person.login_name);
        await world.copyLogIn(tokenIdOf(token));
        const of_user = sql`type = 'auth-token' and owner_id = ${person.user_id}`;
        const living = rowsOf('resource', of_user);
        assert.equal(await world.count(living), COUNT + 2);
        const child = await (BY[by] ?? assert.fail())(world, token);
        const [method, path, body] = request(person);
        const found = await broker.as(child)('GET', `users/${person.user_id}`);
        assert.equal(found.status, 200, found.text);
        const version = found.field('version');
        const done = await broker.as(child)(method, path, body && { ...body, version });
        assert.ok(done.status < 300, `${done.status} ${done.text}`);
        assert.equal(await world.count(living), 0);
      });
    }
  }
});

// What ends much is done page by page, and somebody else may change things between two pages: who is refused
// then is told what has ended already, and so is the record; whoever ended nothing is told nothing.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { tokenId } from '../../src/access/tokens/minting.operations.ts';
import { PAGE } from '../../src/broker/resource/ending.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Broker, type Person, startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

/** Two pages, and what is left to the change itself. */
const COUNT = 2 * PAGE + 7;
const audit = { wait_for_reads: true, record_public_reads: false, retention_days: 0, sinks: [] };
const TOLD = /had ended (.*); they stay ended/;

type Counts = Record<string, number>;

interface World {
  broker: Broker;
  holder: CommitHolder;
  made: number;
}

async function openWorld(t: { after(stop: () => Promise<void>): void }, place: Place) {
  const holder = new CommitHolder();
  const broker = await startBroker(t, { place, store: holder.over, config: { audit } });
  await must(broker.client.call('POST', 'sys/auth/up', { type: 'userpass' }));
  return { broker, holder, made: 0 };
}

async function must(answer: Promise<Reply>): Promise<Reply> {
  const reply = await answer;
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`);
  return reply;
}

/** Sessions of somebody through a target, as many as take two pages and more. */
async function makeSessions({ broker }: World, user: Person, target: string): Promise<void> {
  const { store } = broker.client.running.app;
  const made = await must(user.call('POST', `targets/${target}:authorize-session`, {}));
  const session = { of: { id: made.textAt('session_id') }, copies: COUNT - 1 };
  const changes = { id: numbered('id') };
  await copyRow(store, 'resource', { ...session, changes });
  await copyRow(store, 'session', { ...session, changes });
}

/** Log-ins of somebody, as many. */
async function makeLogIns({ broker }: World, user: Person): Promise<void> {
  const { store } = broker.client.running.app;
  const id = tokenIdOf(user.token);
  const copies = COUNT - 1;
  const changes = { id: numbered('id'), unique_key: numbered('unique_key') };
  await copyRow(store, 'resource', { of: { id }, copies, changes });
  const link = { of: { from_id: id }, copies, changes: { from_id: numbered('from_id') } };
  await copyRow(store, 'resource_link', link);
}

const MAY = ['ids=*;type=target;actions=authorize-session'];

/** Something that a change ends much by: where, and what is sent with the present version. */
interface Change {
  method: 'PATCH' | 'POST' | 'DELETE';
  item: string;
  verb?: string;
  body?: object;
  /** What the first page ends. */
  page: Counts;
}

async function makeTarget(world: World, more: object): Promise<string> {
  const { broker } = world;
  world.made += 1;
  const name = `target-${world.made}`;
  const fields = { scope_id: broker.project, type: 'tcp', attributes: { default_port: 22 }, name };
  return broker.make('targets', { ...fields, ...more });
}

async function makeDirect(world: World): Promise<string> {
  const target = await makeTarget(world, { address: '10.0.0.6' });
  await makeSessions(world, await world.broker.person(MAY), target);
  return target;
}

async function makeThrough(world: World): Promise<{ target: string; set: string; host: string }> {
  const { make, admin, project: scope_id, person } = world.broker;
  const host_catalog_id = await make('host-catalogs', { scope_id, type: 'static' });
  const attributes = { address: '10.0.0.5' };
  const host = await make('hosts', { host_catalog_id, type: 'static', attributes });
  const set = await make('host-sets', { host_catalog_id, type: 'static' });
  const target = await makeTarget(world, {});
  await must(admin('POST', `host-sets/${set}:add-hosts`, { version: 1, host_ids: [host] }));
  const sources = { version: 1, host_source_ids: [set] };
  await must(admin('POST', `targets/${target}:add-host-sources`, sources));
  await makeSessions(world, await person(MAY), target);
  return { target, set, host };
}

async function makeUser(world: World): Promise<Person> {
  const user = await world.broker.person([]);
  await makeLogIns(world, user);
  return user;
}

const SESSIONS: Counts = { sessions: PAGE };
const LOG_INS: Counts = { log_ins: PAGE };

const CHANGED: Record<string, (world: World) => Promise<Change>> = {
  'the address of a target': async (world) => {
    const item = `targets/${await makeDirect(world)}`;
    return { method: 'PATCH', item, body: { address: null }, page: SESSIONS };
  },
  'the host sets of a target, set to none': async (world) => {
    const item = `targets/${(await makeThrough(world)).target}`;
    const body = { host_source_ids: [] };
    return { method: 'POST', item, verb: ':set-host-sources', body, page: SESSIONS };
  },
  'a host set of a target': async (world) => {
    const { target, set } = await makeThrough(world);
    const [item, body] = [`targets/${target}`, { host_source_ids: [set] }];
    return { method: 'POST', item, verb: ':remove-host-sources', body, page: SESSIONS };
  },
  'the hosts of a set, set to none': async (world) => {
    const item = `host-sets/${(await makeThrough(world)).set}`;
    return { method: 'POST', item, verb: ':set-hosts', body: { host_ids: [] }, page: SESSIONS };
  },
  'a host of a set': async (world) => {
    const { set, host } = await makeThrough(world);
    const [item, body] = [`host-sets/${set}`, { host_ids: [host] }];
    return { method: 'POST', item, verb: ':remove-hosts', body, page: SESSIONS };
  },
  'the accounts of a user, set to none': async (world) => {
    const item = `users/${(await makeUser(world)).user_id}`;
    return {
      method: 'POST',
      item,
      verb: ':set-accounts',
      body: { account_ids: [] },
      page: LOG_INS,
    };
  },
  'an account of a user': async (world) => {
    const { user_id, account_id } = await makeUser(world);
    const [item, body] = [`users/${user_id}`, { account_ids: [account_id] }];
    return { method: 'POST', item, verb: ':remove-accounts', body, page: LOG_INS };
  },
};

const REMOVED: Record<string, (world: World) => Promise<Change>> = {
  'a target': async (world) => {
    const item = `targets/${await makeDirect(world)}`;
    return { method: 'DELETE', item, page: SESSIONS };
  },
  'a host set': async (world) => {
    const item = `host-sets/${(await makeThrough(world)).set}`;
    return { method: 'DELETE', item, page: SESSIONS };
  },
  'a host': async (world) => {
    const item = `hosts/${(await makeThrough(world)).host}`;
    return { method: 'DELETE', item, page: SESSIONS };
  },
  'a user': async (world) => {
    const item = `users/${(await makeUser(world)).user_id}`;
    return { method: 'DELETE', item, page: LOG_INS };
  },
  'an account': async (world) => {
    const item = `accounts/${(await makeUser(world)).account_id}`;
    return { method: 'DELETE', item, page: LOG_INS };
  },
  'a scope with sessions': async (world) => {
    const { broker } = world;
    const project = await broker.make('scopes', { scope_id: broker.org });
    const target = await makeTarget(world, { scope_id: project, address: '10.0.0.7' });
    await makeSessions(world, await broker.person(MAY), target);
    return { method: 'DELETE', item: `scopes/${project}`, page: SESSIONS };
  },
};

const pathOf = ({ item, verb = '' }: Change): string => item + verb;

async function versionOf({ broker }: World, { item }: Change): Promise<number> {
  return Number((await must(broker.admin('GET', item))).field('version'));
}

/** Does something between two pages of a request, or before the first of them. */
async function between(
  { holder }: World,
  path: string,
  pages: 0 | 1,
  { request, meanwhile }: { request(): Promise<Reply>; meanwhile(): Promise<unknown> },
): Promise<Reply> {
  let held = holder.hold(path);
  const asked = request();
  const reached = async (): Promise<void> => {
    const early = await Promise.race([held.reached, asked]);
    assert.equal(early, undefined, `was to write: ${early?.text}`);
  };
  await reached();
  if (pages === 1) {
    const { letGo } = held;
    held = holder.hold(path);
    letGo();
    await reached();
  }
  await meanwhile().finally(held.letGo);
  return asked;
}

/** The records of requests at a path, the last one first. */
async function recordsAt({ broker }: World, path: string) {
  const { db } = broker.client.running.app;
  const rows = await db.selectFrom('audit_entry').select('record').orderBy('seq', 'desc').execute();
  const records = rows.map((row) => JSON.parse(String(row.record)));
  return records.filter((one) => one.request?.path === path);
}

/** What the last record of refusals at a path says that had ended before. */
async function recordedAt(world: World, path: string): Promise<unknown> {
  const records = await recordsAt(world, path);
  const found = records.find((one) => one.response.status === 'refused');
  assert.ok(found, 'the refusal has a record');
  return found.response.ended_before;
}

/** Asks several times at once, and looks that no page was ended by more than one of them. */
async function endsOnce(world: World, path: string, ask: () => Promise<Reply>): Promise<void> {
  const replies = await Promise.all(Array.from({ length: 6 }, ask));
  const statuses = replies.map(({ status }) => status).sort();
  assert.ok(
    statuses.every((status) => [200, 204, 404].includes(status)),
    statuses.join(),
  );
  assert.notEqual(statuses[0], 404);
  const pages = (await recordsAt(world, path)).filter(({ response }) => response.ending);
  assert.equal(pages.length, 2);
}

function toldBy(reply: Reply): string | undefined {
  return TOLD.exec(reply.text)?.[1];
}

const words = ({ sessions, log_ins }: Counts): string =>
  sessions ? `${sessions} sessions` : `${log_ins} log-ins`;

async function tells(world: World, reply: Reply, path: string, page: Counts | undefined) {
  assert.deepEqual(await recordedAt(world, path), page);
  assert.equal(toldBy(reply), page && words(page), reply.text);
}

eachPlace('told what has ended', (newPlace) => {
  let world: World;
  const stops: (() => Promise<void>)[] = [];
  before(async () => {
    world = await openWorld({ after: (stop) => stops.push(stop) }, await newPlace());
  });
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  for (const pages of [1, 0] as const) {
    const what_of = pages === 1 ? 'is told what has ended' : 'is told of nothing where nothing has';
    for (const [what, make] of Object.entries(CHANGED)) {
      test(`${what}: who comes too late ${what_of}`, async () => {
        const { admin } = world.broker;
        const change = await make(world);
        const version = await versionOf(world, change);
        const path = pathOf(change);
        const request = () => admin(change.method, path, { ...change.body, version });
        const meanwhile = () => must(admin('PATCH', change.item, { version, description: what }));
        const late = await between(world, path, pages, { request, meanwhile });
        assert.equal(late.status, 404, late.text);
        await tells(world, late, path, pages === 1 ? change.page : undefined);
        const next = await versionOf(world, change);
        const again = await must(admin(change.method, path, { ...change.body, version: next }));
        assert.equal(toldBy(again), undefined);
      });
    }

    for (const [what, make] of Object.entries({ ...CHANGED, ...REMOVED })) {
      test(`${what}: who may no longer ${what_of}`, async () => {
        const { admin, person } = world.broker;
        const change = await make(world);
        const version = change.body ? await versionOf(world, change) : 0;
        const someone = await person(['ids=*;type=*;actions=*']);
        const path = pathOf(change);
        const body = change.body && { ...change.body, version };
        const request = () => someone.call(change.method, path, body);
        const meanwhile = () => must(admin('DELETE', `roles/${someone.role_id}`));
        const late = await between(world, path, pages, { request, meanwhile });
        assert.equal(late.status, 403, late.text);
        await tells(world, late, path, pages === 1 ? change.page : undefined);
        await must(admin(change.method, path, body));
      });
    }
  }

  for (const [what, make] of Object.entries({ ...CHANGED, ...REMOVED })) {
    test(`${what}: asked for many times at once ends its pages once`, async () => {
      const { admin } = world.broker;
      const change = await make(world);
      const body = change.body && { ...change.body, version: await versionOf(world, change) };
      await endsOnce(world, pathOf(change), () => admin(change.method, pathOf(change), body));
    });
  }

  test('the address of a target: with a name that another has got, it is told beside the usual words', async () => {
    const { admin } = world.broker;
    const target = await makeDirect(world);
    const path = `targets/${target}`;
    const body = { version: 1, address: null, name: 'wanted' };
    const request = () => admin('PATCH', path, body);
    const meanwhile = () => makeTarget(world, { name: 'wanted' });
    const late = await between(world, path, 1, { request, meanwhile });
    assert.equal(late.status, 400, late.text);
    assert.match(late.textAt('message'), /must be unique\. Before it was refused/);
    await tells(world, late, path, SESSIONS);
  });

  const login = async (name: string): Promise<{ token: string; entity_id: string }> => {
    const { call } = world.broker.client;
    await must(call('POST', `auth/up/users/${name}`, { password: 'password' }));
    const path = `auth/up/login/${name}`;
    const made = await must(call('POST', path, { password: 'password' }, { token: '' }));
    const { client_token: token, entity_id } = Object(made.field('auth'));
    return { token, entity_id };
  };

  /** Somebody who has logged in often. */
  const makeOften = async (name: string): Promise<{ entity_id: string }> => {
    const { app } = world.broker.client.running;
    const { token, entity_id } = await login(name);
    const of = { id: tokenId(app, token) };
    const changes = { id: numbered('id'), accessor: numbered('accessor') };
    await copyRow(app.store, 'token', { of, copies: COUNT - 1, changes });
    return { entity_id };
  };

  /** Somebody who is a user of the broker, and has many sessions. */
  const makeUserOfBoth = async (name: string): Promise<{ entity_id: string }> => {
    const { store } = world.broker.client.running.app;
    const { entity_id } = await login(name);
    const target = await makeTarget(world, { address: '10.0.0.8' });
    const person = await world.broker.person(MAY);
    await makeSessions(world, person, target);
    const user = build.updateTable('resource').set({ unique_key: `entity:${entity_id}` });
    await store.commit([write(user.where('id', '=', person.user_id), { rows: 1 })]);
    return { entity_id };
  };

  /** Somebody's sessions by tokens that came in by a mount of their own. */
  const makeMount = async (path: string): Promise<void> => {
    const { client } = world.broker;
    const { store, db } = client.running.app;
    await must(client.call('POST', `sys/auth/${path}`, { type: 'userpass' }));
    const { id } = await db
      .selectFrom('mount')
      .select('id')
      .where('path', '=', `${path}/`)
      .executeTakeFirstOrThrow();
    const target = await makeTarget(world, { address: '10.0.0.9' });
    await makeSessions(world, await world.broker.person(MAY), target);
    const by = build.updateTable('session').set({ auth_mount_id: id, auth_token_id: '' });
    await store.commit([write(by.where('target_id', '=', target), { rows: COUNT })]);
  };

  /** Where somebody's removal is asked for, and what its first page ends. */
  const AUTHORITY: [
    what: string,
    make: (name: string) => Promise<{ method: string; path: string; body?: object }>,
    page: Counts,
  ][] = [
    [
      'a user of userpass',
      async (name) => {
        await makeOften(name);
        return { method: 'DELETE', path: `auth/up/users/${name}` };
      },
      LOG_INS,
    ],
    [
      'an entity',
      async (name) => {
        const { entity_id } = await makeOften(name);
        return { method: 'DELETE', path: `identity/entity/id/${entity_id}` };
      },
      LOG_INS,
    ],
    [
      'an entity, with its sessions',
      async (name) => {
        const { entity_id } = await makeUserOfBoth(name);
        return { method: 'DELETE', path: `identity/entity/id/${entity_id}` };
      },
      SESSIONS,
    ],
    [
      'an entity that is disabled, with its sessions',
      async (name) => {
        const { entity_id } = await makeUserOfBoth(name);
        const path = `identity/entity/id/${entity_id}`;
        return { method: 'POST', path, body: { disabled: true } };
      },
      SESSIONS,
    ],
    [
      'a mount',
      async (name) => {
        await makeMount(name);
        return { method: 'DELETE', path: `sys/auth/${name}` };
      },
      SESSIONS,
    ],
  ];

  for (const [at, [what, make]] of AUTHORITY.entries()) {
    test(`${what}: asked for many times at once ends its pages once`, async () => {
      const { call } = world.broker.client;
      const { method, path, body } = await make(`somebody-${at}-at-once`);
      await endsOnce(world, path, () => call(method, path, body));
    });
  }

  for (const pages of [1, 0] as const) {
    const what_of = pages === 1 ? 'is told what has ended' : 'is told of nothing where nothing has';
    for (const [at, [what, make, page]] of AUTHORITY.entries()) {
      test(`${what}: who may no longer ${what_of}`, async () => {
        const { call } = world.broker.client;
        const { method, path, body } = await make(`somebody-${at}-${pages}`);
        const capabilities = 'capabilities = ["create", "update", "delete", "sudo"]';
        const policy = `path "${path}" { ${capabilities} }`;
        await must(call('POST', 'sys/policies/acl/may', { policy }));
        const made = await must(call('POST', 'auth/token/create', { policies: ['may'] }));
        const token = made.textAt('auth.client_token');
        const request = () => call(method, path, body, { token });
        const meanwhile = () => must(call('DELETE', 'sys/policies/acl/may'));
        const late = await between(world, path, pages, { request, meanwhile });
        assert.equal(late.status, 403, late.text);
        assert.match(late.text, /permission denied/);
        await tells(world, late, path, pages === 1 ? page : undefined);
        const again = await must(call(method, path, body));
        assert.equal(toldBy(again), undefined);
      });
    }
  }
});

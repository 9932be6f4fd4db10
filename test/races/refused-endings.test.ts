// A change that is refused has ended nothing, however much would have ended with it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PAGE } from '../../src/broker/resource/ending.ts';
import { MOST_SETS_OF_HOST } from '../../src/broker/resource/org-bounds/bounds.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Broker, type Person, startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const COUNT = PAGE + 7;

interface World {
  broker: Broker;
  holder: CommitHolder;
  /** Somebody with many log-ins. */
  user: Person;
  /** Is reached directly, and has many sessions. */
  direct: string;
  /** Is reached through a host of a set, and has as many. */
  through: string;
  host: string;
  host_set: string;
  host_catalog: string;
}

async function openWorld(
  t: { after(stop: () => Promise<void>): void },
  place: Place,
): Promise<World> {
  const holder = new CommitHolder();
  const broker = await startBroker(t, { place, store: holder.over });
  const { make, admin, project: scope_id, client } = broker;
  const { store } = client.running.app;
  const user = await broker.person(['ids=*;type=target;actions=authorize-session']);
  const host_catalog = await make('host-catalogs', { scope_id, type: 'static' });
  const host = await make('hosts', {
    host_catalog_id: host_catalog,
    type: 'static',
    attributes: { address: '10.0.0.5' },
  });
  const host_set = await make('host-sets', { host_catalog_id: host_catalog, type: 'static' });
  const fields = { scope_id, type: 'tcp', attributes: { default_port: 22 } };
  const through = await make('targets', { ...fields, name: 'through' });
  const direct = await make('targets', { ...fields, name: 'direct', address: '10.0.0.6' });
  await must(admin('POST', `host-sets/${host_set}:add-hosts`, { version: 1, host_ids: [host] }));
  const sources = { version: 1, host_source_ids: [host_set] };
  await must(admin('POST', `targets/${through}:add-host-sources`, sources));
  const changes = { id: numbered('id'), unique_key: numbered('unique_key') };
  for (const target of [direct, through]) {
    const made = await must(user.call('POST', `targets/${target}:authorize-session`, {}));
    const session = { of: { id: made.textAt('session_id') }, copies: COUNT };
    await copyRow(store, 'resource', { ...session, changes });
    await copyRow(store, 'session', { ...session, changes: { id: numbered('id') } });
  }
  const id = tokenIdOf(user.token);
  await copyRow(store, 'resource', { of: { id }, copies: COUNT, changes });
  await copyRow(store, 'resource_link', {
    of: { from_id: id },
    copies: COUNT,
    changes: { from_id: numbered('from_id') },
  });
  return { broker, holder, user, direct, through, host, host_set, host_catalog };
}

async function must(answer: Promise<Reply>): Promise<Reply> {
  const reply = await answer;
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`);
  return reply;
}

/** How many sessions go on, and log-ins the person has. */
async function countEnding({ broker, user }: World): Promise<{ live: number; log_ins: number }> {
  const { db } = broker.client.running.app;
  const live = await db
    .selectFrom('session')
    .select((row) => row.fn.countAll<number>().as('n'))
    .where('status', 'in', ['pending', 'active'])
    .executeTakeFirst();
  const log_ins = await db
    .selectFrom('resource')
    .select((row) => row.fn.countAll<number>().as('n'))
    .where('type', '=', 'auth-token')
    .where('owner_id', '=', user.user_id)
    .executeTakeFirst();
  return { live: Number(live?.n), log_ins: Number(log_ins?.n) };
}

/** A change that would end much: by whom, where, and what is sent with the present version. */
interface Change {
  method: 'PATCH' | 'POST' | 'DELETE';
  plural: 'targets' | 'host-sets' | 'users';
  id: string;
  verb?: string;
  body?: object;
}

const GONE: Record<string, (world: World) => Change> = {
  'the address of a target': ({ direct }) => ({
    method: 'PATCH',
    plural: 'targets',
    id: direct,
    body: { address: null },
  }),
  'the host sets of a target, set to none': ({ through }) => ({
    method: 'POST',
    plural: 'targets',
    id: through,
    verb: ':set-host-sources',
    body: { host_source_ids: [] },
  }),
  'a host set of a target': ({ through, host_set }) => ({
    method: 'POST',
    plural: 'targets',
    id: through,
    verb: ':remove-host-sources',
    body: { host_source_ids: [host_set] },
  }),
  'the hosts of a set, set to none': ({ host_set }) => ({
    method: 'POST',
    plural: 'host-sets',
    id: host_set,
    verb: ':set-hosts',
    body: { host_ids: [] },
  }),
  'a host of a set': ({ host_set, host }) => ({
    method: 'POST',
    plural: 'host-sets',
    id: host_set,
    verb: ':remove-hosts',
    body: { host_ids: [host] },
  }),
  'the accounts of a user, set to none': ({ user }) => ({
    method: 'POST',
    plural: 'users',
    id: user.user_id,
    verb: ':set-accounts',
    body: { account_ids: [] },
  }),
  'an account of a user': ({ user }) => ({
    method: 'POST',
    plural: 'users',
    id: user.user_id,
    verb: ':remove-accounts',
    body: { account_ids: [user.account_id] },
  }),
};

const DELETED: Record<string, (world: World) => Change> = {
  'a target': ({ direct }) => ({ method: 'DELETE', plural: 'targets', id: direct }),
  'a host set': ({ host_set }) => ({ method: 'DELETE', plural: 'host-sets', id: host_set }),
  'a user': ({ user }) => ({ method: 'DELETE', plural: 'users', id: user.user_id }),
};

const pathOf = ({ plural, id, verb = '' }: Change): string => `${plural}/${id}${verb}`;

async function versionOf({ broker }: World, { plural, id }: Change): Promise<number> {
  return Number((await must(broker.admin('GET', `${plural}/${id}`))).field('version'));
}

/** Holds a request that is about to write for the first time, until something else was done. */
async function whileHeld(
  { holder }: World,
  path: string,
  request: () => Promise<Reply>,
  meanwhile: () => Promise<unknown>,
): Promise<Reply> {
  const held = holder.hold(path);
  const asked = request();
  const early = await Promise.race([held.reached, asked]);
  assert.equal(early, undefined, `was to write: ${early?.text}`);
  await meanwhile().finally(held.letGo);
  return asked;
}

const ALL = { ...GONE, ...DELETED };

eachPlace('refused, and nothing has ended', (newPlace) => {
  let world: World;
  let all: { live: number; log_ins: number };
  const stops: (() => Promise<void>)[] = [];
  before(async () => {
    world = await openWorld({ after: (stop) => stops.push(stop) }, await newPlace());
    all = await countEnding(world);
    assert.ok(all.live > 2 * COUNT && all.log_ins > COUNT);
  });
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  const refuse = async (
    call: (method: string, path: string, body?: unknown) => Promise<Reply>,
    change: Change,
    status: number,
    more: object,
  ): Promise<void> => {
    const { method, body } = change;
    const reply = await call(method, pathOf(change), body && { ...body, ...more });
    assert.equal(reply.status, status, reply.text);
    assert.deepEqual(await countEnding(world), all);
  };

  for (const [what, changeOf] of Object.entries(GONE)) {
    test(`${what}: by a version that is not the present one`, async () => {
      const version = await versionOf(world, changeOf(world));
      for (const wrong of [version + 1, 999, ...(version > 1 ? [version - 1] : [])]) {
        await refuse(world.broker.admin, changeOf(world), 404, { version: wrong });
      }
    });

    test(`${what}: by a version that is changed while it is about to write`, async () => {
      const change = changeOf(world);
      const version = await versionOf(world, change);
      const { admin } = world.broker;
      const request = () => admin(change.method, pathOf(change), { ...change.body, version });
      const rename = () =>
        must(admin('PATCH', `${change.plural}/${change.id}`, { version, description: what }));
      const late = await whileHeld(world, pathOf(change), request, rename);
      assert.equal(late.status, 404, late.text);
      assert.deepEqual(await countEnding(world), all);
    });
  }

  for (const [what, changeOf] of Object.entries(ALL)) {
    test(`${what}: by somebody who may not`, async () => {
      const change = changeOf(world);
      const version = await versionOf(world, change);
      const reader = await world.broker.person(['ids=*;type=*;actions=read,list']);
      await refuse(reader.call, change, 403, { version });
    });

    test(`${what}: by somebody who may no longer when it is about to write`, async () => {
      const change = changeOf(world);
      const version = await versionOf(world, change);
      const person = await world.broker.person(['ids=*;type=*;actions=*']);
      const request = () =>
        person.call(change.method, pathOf(change), change.body && { ...change.body, version });
      const demote = () => must(world.broker.admin('DELETE', `roles/${person.role_id}`));
      const late = await whileHeld(world, pathOf(change), request, demote);
      assert.equal(late.status, 403, late.text);
      assert.deepEqual(await countEnding(world), all);
    });
  }

  test('the address of a target, with a name that another has', async () => {
    const change = GONE['the address of a target']?.(world);
    assert.ok(change);
    const version = await versionOf(world, change);
    await refuse(world.broker.admin, change, 400, { version, name: 'through' });
  });

  test('the address of a target, with a name that another gets when it is about to write', async () => {
    const { broker, direct } = world;
    const { admin, make, project: scope_id } = broker;
    const version = (await must(admin('GET', `targets/${direct}`))).field('version');
    const late = await whileHeld(
      world,
      `targets/${direct}`,
      () => admin('PATCH', `targets/${direct}`, { version, address: null, name: 'new' }),
      () =>
        make('targets', { scope_id, type: 'tcp', name: 'new', attributes: { default_port: 1 } }),
    );
    assert.equal(late.status, 400, late.text);
    assert.deepEqual(await countEnding(world), all);
  });

  test('the address of a target, with filters that exclude each other', async () => {
    const change = GONE['the address of a target']?.(world);
    assert.ok(change);
    const filters = { worker_filter: 'true', egress_worker_filter: 'true' };
    await refuse(world.broker.admin, change, 400, {
      version: await versionOf(world, change),
      ...filters,
    });
  });

  test('the host sets of a target, for one that goes when it is about to write', async () => {
    const { broker, through, host_catalog } = world;
    const host_set = await broker.make('host-sets', {
      host_catalog_id: host_catalog,
      type: 'static',
    });
    const path = `targets/${through}`;
    const version = (await must(broker.admin('GET', path))).field('version');
    const late = await whileHeld(
      world,
      `${path}:set-host-sources`,
      () =>
        broker.admin('POST', `${path}:set-host-sources`, { version, host_source_ids: [host_set] }),
      () => must(broker.admin('DELETE', `host-sets/${host_set}`)),
    );
    assert.equal(late.status, 400, late.text);
    assert.deepEqual(await countEnding(world), all);
  });

  test('the hosts of a set, for one that goes when it is about to write', async () => {
    const { broker, host_set, host_catalog } = world;
    const host = await broker.make('hosts', {
      host_catalog_id: host_catalog,
      type: 'static',
      attributes: { address: '10.0.0.7' },
    });
    const path = `host-sets/${host_set}`;
    const version = (await must(broker.admin('GET', path))).field('version');
    const late = await whileHeld(
      world,
      `${path}:set-hosts`,
      () => broker.admin('POST', `${path}:set-hosts`, { version, host_ids: [host] }),
      () => must(broker.admin('DELETE', `hosts/${host}`)),
    );
    assert.equal(late.status, 400, late.text);
    assert.deepEqual(await countEnding(world), all);
  });

  test('the hosts of a set, for one that is in as many sets as a host may be', async () => {
    const { broker, host_set, host_catalog: host_catalog_id } = world;
    const { make, admin } = broker;
    const attributes = { address: '10.0.0.8' };
    const wanted = await make('hosts', { host_catalog_id, type: 'static', attributes });
    for (let sets = 0; sets < MOST_SETS_OF_HOST; sets += 1) {
      const id = await make('host-sets', { host_catalog_id, type: 'static' });
      await must(admin('POST', `host-sets/${id}:add-hosts`, { version: 1, host_ids: [wanted] }));
    }
    const change: Change = {
      method: 'POST',
      plural: 'host-sets',
      id: host_set,
      verb: ':set-hosts',
    };
    const version = await versionOf(world, change);
    await refuse(admin, { ...change, body: { host_ids: [wanted] } }, 400, { version });
  });

  test('the accounts of a user, for one that another gets when it is about to write', async () => {
    const { broker, user } = world;
    const account_id = await broker.make('accounts', {
      auth_method_id: broker.auth_method,
      attributes: { login_name: 'wanted', password: 'password' },
    });
    const other = await broker.make('users', { scope_id: 'global' });
    const path = `users/${user.user_id}`;
    const version = (await must(broker.admin('GET', path))).field('version');
    const accounts = { account_ids: [account_id] };
    const late = await whileHeld(
      world,
      `${path}:set-accounts`,
      () => broker.admin('POST', `${path}:set-accounts`, { version, ...accounts }),
      () => must(broker.admin('POST', `users/${other}:set-accounts`, { version: 1, ...accounts })),
    );
    assert.equal(late.status, 400, late.text);
    assert.deepEqual(await countEnding(world), all);
  });

  test('and the same changes end everything where nothing refuses them', async () => {
    for (const what of ['the address of a target', 'a host of a set', 'an account of a user']) {
      const change = GONE[what]?.(world);
      assert.ok(change);
      const version = await versionOf(world, change);
      await must(world.broker.admin(change.method, pathOf(change), { ...change.body, version }));
    }
    assert.deepEqual(await countEnding(world), { live: 0, log_ins: 0 });
  });
});

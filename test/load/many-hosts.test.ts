// How many sets a host can be in, and how many aliases a target can have, has a bound: all of them are shown
// with it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import {
  MOST_ALIASES_OF_TARGET,
  MOST_SETS_OF_HOST,
} from '../../src/broker/resource/org-bounds/bounds.ts';
import { eachPlace } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { type Broker, refusedFields, startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const STATIC = { type: 'static' };

eachPlace('what is linked with one thing', (newPlace) => {
  let broker: Broker;
  let host_catalog_id = '';
  const holder = new CommitHolder();
  const stops: (() => unknown)[] = [];
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  before(async () => {
    const test = { after: (stop: () => Promise<void>) => stops.push(stop) };
    broker = await startBroker(test, { place: await newPlace(), store: holder.over });
    host_catalog_id = await broker.make('host-catalogs', { scope_id: broker.project, ...STATIC });
  });

  const store = () => broker.client.running.app.store;
  const newSet = (): Promise<string> => broker.make('host-sets', { host_catalog_id, ...STATIC });
  const newHost = (): Promise<string> =>
    broker.make('hosts', { host_catalog_id, ...STATIC, attributes: { address: '10.0.0.1' } });
  const add = (set: string, ...host_ids: string[]): Promise<Reply> =>
    broker.admin('POST', `host-sets/${set}:add-hosts`, { version: 1, host_ids });

  /** A host in as many sets as it may be in but for some. */
  async function hostWithRoomFor(room: number): Promise<string> {
    const [host, set] = [await newHost(), await newSet()];
    assert.equal((await add(set, host)).status, 200);
    const copies = MOST_SETS_OF_HOST - 1 - room;
    await copyRow(store(), 'resource', {
      of: { id: set },
      copies,
      changes: { id: sql`${sql.ref('id')} || n.i` },
    });
    await copyRow(store(), 'resource_link', {
      of: { to_id: host },
      copies,
      changes: { from_id: sql`${sql.ref('from_id')} || n.i` },
    });
    return host;
  }

  test('a host is put into as many sets as it may be in, also by many at once', async () => {
    const [host, other] = [await hostWithRoomFor(1), await newHost()];
    const sets = await Promise.all([newSet(), newSet(), newSet()]);
    const all = await Promise.all(sets.map((set) => add(set, other, host)));
    assert.deepEqual(all.map(({ status }) => status).sort(), [200, 400, 400]);
    for (const reply of all) {
      if (reply.status === 200) continue;
      assert.match(refusedFields(reply).host_ids ?? '', /at most 64 host sets/);
    }
    const last = await newSet();
    assert.equal((await add(last, other)).status, 200);
    const all_hosts = { version: 2, host_ids: [other, host] };
    const set = await broker.admin('POST', `host-sets/${last}:set-hosts`, all_hosts);
    assert.match(refusedFields(set).host_ids ?? '', /at most 64 host sets/);
  });

  test('a thousand hosts that are in as many sets as may be hold nobody up in their list', async () => {
    const host = await hostWithRoomFor(0);
    const name = sql`null`;
    await copyRow(store(), 'resource', {
      of: { id: host },
      copies: 1_000,
      changes: { id: numbered('id'), name },
    });
    await linkCopies(host);
    const path = `hosts?host_catalog_id=${host_catalog_id}&page_size=1000`;
    await holdsNobodyUp(async () => {
      const list = await broker.admin('GET', path);
      assert.equal(list.status, 200, list.text.slice(0, 300));
      const items = list.field('items') as { id: string; host_set_ids: string[] }[];
      const full = items.filter(({ id }) => id.endsWith(host));
      assert.ok(full.length > 900);
      for (const { host_set_ids } of full) assert.equal(host_set_ids.length, MOST_SETS_OF_HOST);
    });
  });

  test('a target gets as many aliases as it may have, made with it, beside it or moved to it', async () => {
    const { make, admin, project: scope_id } = broker;
    const tcp = { scope_id, type: 'tcp', attributes: { default_port: 22 } };
    const with_aliases = Array.from({ length: MOST_ALIASES_OF_TARGET - 1 }, (_, at) => ({
      scope_id: 'global',
      value: `a${at}.test`,
    }));
    const target = await make('targets', { ...tcp, name: 'full', with_aliases });
    const alias = (value: string, destination_id?: string): Promise<Reply> =>
      admin('POST', 'aliases', { scope_id: 'global', type: 'target', value, destination_id });
    const elsewhere = await alias(
      'elsewhere.test',
      await make('targets', { ...tcp, name: 'other' }),
    );
    const both = await Promise.all([alias('b1.test', target), alias('b2.test', target)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 400]);
    const why = /at most 100 aliases/;
    for (const reply of both) {
      if (reply.status === 400) assert.match(refusedFields(reply).destination_id ?? '', why);
    }
    assert.match(refusedFields(await alias('c.test', target)).destination_id ?? '', why);
    const change = (body: object): Promise<Reply> =>
      admin('PATCH', `aliases/${elsewhere.textAt('id')}`, { version: 1, ...body });
    assert.match(refusedFields(await change({ destination_id: target })).destination_id ?? '', why);
    const made = both.find(({ status }) => status === 200);
    const same = { version: 1, destination_id: target, value: 'renamed.test' };
    assert.equal((await admin('PATCH', `aliases/${made?.textAt('id')}`, same)).status, 200);
    assert.equal((await admin('DELETE', `aliases/${made?.textAt('id')}`)).status, 204);
    assert.equal((await change({ destination_id: target })).status, 200);
  });

  test('an alias that another was faster than is not moved to the target, and told so by its field', async () => {
    const { make, admin, project: scope_id } = broker;
    const with_aliases = Array.from({ length: MOST_ALIASES_OF_TARGET - 1 }, (_, at) => ({
      scope_id: 'global',
      value: `of${at}.test`,
    }));
    const tcp = { scope_id, type: 'tcp', attributes: { default_port: 22 } };
    const destination_id = await make('targets', { ...tcp, name: 'nearly full', with_aliases });
    const free = (value: string): Promise<string> =>
      make('aliases', { scope_id: 'global', type: 'target', value });
    const [slow, fast] = [await free('slow.test'), await free('fast.test')];
    const move = (id: string): Promise<Reply> =>
      admin('PATCH', `aliases/${id}`, { version: 1, destination_id });
    const held = holder.hold(`aliases/${slow}`);
    const late = move(slow);
    await held.reached;
    assert.equal((await move(fast)).status, 200);
    held.letGo();
    const refused = await late;
    assert.equal(refused.status, 400, refused.text);
    assert.deepEqual(Object.keys(refusedFields(refused)), ['destination_id']);
    assert.match(refusedFields(refused).destination_id ?? '', /at most 100 aliases/);
    const kept = await admin('GET', `aliases/${slow}`);
    assert.deepEqual([kept.field('version'), kept.field('destination_id')], [1, undefined]);
  });

  /** Puts copies of a host into the sets that it is in. */
  async function linkCopies(host: string): Promise<void> {
    await store().commit([
      {
        sql: `insert into resource_link (from_id, kind, to_id)
          select l.from_id, l.kind, r.id from resource_link l, resource r
          where l.to_id = $1 and r.type = 'host' and r.id like $2`,
        parameters: [host, `1%-${host}`],
      },
    ]);
  }
});

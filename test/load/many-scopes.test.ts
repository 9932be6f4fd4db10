import type { Asked } from '../../src/broker/resource/grants/verdict.ts';
// However many projects an org has, up to the bound, lists go on, a change of one is known at once and read
// alone, and the org can be removed.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { MOST_PROJECTS, MOST_SCOPES } from '../../src/broker/iam/scopes/room.ts';
import { GrantSet } from '../../src/broker/resource/grants/decision.ts';
import { noteScopes } from '../../src/broker/resource/scope-tree/store.ts';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow } from '../support/many-rows.ts';
import { headOf, openTalk } from '../support/raw-talk.ts';
import { type Broker, listedIds, refusedFields, startBroker } from '../support/seeded-broker.ts';
import { countAll, rowsOf, SetSizes } from '../support/set-sizes.ts';
import { holdsNobodyUp } from '../support/turns.ts';

const EVERYWHERE = 'auth-methods?scope_id=global&recursive=true';
const BARE = 'scopes?skip_admin_role_creation=true&skip_default_role_creation=true';

eachPlace('an org with as many projects as it may have', (newPlace) => {
  let broker: Broker;
  const stops: (() => unknown)[] = [];
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  let org = '';
  let first = '';
  const sizes = new SetSizes();

  async function fill(org_id: string, like: string, copies: number): Promise<void> {
    const changes = {
      id: sql`${sql.ref('id')} || n.i`,
      name: sql`null`,
      scope_id: sql`${org_id}`,
      container_id: sql`${org_id}`,
    };
    await copyRow(broker.client.running.app.store, 'resource', {
      of: { id: like },
      copies,
      changes,
    });
  }

  before(async () => {
    const test = { after: (stop: () => Promise<void>) => stops.push(stop) };
    broker = await startBroker(test, { place: await newPlace(), store: sizes.watch });
    org = await broker.make(BARE, { scope_id: 'global', name: 'full' });
    first = await broker.make(BARE, { scope_id: org, name: 'first' });
    await fill(org, first, MOST_PROJECTS - 2);
  });

  test('is looked through for a list only while its client is there', async (t) => {
    const { client, admin_token } = broker;
    const talk = await openTalk(client, '127.0.0.1');
    const { judge } = GrantSet.prototype;
    let judged = 0;
    t.mock.method(GrantSet.prototype, 'judge', function (this: GrantSet, asked: Asked) {
      // As if it took longer: thousands of roles may be asked.
      for (const until = performance.now() + 0.05; performance.now() < until; );
      if (++judged === 1_000) talk.socket.destroy();
      return judge.call(this, asked);
    });
    const target = `GET /v1/targets?scope_id=${org}&recursive=true`;
    talk.socket.write(headOf(client, target, [`Authorization: Bearer ${admin_token}`]));
    await talk.closed;
    for (let before = 0; before !== judged; ) {
      before = judged;
      for (let turn = 0; turn < 200; turn++) await nextTurn();
    }
    assert.ok(judged >= 1_000);
    assert.ok(judged < MOST_PROJECTS / 2, `${judged} of ${MOST_PROJECTS}`);
  });

  test('is looked through for few lists at once, and what is in one project waits for none of them', async (t) => {
    const { nobody, admin } = broker;
    const { judge } = GrantSet.prototype;
    const looked: string[] = [];
    t.mock.method(GrantSet.prototype, 'judge', function (this: GrantSet, asked: Asked) {
      if (asked.type === 'auth-method' && asked.action === 'list') looked.push(asked.scope_id);
      return judge.call(this, asked);
    });
    assert.equal((await nobody('GET', EVERYWHERE)).status, 200);
    // A list looks at the one first and at the other last.
    const [begins, ends] = [looked[0], looked.at(-1)];
    looked.length = 0;
    const wide = Array.from({ length: 20 }, (_, at) =>
      (at % 2 ? admin : nobody)('GET', EVERYWHERE),
    );
    let isWideOver = false;
    void Promise.all(wide).then(() => {
      isWideOver = true;
    });
    while (looked.length === 0) await nextTurn();
    assert.equal((await admin('GET', `targets?scope_id=${first}&recursive=true`)).status, 200);
    assert.equal(isWideOver, false);
    for (const reply of await Promise.all(wide)) assert.equal(reply.status, 200, reply.text);
    let present = 0;
    let most = 0;
    for (const scope_id of looked) {
      if (scope_id === begins) present += 1;
      most = Math.max(most, present);
      if (scope_id === ends) present -= 1;
    }
    assert.equal(present, 0);
    assert.ok(most >= 1 && most <= 4, `${most}`);
  });

  test('takes the last one and no other, in the field that says where', async () => {
    const { admin, make } = broker;
    const last = await make('scopes', { scope_id: org, name: 'last' });
    const refused = await admin('POST', 'scopes', { scope_id: org, name: 'more' });
    assert.equal(refused.status, 400, refused.text);
    assert.equal(refused.textAt('kind'), 'InvalidArgument');
    assert.deepEqual(refusedFields(refused), {
      scope_id: 'An org may have at most 10000 projects.',
    });
    assert.equal((await admin('DELETE', `scopes/${last}`)).status, 204);
    const again = await make(BARE, { scope_id: org, name: 'more' });
    assert.equal((await admin('DELETE', `scopes/${again}`)).status, 204);
  });

  test('of many at once as many are made as there is room for', async () => {
    const { admin } = broker;
    const all = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => admin('POST', BARE, { scope_id: org, name })),
    );
    const made = all.filter(({ status }) => status === 200);
    assert.equal(made.length, 1);
    for (const reply of all) {
      if (reply.status === 200) continue;
      assert.equal(reply.status, 400, reply.text);
      assert.deepEqual(Object.keys(refusedFields(reply)), ['scope_id']);
    }
    assert.equal((await admin('DELETE', `scopes/${made[0]?.textAt('id')}`)).status, 204);
  });

  test('holds nobody up: neither by recursive lists nor after a change', async () => {
    const { admin, nobody, make } = broker;
    const target = await make('targets', {
      scope_id: first,
      type: 'tcp',
      name: 't',
      attributes: { default_port: 1 },
    });
    type Change = () => Promise<unknown>;
    const ask = async (call: Broker['admin'], path: string, prepare: Change): Promise<string[]> => {
      let ids: string[] = [];
      await holdsNobodyUp(
        async () => {
          const reply = await call('GET', path);
          assert.equal(reply.status, 200, reply.text.slice(0, 300));
          ids = listedIds(reply);
        },
        { what: path, prepare },
      );
      return ids;
    };
    const { store } = broker.client.running.app;
    const changes: Change[] = [
      () => store.commit([...noteScopes({ ids: [first] }), bumpConfigVersion()]),
      () => make('groups', { scope_id: 'global' }),
      async () => {},
    ];
    for (const change of changes) {
      const everywhere = '?scope_id=global&recursive=true';
      assert.ok((await ask(nobody, `auth-methods${everywhere}`, change)).length > 0);
      assert.equal((await ask(nobody, `scopes${everywhere}&page_size=1000`, change)).length, 1000);
      assert.equal((await ask(admin, `scopes${everywhere}&page_size=1000`, change)).length, 1000);
      assert.ok((await ask(admin, `targets${everywhere}`, change)).includes(target));
    }
  });

  test('is read anew where one project changed by that alone, by whatever it changed', async () => {
    const { admin, make, client } = broker;
    const scopeOf = async (id: string): Promise<unknown> => {
      const made = await make('groups', { scope_id: id });
      return (await admin('GET', `groups/${made}`)).field('scope');
    };
    const project = await make(BARE, { scope_id: org, name: 'one' });
    const shown = { id: project, type: 'project', name: 'one', parent_scope_id: org };
    assert.deepEqual(await scopeOf(project), shown);
    const renamed = await admin('PATCH', `scopes/${project}`, {
      version: 1,
      name: 'two',
    });
    assert.equal(renamed.status, 200, renamed.text);
    assert.deepEqual(await scopeOf(project), { ...shown, name: 'two' });
    // As another node does, and as something does that says nothing of what it changed.
    const { store } = client.running.app;
    for (const [at, note] of [noteScopes({ ids: [project] }), []].entries()) {
      const name = `changed ${at}`;
      await store.commit([
        { sql: `update resource set name = $1 where id = $2`, parameters: [name, project] },
        ...note,
        bumpConfigVersion(),
      ]);
      assert.deepEqual(await scopeOf(project), { ...shown, name });
    }
    assert.equal((await admin('DELETE', `scopes/${project}`)).status, 204);
    assert.equal((await admin('GET', `groups?scope_id=${project}`)).status, 404);
  });

  test('is removed with all of them by small write sets', async () => {
    const { db } = broker.client.running.app;
    const inside = { all: rowsOf('resource', sql`scope_id = ${org} or id = ${org}`) };
    sizes.begin(inside);
    await holdsNobodyUp(
      async () => {
        const removed = await broker.admin('DELETE', `scopes/${org}`);
        assert.equal(removed.status, 204, removed.text);
      },
      { attempts: 1 },
    );
    assert.deepEqual(await countAll(db, inside), { all: 0 });
    const { most, sets } = sizes.of('all');
    assert.ok(most <= 200 && sets >= MOST_PROJECTS / 100 - 1, `${most} in one of ${sets}`);
    assert.equal((await broker.admin('GET', `scopes/${org}`)).status, 404);
  });

  test('a server takes no more than fifty thousand scopes', async () => {
    const { make, admin } = broker;
    const orgs = await Promise.all(
      [1, 2, 3, 4, 5].map((n) => make(BARE, { scope_id: 'global', name: `o${n}` })),
    );
    for (const one of orgs) {
      const like = await make(BARE, { scope_id: one, name: 'like' });
      await fill(one, like, MOST_SCOPES / 5 - 20);
    }
    const another = await make(BARE, { scope_id: 'global', name: 'other' });
    const like = await make(BARE, { scope_id: another, name: 'like' });
    const { db } = broker.client.running.app;
    const counts = { scopes: rowsOf('resource', sql`type = 'scope'`) };
    const { scopes = 0 } = await countAll(db, counts);
    await fill(another, like, MOST_SCOPES - scopes);
    for (const [scope_id, name] of [
      [another, 'p'],
      ['global', 'o'],
    ]) {
      const refused = await admin('POST', BARE, { scope_id, name });
      assert.equal(refused.status, 400, refused.text);
      assert.deepEqual(refusedFields(refused), {
        scope_id: 'There may be at most 50000 scopes, orgs and projects together.',
      });
    }
    await holdsNobodyUp(async () => {
      const list = await broker.nobody('GET', 'auth-methods?scope_id=global&recursive=true');
      assert.equal(list.status, 200);
    });
  });
});

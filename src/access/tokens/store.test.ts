import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import type { Client } from 'pg';
import { openTestApp, requireTestMount } from '../../../test/support/app.ts';
import { connectTo, eachPlace, type Place } from '../../../test/support/engines.ts';
import type { Store } from '../../store/store.ts';
import type { Write } from '../../store/write.ts';
import { ENDED } from './ended.ts';
import { deleteAlone, deleteTree, deleteTreesOf } from './ending.store.ts';
import { tidyTokens } from './expiration.operations.ts';
import { holdLine, isLineDead, listDead, listLine, listLiving } from './line.store.ts';
import { findToken, insertToken, renewToken, useToken } from './store.ts';
import type { Token } from './token.ts';

function token(id: string, parent_id?: string, mount_id = ''): Token {
  return {
    id,
    accessor: `accessor of ${id}`,
    type: 'service',
    parent_id,
    mount_id,
    expires_at: undefined,
    uses_left: 0,
    renewed_at: undefined,
    policies: [],
    path: 'auth/token/create',
    meta: null,
    display_name: 'token',
    num_uses: 0,
    created_at: 0,
    creation_ttl: 0,
    explicit_max_ttl: 0,
    role_max_ttl: 0,
    period: 0,
    renewable: false,
    role: '',
    entity_id: '',
    bound_cidrs: [],
  };
}

const NOW = 1_800_000_000;

/** root, its child and grandchild, and one that has nothing to do with them. */
const FAMILY = [
  token('root'),
  token('child', 'root'),
  token('grandchild', 'child'),
  token('unrelated'),
];

const named = sql<string>`(select id from token where accessor = 'accessor of root')`;

/** What lives of the tokens, with what is above each. */
const endings: [name: string, ends: () => Write[], left: Record<string, string>][] = [
  ['one tree', () => [deleteTree('root')], { unrelated: '' }],
  ['the trees that a question names', () => [deleteTreesOf(named)], { unrelated: '' }],
  [
    'one token alone',
    () => deleteAlone('root'),
    { child: '', grandchild: 'child', unrelated: '', late: '' },
  ],
];

/** Removes what is left, as the job does. */
async function removeRemains(store: Store): Promise<void> {
  const { app } = await openTestApp(store);
  await tidyTokens(app, { commit: (effects) => store.commit(effects), stopping: false });
}

async function listRows(store: Store): Promise<Record<string, string>> {
  const rows = await store.db.selectFrom('token').select(['id', 'parent_id']).execute();
  return Object.fromEntries(rows.map((row) => [row.id, row.parent_id ?? '']));
}

async function connect(place: Place, t: TestContext): Promise<Client> {
  const client = await connectTo(place);
  t.after(() => client.end());
  return client;
}

/** Returns once the committer waits for somebody else's row. */
async function seeWaiting(beside: Client): Promise<void> {
  for (;;) {
    const { rowCount } = await beside.query(
      `select from pg_locks join pg_stat_activity using (pid)
        where not granted and application_name like 'gatehouse committer%'
          and datname = current_database()`,
    );
    if (rowCount !== 0) return;
  }
}

eachPlace('tokens', (newPlace, engine) => {
  for (const [name, ends, left] of endings) {
    test(`an ending of ${name} is in force at once, and its rows go later`, async () => {
      const store = await (await newPlace()).open();
      await store.commit(FAMILY.map(insertToken));
      await store.commit(ends());
      const { late: _, ...rest } = left;
      const dead = await listDead(store.db, Object.keys(await listRows(store)), NOW);
      assert.deepEqual(
        [...dead].sort(),
        ['child', 'grandchild', 'root', 'unrelated'].filter((id) => !(id in rest)),
      );
      assert.equal(await isLineDead(store.db, 'root', NOW), !('child' in rest));
      const living = await listLiving(store.db, [...FAMILY.map(({ id }) => id), 'absent'], NOW);
      assert.deepEqual([...living.keys()].sort(), Object.keys(rest).sort());
      for (const { id } of FAMILY) {
        const held = store.commit([holdLine({ id, accessor: '' })]);
        if (id in rest) await held;
        else await assert.rejects(held, { kind: 'conflict' });
      }
      await removeRemains(store);
      assert.deepEqual(await listRows(store), rest);
    });
  }

  test('of a line no more is read than who they are, however much each may do', async () => {
    const store = await (await newPlace()).open();
    const policies = ['p'.repeat(60_000)];
    await store.commit(FAMILY.map((one) => insertToken({ ...one, policies })));
    const line = new Map((await listLine(store.db, 'grandchild')).map((one) => [one.id, one]));
    assert.equal(line.size, 3);
    for (const id of ['root', 'child', 'grandchild']) {
      assert.deepEqual(line.get(id), { id, mount_id: '' });
    }
  });

  test('what was ended stays ended in the way that it was', async () => {
    const store = await (await newPlace()).open();
    await store.commit(FAMILY.map(insertToken));
    await store.commit(deleteAlone('child'));
    await store.commit([deleteTree('child')]);
    assert.deepEqual([...(await listDead(store.db, ['grandchild'], NOW))], []);
    await store.commit([deleteTree('root')]);
    assert.deepEqual([...(await listDead(store.db, ['grandchild', 'child'], NOW))], ['child']);
    await assert.rejects(store.commit(deleteAlone('root')), { kind: 'conflict' });
    const times = { expires_at: NOW + 9, renewed_at: NOW };
    for (const expires_at of [NOW + 60, ENDED]) {
      const renewed = renewToken({ id: 'root', expires_at }, times);
      await assert.rejects(store.commit([renewed]), { kind: 'conflict' });
    }
    await assert.rejects(store.commit([useToken({ id: 'root', ends: NOW + 60 })]), {
      kind: 'conflict',
    });
    await removeRemains(store);
    assert.deepEqual(await listRows(store), { grandchild: '', unrelated: '' });
  });

  test('who descends from a token of a mount that is gone is dead', async () => {
    const store = await (await newPlace()).open();
    await store.commit([token('root', undefined, 'gone'), ...FAMILY.slice(1)].map(insertToken));
    const { app } = await openTestApp(store);
    const mount = await requireTestMount(app, 'auth/token/');
    const [kept, made] = [token('kept', undefined, mount.id), token('made', 'kept')];
    await store.commit([kept, made].map(insertToken));
    const ids = ['root', 'child', 'grandchild', 'kept', 'made'];
    const dead = await listDead(store.db, ids, NOW);
    assert.deepEqual([...dead].sort(), ['child', 'grandchild', 'root']);
    assert.deepEqual(
      [await isLineDead(store.db, 'child', NOW), await isLineDead(store.db, 'made', NOW)],
      [true, false],
    );
  });

  if (engine !== 'postgres') return;

  for (const [name, ends, left] of endings) {
    for (const parent of ['root', 'grandchild']) {
      test(`an ending of ${name} is done while another node makes a child of the ${parent}`, async (t) => {
        const place = await newPlace();
        const store = await place.open();
        await store.commit(FAMILY.map(insertToken));
        const [maker, watcher] = [await connect(place, t), await connect(place, t)];
        // As a request does: it holds the line of the token that it came with.
        await maker.query('begin');
        for (const { sql: text, parameters } of [
          holdLine({ id: parent, accessor: '' }),
          insertToken(token('late', parent)),
        ]) {
          await maker.query(text, [...parameters]);
        }
        const ending = store.commit(ends());
        await seeWaiting(watcher);
        await maker.query('commit');
        await ending;
        const dead = await listDead(store.db, ['late'], NOW);
        assert.equal(dead.has('late'), left.late === undefined);
        await removeRemains(store);
        const { late: _, ...rest } = left;
        const above = parent === 'root' ? '' : parent;
        assert.deepEqual(
          await listRows(store),
          left.late === undefined ? rest : { ...rest, late: above },
        );
      });
    }

    test(`who makes a child meets an ending of ${name} that is under way, and is refused after it`, async (t) => {
      const place = await newPlace();
      const store = await place.open();
      await store.commit(FAMILY.map(insertToken));
      const [ender, watcher] = [await connect(place, t), await connect(place, t)];
      await ender.query('begin');
      for (const { sql: text, parameters } of ends()) await ender.query(text, [...parameters]);
      const making = store.commit([
        holdLine({ id: left.late === undefined ? 'grandchild' : 'root', accessor: '' }),
        insertToken(token('late', 'grandchild')),
      ]);
      const refused = assert.rejects(making, { kind: 'conflict' });
      await seeWaiting(watcher);
      await ender.query('commit');
      await refused;
      assert.equal(await findToken(store.db, 'late'), undefined);
    });
  }
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { Client } from 'pg';
import { eachPlace, type Place } from '../../../test/support/engines.ts';
import type { Write } from '../../store/write.ts';
import {
  deleteAlone,
  deleteTokensOfMount,
  deleteTree,
  deleteTreesOf,
  findToken,
  insertToken,
} from './store.ts';
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

/** root, its child and grandchild, and one that has nothing to do with them. */
const FAMILY = [
  token('root', undefined, 'mount'),
  token('child', 'root'),
  token('grandchild', 'child'),
  token('stranger', undefined, 'other'),
];

const named = sql<string>`(select id from token where accessor = 'accessor of root')`;

/** What is left of the tokens, with what is above each. */
const deletions: [name: string, deletes: () => Write[], left: Record<string, string>][] = [
  ['one tree', () => [deleteTree('root')], { stranger: '' }],
  ['the trees of a mount', () => [deleteTokensOfMount('mount')], { stranger: '' }],
  ['the trees that a question names', () => [deleteTreesOf(named)], { stranger: '' }],
  [
    'one token alone',
    () => deleteAlone('root'),
    { child: '', grandchild: 'child', stranger: '', late: '' },
  ],
];

async function connect(place: Place, t: TestContext): Promise<Client> {
  const options = place.options();
  assert.ok(options.engine === 'postgres');
  const client = new Client({ connectionString: options.url });
  await client.connect();
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
  for (const [name, deletes, left] of deletions) {
    test(`a deletion of ${name} leaves what is not below it`, async () => {
      const store = await (await newPlace()).open();
      await store.commit(FAMILY.map(insertToken));
      await store.commit(deletes());
      const rows = await store.db.selectFrom('token').select(['id', 'parent_id']).execute();
      const { late: _, ...rest } = left;
      assert.deepEqual(Object.fromEntries(rows.map((row) => [row.id, row.parent_id ?? ''])), rest);
    });
  }

  if (engine !== 'postgres') return;

  for (const [name, deletes, left] of deletions) {
    for (const parent of ['root', 'grandchild']) {
      test(`a deletion of ${name} is done while another node makes a child of the ${parent}`, async (t) => {
        const place = await newPlace();
        const store = await place.open();
        await store.commit(FAMILY.map(insertToken));
        const [maker, watcher] = [await connect(place, t), await connect(place, t)];
        const { sql: text, parameters } = insertToken(token('late', parent));
        await maker.query('begin');
        await maker.query(text, [...parameters]);
        const deleting = store.commit(deletes());
        const waits = deleting.then(() => false);
        // Nobody waits where the tree is not touched: the grandchild of one that goes alone.
        if (left.late === undefined || parent === 'root') {
          await Promise.race([seeWaiting(watcher), waits]);
        } else {
          await deleting;
        }
        await maker.query('commit');
        await deleting;
        const late = await findToken(store.db, 'late');
        if (left.late === undefined) assert.equal(late, undefined);
        else assert.equal(late?.parent_id, parent === 'root' ? undefined : parent);
        assert.equal(await findToken(store.db, 'root'), undefined);
        assert.ok(await findToken(store.db, 'stranger'));
      });
    }
  }

  test('a line that grows under the deletion goes with it, and the late end is refused', async (t) => {
    const place = await newPlace();
    const store = await place.open();
    await store.commit(FAMILY.map(insertToken));
    const [maker, watcher] = [await connect(place, t), await connect(place, t)];
    await maker.query('begin');
    let above = 'grandchild';
    for (const id of ['late-1', 'late-2', 'late-3']) {
      const { sql: text, parameters } = insertToken(token(id, above));
      await maker.query(text, [...parameters]);
      above = id;
    }
    const deleting = store.commit([deleteTree('root')]);
    await seeWaiting(watcher);
    await maker.query('commit');
    await deleting;
    const rows = await store.db.selectFrom('token').select('id').execute();
    assert.deepEqual(rows, [{ id: 'stranger' }]);
    const { conflict } = insertToken(token('later', above));
    const refused = store.commit([insertToken(token('later', above))]);
    await assert.rejects(refused, { kind: 'conflict', message: conflict });
  });
});

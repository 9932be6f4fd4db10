import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { eachEngine } from '../../../test/support/engines.ts';
import { listRemovedIds } from '../../../test/support/removals.ts';
import { makeResource } from '../../../test/support/resources.ts';
import { isConflict } from '../../core/failure.ts';
import { compareIds } from '../../store/in-blocks.ts';
import type { Store } from '../../store/store.ts';
import type { Effect } from '../../store/write.ts';
import { listPlacesById, listResourcesById } from './by-ids.store.ts';
import { lockResource } from './holds.store.ts';
import {
  deleteLink,
  deleteLinks,
  insertLink,
  insertLinks,
  type LinkKind,
  listLinksFrom,
  listLinksOfAll,
  listLinksToAll,
  listSomeLinksFrom,
} from './links/store.ts';
import { readRemovedSequence } from './lists/removals.store.ts';
import { removeResources } from './removals.store.ts';
import {
  changeResource,
  findResource,
  findResourceByKey,
  findResourceByName,
  insertResource,
  listContained,
  listKeyed,
  listOfType,
  saveResource,
} from './store.ts';

const refused = (store: Store, effects: Effect[]): Promise<void> =>
  assert.rejects(store.commit(effects), isConflict);

/** Waits until somebody waits for a lock of this connection's transaction. */
async function untilWaiting(holder: Client): Promise<void> {
  for (;;) {
    const { rows } = await holder.query<{ waiting: boolean }>(
      `select exists (select from pg_stat_activity
        where pg_backend_pid() = any (pg_blocking_pids(pid))) as waiting`,
    );
    if (rows[0]?.waiting) return;
  }
}

eachEngine('resources', (open, engine) => {
  test('a resource reads back as it was written, by its id, its name and its key', async () => {
    const store = await open();
    const resource = makeResource('alt_1', {
      scope_id: 'global',
      name: 'Größe 🙂',
      description: 'a "text"\nof two lines',
      unique_key: 'db.example',
      version: 7,
      created_ms: 1_800_000_000_123,
      updated_ms: 1_800_000_000_456,
      body: { value: 'DB.example', list: [1, { a: null }] },
      secret_sealed: Uint8Array.of(0, 255, 1),
    });
    await store.commit([insertResource(resource)]);
    const { db } = store;
    const plain = (found: object | undefined) =>
      found && { ...found, secret_sealed: [...(Reflect.get(found, 'secret_sealed') ?? [])] };
    assert.deepEqual(plain(await findResource(db, 'alt_1')), plain(resource));
    assert.equal((await findResourceByKey(db, 'alias', 'db.example'))?.id, 'alt_1');
    assert.equal((await findResourceByName(db, 'alias', 'global', 'Größe 🙂'))?.id, 'alt_1');
    assert.equal(await findResource(db, 'alt_2'), undefined);
    assert.equal(await findResourceByKey(db, 'target', 'db.example'), undefined);
    assert.equal(await findResourceByName(db, 'alias', 'p_1', 'Größe 🙂'), undefined);
  });

  test('of where many things lie no more is read than that', async () => {
    const store = await open();
    const ids = Array.from({ length: 600 }, (_, at) => `u_${1_000 + at}`);
    const long = { description: 'x'.repeat(1_000), body: { kept: 'y'.repeat(1_000) } };
    await store.commit(ids.map((id) => insertResource(makeResource(id, { ...long }))));
    const found = await listPlacesById(store.db, [...ids, ...ids, 'u_none']);
    assert.deepEqual(
      found.sort((a, b) => compareIds(a.id, b.id)).map((place) => ({ ...place })),
      ids.map((id) => {
        const { type, scope_id, container_id, owner_id } = makeResource(id);
        return { id, type, scope_id, container_id, owner_id };
      }),
    );
    assert.deepEqual(await listPlacesById(store.db, []), []);
  });

  test('a name is taken once for its type and place, and no name any number of times', async () => {
    const store = await open();
    await store.commit([
      insertResource(makeResource('ttcp_1', { name: 'web' })),
      insertResource(makeResource('ttcp_2', { name: null })),
      insertResource(makeResource('ttcp_3', { name: null })),
      insertResource(makeResource('hcst_1', { name: 'web' })),
      insertResource(makeResource('ttcp_4', { name: 'web', scope_id: 'p_2' })),
      insertResource(makeResource('ttcp_5', { name: 'Web' })),
    ]);
    await refused(store, [insertResource(makeResource('ttcp_6', { name: 'web' }))]);
    await refused(store, [changeResource('ttcp_2', 1, { name: 'web' })]);
    await store.commit([changeResource('ttcp_1', 1, { name: null })]);
    await store.commit([changeResource('ttcp_2', 1, { name: 'web' })]);
  });

  test('a key is taken once for its type wherever it lies', async () => {
    const store = await open();
    await store.commit([
      insertResource(makeResource('alt_1', { unique_key: 'db' })),
      insertResource(makeResource('alt_2')),
      insertResource(makeResource('alt_3')),
      insertResource(makeResource('u_1', { unique_key: 'db' })),
    ]);
    await refused(store, [
      insertResource(makeResource('alt_4', { unique_key: 'db', scope_id: 'p_2' })),
    ]);
  });

  test('a change needs the version that it was decided on, and leaves another one', async () => {
    const store = await open();
    const one = makeResource('ttcp_1', { name: 'a' });
    await store.commit([insertResource(one)]);
    await refused(store, [changeResource('ttcp_1', 2, { name: 'b' })]);
    await refused(store, [saveResource({ ...one, name: 'b', version: 3 }, 2)]);
    await refused(store, [changeResource('ttcp_2', 1, { name: 'b' })]);
    await store.commit([changeResource('ttcp_1', 1, { name: 'b' })]);
    await refused(store, [changeResource('ttcp_1', 1, { name: 'c' })]);
    const found = await findResource(store.db, 'ttcp_1');
    assert.deepEqual([found?.name, found?.version], ['b', 2]);
  });

  test('of 16 changes on the same version one is made', async () => {
    const store = await open();
    await store.commit([insertResource(makeResource('ttcp_1'))]);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 16 }, (_, at) =>
        store.commit([changeResource('ttcp_1', 1, { name: `name-${at}` })]),
      ),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal((await findResource(store.db, 'ttcp_1'))?.version, 2);
  });

  test('a change leaves alone what it does not name, whatever it has become meanwhile', async () => {
    const store = await open();
    const account = makeResource('acctpw_1', { body: { login_name: 'ann' }, unique_key: 'm:ann' });
    await store.commit([insertResource(account)]);
    // Whose an account is changes without its version.
    await store.commit([saveResource({ ...account, owner_id: 'u_1' }, 1)]);
    await store.commit([changeResource('acctpw_1', 1, { name: 'x', updated_ms: 2_000 })]);
    const found = await findResource(store.db, 'acctpw_1');
    assert.deepEqual(
      { ...found, secret_sealed: null },
      { ...account, owner_id: 'u_1', name: 'x', updated_ms: 2_000, version: 2 },
    );
  });

  test('a link leads to what is there, where it is expected, once', async () => {
    const store = await open();
    const link = (to_id: string, from_id = 'ttcp_1', kind: LinkKind = 'target-host-source') => ({
      from_id,
      kind,
      to_id,
    });
    await store.commit([
      insertResource(makeResource('hsst_1', { container_id: 'hcst_1' })),
      insertResource(makeResource('hsst_2', { scope_id: 'p_2', container_id: 'hcst_2' })),
      insertResource(makeResource('ttcp_1')),
      insertResource(makeResource('ttcp_2')),
    ]);
    await refused(store, [insertLink(link('hsst_0'))]);
    await refused(store, [insertLink(link('hsst_1', 'ttcp_0'))]);
    await refused(store, [insertLink(link('hsst_2'), { scope_id: 'p_1' })]);
    await refused(store, [insertLink(link('hsst_1'), { container_id: 'hcst_2' })]);
    await refused(store, [insertLink(link('hsst_1'), { scope_id: 'p_1', container_id: 'hcst_2' })]);
    await store.commit([
      insertLink(link('hsst_1'), { scope_id: 'p_1', container_id: 'hcst_1' }),
      insertLink(link('hsst_2')),
      insertLink(link('hsst_1', 'ttcp_2')),
      insertLink(link('hsst_1', 'ttcp_1', 'target-brokered')),
    ]);
    await refused(store, [insertLink(link('hsst_1'))]);
    const { db } = store;
    assert.deepEqual(await listLinksFrom(db, 'ttcp_1', 'target-host-source'), ['hsst_1', 'hsst_2']);
    assert.equal(
      (await listLinksOfAll(db, ['ttcp_1'], ['target-host-source', 'target-brokered'])).length,
      3,
    );
    assert.deepEqual(await listLinksToAll(db, ['hsst_2'], 'target-host-source'), [
      { from_id: 'ttcp_1', to_id: 'hsst_2' },
    ]);
    assert.deepEqual(await listLinksToAll(db, [], 'target-host-source'), []);
    await store.commit([deleteLink(link('hsst_2'))]);
    await refused(store, [deleteLink(link('hsst_2'))]);
  });

  test('links of many are made, and taken away, all or none', async () => {
    const store = await open();
    const ids = Array.from({ length: 1_201 }, (_, at) => `hsst_${String(at).padStart(4, '0')}`);
    await store.commit([
      insertResource(makeResource('ttcp_1')),
      ...ids.map((id) => insertResource(makeResource(id, { container_id: 'hcst_1' }))),
    ]);
    const links = (to_ids: string[]) =>
      ({ from_id: 'ttcp_1', kind: 'target-host-source', to_ids }) as const;
    const listed = () => listLinksFrom(store.db, 'ttcp_1', 'target-host-source');
    await refused(store, insertLinks(links([...ids, 'hsst_none'])));
    await refused(store, insertLinks(links(ids), { container_id: 'hcst_2' }));
    assert.deepEqual(await listed(), []);
    await store.commit(insertLinks(links(ids), { container_id: 'hcst_1' }));
    assert.deepEqual(await listed(), ids);
    const some = (after: string, limit: number) =>
      listSomeLinksFrom(store.db, links([]), { after, limit });
    assert.deepEqual(await some('', 500), ids.slice(0, 500));
    assert.deepEqual(await some(String(ids[499]), 2_000), ids.slice(500));
    assert.deepEqual(await some(String(ids[1_200]), 500), []);
    await refused(store, deleteLinks(links([...ids, 'hsst_none'])));
    await store.commit(deleteLinks(links(ids.slice(1))));
    assert.deepEqual(await listed(), ids.slice(0, 1));
    assert.deepEqual([insertLinks(links([])), deleteLinks(links([]))], [[], []]);
  });

  test('a removal takes what is inside and every link, and notes each id', async () => {
    const store = await open();
    const link = (from_id: string, kind: LinkKind, to_id: string) =>
      insertLink({ from_id, kind, to_id });
    await store.commit([
      insertResource(makeResource('hcst_1')),
      insertResource(makeResource('hsst_1', { container_id: 'hcst_1' })),
      insertResource(makeResource('hst_1', { container_id: 'hcst_1' })),
      insertResource(makeResource('hcst_2')),
      insertResource(makeResource('hst_2', { container_id: 'hcst_2' })),
      insertResource(makeResource('ttcp_1')),
      link('hsst_1', 'host-set-host', 'hst_1'),
      link('ttcp_1', 'target-host-source', 'hsst_1'),
    ]);
    const before = await readRemovedSequence(store.db);
    await store.commit(removeResources({ id: 'hcst_1' }, 1_800_000_000_000));
    const ids = ['hcst_1', 'hsst_1', 'hst_1', 'hcst_2', 'hst_2', 'ttcp_1'];
    const left = await listResourcesById(store.db, ids);
    assert.deepEqual(left.map(({ id }) => id).sort(), ['hcst_2', 'hst_2', 'ttcp_1']);
    assert.deepEqual(await listLinksFrom(store.db, 'ttcp_1', 'target-host-source'), []);
    assert.deepEqual(await listLinksFrom(store.db, 'hsst_1', 'host-set-host'), []);
    const range = { after: before, upTo: await readRemovedSequence(store.db) };
    const within = ['p_1', 'hcst_1'];
    assert.deepEqual(await listRemovedIds(store.db, 'host', range, within), ['hst_1']);
    assert.deepEqual(await listRemovedIds(store.db, 'host-catalog', range, within), ['hcst_1']);
    assert.deepEqual(await listRemovedIds(store.db, 'host', range, ['p_1']), []);
    assert.deepEqual(await listRemovedIds(store.db, 'target', range, within), []);
  });

  test('with a scope goes everything in it and in the scopes within, and nothing beside', async () => {
    const store = await open();
    const scope = (id: string, scope_id: string) => insertResource(makeResource(id, { scope_id }));
    await store.commit([
      scope('o_1', 'global'),
      scope('o_2', 'global'),
      scope('p_1', 'o_1'),
      scope('p_2', 'o_1'),
      scope('p_9', 'o_2'),
      insertResource(makeResource('ttcp_1')),
      insertResource(makeResource('hst_1', { container_id: 'hcst_1' })),
      insertResource(makeResource('ttcp_2', { scope_id: 'p_2' })),
      insertResource(makeResource('ttcp_9', { scope_id: 'p_9' })),
      insertResource(makeResource('u_1', { scope_id: 'o_1' })),
      insertResource(makeResource('u_2', { scope_id: 'global' })),
    ]);
    // The projects are not named: one made at the last moment goes as well.
    await store.commit(removeResources({ scope_ids: ['o_1'] }, 1_000));
    const ids = [
      'o_1',
      'p_1',
      'p_2',
      'ttcp_1',
      'hst_1',
      'ttcp_2',
      'u_1',
      'o_2',
      'p_9',
      'ttcp_9',
      'u_2',
    ];
    const left = await listResourcesById(store.db, ids);
    assert.deepEqual(left.map(({ id }) => id).sort(), ['o_2', 'p_9', 'ttcp_9', 'u_2']);
    const range = { after: 0, upTo: await readRemovedSequence(store.db) };
    assert.deepEqual(await listRemovedIds(store.db, 'scope', range, ['global', 'o_1']), [
      'o_1',
      'p_1',
      'p_2',
    ]);
  });

  test('some that contain nothing are removed in one step', async () => {
    const store = await open();
    await store.commit(['at_1', 'at_2', 'at_3'].map((id) => insertResource(makeResource(id))));
    const before = await readRemovedSequence(store.db);
    await store.commit(removeResources({ ids: ['at_1', 'at_3'] }, 1_000));
    assert.equal(await readRemovedSequence(store.db), before + 1);
    assert.deepEqual(
      (await listContained(store.db, 'auth-token', 'p_1')).map(({ id }) => id),
      ['at_2'],
    );
  });

  test('what is put into something that is gone is refused', async () => {
    const store = await open();
    await store.commit([insertResource(makeResource('p_1', { scope_id: 'o_1' }))]);
    const put = (id: string): Effect[] => [lockResource('p_1'), insertResource(makeResource(id))];
    await store.commit(put('ttcp_1'));
    await store.commit(removeResources({ scope_ids: ['p_1'] }, 1_000));
    await refused(store, put('ttcp_2'));
    assert.equal(await findResource(store.db, 'ttcp_2'), undefined);
    assert.equal(await findResource(store.db, 'ttcp_1'), undefined);
  });

  test('nothing is left behind in what is removed while things are put into it', async () => {
    const store = await open();
    for (let round = 0; round < 5; round++) {
      const project = `p_${round}`;
      await store.commit([insertResource(makeResource(project, { scope_id: 'o_1' }))]);
      const puts = Array.from({ length: 12 }, (_, at) =>
        store.commit([
          lockResource(project),
          insertResource(makeResource(`ttcp_${round}x${at}`, { scope_id: project })),
        ]),
      );
      const removal = store.commit(removeResources({ scope_ids: [project] }, 1_000));
      await Promise.allSettled([...puts, removal]);
      await removal;
      assert.deepEqual(await listContained(store.db, 'target', project), []);
    }
  });

  if (engine === 'postgres') {
    test('no link is left to what another node removes at the same time, whoever is first', async () => {
      for (const first of ['link', 'removal'] as const) {
        const store = await open();
        await store.commit([insertResource(makeResource('ttcp_1'))]);
        await store.commit([insertResource(makeResource('hsst_1'))]);
        const { place } = store;
        assert.ok(place.engine === 'postgres');
        // The other node is in the middle of its transaction.
        const other = new Client({ connectionString: place.url });
        await other.connect();
        const link = { from_id: 'ttcp_1', kind: 'target-host-source', to_id: 'hsst_1' } as const;
        try {
          await other.query('begin');
          await other.query(
            first === 'link'
              ? `insert into resource_link values ('ttcp_1', 'target-host-source', 'hsst_1')`
              : `delete from resource where id = 'hsst_1'`,
          );
          const outcome = store
            .commit(
              first === 'link' ? removeResources({ id: 'hsst_1' }, 1_000) : [insertLink(link)],
            )
            .then(
              () => 'done',
              (error: unknown) => (isConflict(error) ? 'refused' : Promise.reject(error)),
            );
          await untilWaiting(other);
          await other.query('commit');
          assert.equal(await outcome, first === 'link' ? 'done' : 'refused');
        } finally {
          await other.end();
        }
        assert.deepEqual(await listLinksFrom(store.db, 'ttcp_1', 'target-host-source'), []);
        assert.equal(await findResource(store.db, 'hsst_1'), undefined);
      }
    });
  }

  test('what has a key of a kind is read by pages, each once and in the order of the keys', async () => {
    const store = await open();
    const keys = Array.from({ length: 1_200 }, (_, at) => `node:${String(at).padStart(4, '0')}`);
    const near = ['node', 'node;0', 'node9:0', 'Node:0', 'a:node:0', 'nod:0', null];
    const made = [...keys, ...near].map((unique_key, at) =>
      makeResource(`r_${String(9_999 - at)}`, { unique_key }),
    );
    await store.commit(made.map(insertResource));
    await store.commit([insertResource(makeResource('u_1', { unique_key: 'node:0000' }))]);
    assert.deepEqual(
      (await listKeyed(store.db, 'role', 'node')).map((one) => one.unique_key),
      keys,
    );
  });

  test('everything of a type is read by pages, each once and in order', async () => {
    const store = await open();
    // Many of one moment, so that pages end among them.
    const made = Array.from({ length: 2_500 }, (_, at) =>
      makeResource(`r_${String(at).padStart(4, '0')}`, { created_ms: 1_000 + (at % 2) }),
    );
    await store.commit(made.map(insertResource));
    const ids = made.map(({ id }) => id);
    const byAge = [0, 1].flatMap((half) => ids.filter((_, at) => at % 2 === half));
    assert.deepEqual(await listOfType(store.db, 'role', ({ id }) => id), byAge);
  });
});

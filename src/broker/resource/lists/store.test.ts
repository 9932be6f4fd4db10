import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../../test/support/engines.ts';
import { makeResource } from '../../../../test/support/resources.ts';
import type { Db } from '../../../store/database.ts';
import type { Resource } from '../resource.ts';
import { changeResource, insertResource } from '../store.ts';
import { listNamed } from './named.store.ts';
import { listInContainers, listOwnedIn } from './store.ts';
import { inOrder, type ListOrder, mergeParts, type PageRequest, type Part } from './window.ts';

const windowOf = (more: Partial<PageRequest> = {}): PageRequest => ({
  type: 'target',
  order: 'created_ms',
  before: undefined,
  after_ms: 0,
  limit: 100,
  ...more,
});

/** Numbers that look random and are the same each time. */
function* chances(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** Many targets in few projects, most of them made in the same milliseconds as others. */
function makeTargets(count: number, projects: number): Resource[] {
  const chance = chances(42);
  const pick = (below: number): number => Math.floor(chance.next().value * below);
  return Array.from({ length: count }, (_, at) =>
    makeResource(`ttcp_${String(at * 7919).padStart(8, '0')}`, {
      scope_id: `p_${pick(projects)}`,
      owner_id: `u_${pick(3)}`,
      created_ms: 1_000 + pick(count / 10),
      updated_ms: 5_000 + pick(count / 10),
    }),
  );
}

/** Reads a list to its end, page by page, each from where the one before ended. */
async function readAll(
  order: ListOrder,
  limit: number,
  read: (window: PageRequest) => Promise<Part>,
): Promise<string[]> {
  const ids: string[] = [];
  let before: PageRequest['before'];
  for (;;) {
    const page = await read(windowOf({ order, limit, before }));
    assert.ok(page.rows.length <= limit);
    ids.push(...page.rows.map(({ id }) => id));
    if (!page.end) return ids;
    before = page.end;
  }
}

eachEngine('lists', (open) => {
  test('every way to read gives the same items in the same order, each once, at any page size', async () => {
    const store = await open();
    const targets = makeTargets(600, 8);
    await store.commit(targets.map((target) => insertResource(target)));
    await store.commit([insertResource(makeResource('hcst_1', { scope_id: 'p_1' }))]);
    const containers = ['p_1', 'p_2', 'p_5', 'p_none'];
    const wanted = targets.filter((target) => containers.includes(target.container_id));
    const ids = targets.map(({ id }) => id);
    const isSeen = (row: { container_id: string }) => containers.includes(row.container_id);
    for (const order of ['created_ms', 'updated_ms'] as const) {
      const expected = inOrder(wanted, windowOf({ order, limit: 1_000 })).map(({ id }) => id);
      assert.equal(expected.length, wanted.length);
      for (const limit of [1, 7, 64, 1_000]) {
        const ways: [name: string, read: (db: Db, window: PageRequest) => Promise<Part>][] = [
          ['each', (db, window) => listInContainers(db, containers, window, { walk: false })],
          ['walk', (db, window) => listInContainers(db, containers, window, { walk: true })],
          [
            'walk where most is wanted',
            (db, window) => listInContainers(db, containers, window, { walk: true, share: 1 }),
          ],
          ['named', (db, window) => listNamed(db, ids, isSeen, window)],
        ];
        for (const [name, read] of ways) {
          const found = await readAll(order, limit, (window) => read(store.db, window));
          assert.deepEqual(found, expected, `${name} by ${order}, ${limit} a page`);
        }
      }
    }
  });

  test('a long secret counts as a long body does: what is read at once has a bound in both', async () => {
    const store = await open();
    const secret_sealed = new Uint8Array(600_000);
    const targets = makeTargets(20, 1).map((target) => ({ ...target, secret_sealed }));
    for (const target of targets) await store.commit([insertResource(target)]);
    const ids = targets.map(({ id }) => id);
    const ways: [name: string, read: (window: PageRequest) => Promise<Part>][] = [
      ['each', (window) => listInContainers(store.db, ['p_0'], window, { walk: false })],
      ['walk', (window) => listInContainers(store.db, ['p_0'], window, { walk: true, share: 1 })],
      ['named', (window) => listNamed(store.db, ids, () => true, window)],
    ];
    for (const [name, read] of ways) {
      const { rows } = await read(windowOf());
      assert.ok(rows.length < 10, `${name}: ${rows.length} at once`);
      assert.equal((await readAll('created_ms', 100, read)).length, targets.length, name);
    }
  });

  test('where rows are long, every way reads few at a time, and still all of them in order', async () => {
    const store = await open();
    const filling = 'x'.repeat(250_000);
    const sizes = [0, 0, 0, 1, 1, 0, 3];
    const targets = makeTargets(210, 4).map((target, at) => ({
      ...target,
      body: { filling: filling.slice(0, ((sizes[at % 7] ?? 0) / 3) * filling.length) },
    }));
    for (const target of targets) await store.commit([insertResource(target)]);
    const containers = ['p_1', 'p_2'];
    const wanted = targets.filter((target) => containers.includes(target.container_id));
    const own = wanted.filter((target) => target.owner_id === 'u_1');
    const ids = targets.map(({ id }) => id);
    const isSeen = (row: { container_id: string }) => containers.includes(row.container_id);
    const each = (window: PageRequest) =>
      listInContainers(store.db, containers, window, { walk: false });
    const owned = (window: PageRequest) => listOwnedIn(store.db, 'u_1', containers, window);
    const named = (window: PageRequest) => listNamed(store.db, ids, isSeen, window);
    const ways: [name: string, of: Resource[], read: (window: PageRequest) => Promise<Part>][] = [
      ['each', wanted, each],
      ['walk', wanted, (window) => listInContainers(store.db, containers, window, { walk: true })],
      [
        'walk where most is wanted',
        wanted,
        (window) => listInContainers(store.db, containers, window, { walk: true, share: 0.5 }),
      ],
      ['owned', own, owned],
      ['named', wanted, named],
      [
        'several',
        wanted,
        async (window) => mergeParts([await owned(window), await named(window)], window),
      ],
    ];
    const order = 'created_ms';
    for (const [name, of, read] of ways) {
      const expected = inOrder(of, windowOf({ limit: 1_000 })).map(({ id }) => id);
      for (const limit of [3, 1_000]) {
        let most = 0;
        const found = await readAll(order, limit, async (window) => {
          const part = await read(window);
          most = Math.max(most, JSON.stringify(part.rows).length);
          return part;
        });
        assert.deepEqual(found, expected, `${name}, ${limit} a page`);
        // Two megabytes, and what the last few have more.
        assert.ok(most < 6_000_000, `${name}: ${most}`);
      }
    }
  });

  test('items of the same millisecond are told apart by their ids, the greater first', async () => {
    const store = await open();
    const ids = ['ttcp_A', 'ttcp_B', 'ttcp_a', 'ttcp_b', 'ttcp_1'];
    await store.commit(ids.map((id) => insertResource(makeResource(id, { created_ms: 5 }))));
    const read = (window: PageRequest) =>
      listInContainers(store.db, ['p_1'], window, { walk: false });
    // In byte order, on either engine.
    assert.deepEqual(await readAll('created_ms', 2, read), [
      'ttcp_b',
      'ttcp_a',
      'ttcp_B',
      'ttcp_A',
      'ttcp_1',
    ]);
  });

  test('what is new is what changed after an instant, and not at it', async () => {
    const store = await open();
    await store.commit([
      insertResource(makeResource('ttcp_1', { updated_ms: 10 })),
      insertResource(makeResource('ttcp_2', { updated_ms: 11 })),
      insertResource(makeResource('ttcp_3', { updated_ms: 12, scope_id: 'p_2' })),
    ]);
    const window = windowOf({ order: 'updated_ms', after_ms: 10 });
    for (const walk of [true, false]) {
      const { rows: found } = await listInContainers(store.db, ['p_1'], window, { walk });
      assert.deepEqual(
        found.map(({ id }) => id),
        ['ttcp_2'],
      );
    }
    await store.commit([changeResource('ttcp_1', 1, { updated_ms: 13 })]);
    const both = ['p_1', 'p_2'];
    const { rows: found } = await listInContainers(store.db, both, window, { walk: false });
    assert.deepEqual(
      found.map(({ id }) => id),
      ['ttcp_1', 'ttcp_3', 'ttcp_2'],
    );
  });

  test('single items are those named, of the type, and seen where they lie', async () => {
    const store = await open();
    await store.commit([
      insertResource(makeResource('ttcp_1')),
      insertResource(makeResource('ttcp_2', { scope_id: 'p_2' })),
      insertResource(makeResource('hcst_1')),
    ]);
    const isSeen = (row: { container_id: string }) => row.container_id === 'p_1';
    const named = ['ttcp_1', 'ttcp_2', 'hcst_1', 'ttcp_gone'];
    const { rows: found } = await listNamed(store.db, named, isSeen, windowOf());
    assert.deepEqual(
      found.map(({ id }) => id),
      ['ttcp_1'],
    );
  });

  test("a user's own items are those in the listed containers, page by page", async () => {
    const store = await open();
    const targets = makeTargets(120, 4);
    await store.commit(targets.map((target) => insertResource(target)));
    const mine = targets.filter(
      ({ owner_id, container_id }) => owner_id === 'u_1' && ['p_1', 'p_2'].includes(container_id),
    );
    const expected = inOrder(mine, windowOf()).map(({ id }) => id);
    const read = (window: PageRequest) => listOwnedIn(store.db, 'u_1', ['p_1', 'p_2'], window);
    assert.deepEqual(await readAll('created_ms', 5, read), expected);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { endDue } from '../../../test/support/job-work.ts';
import { leaseOf, ISSUED_AT as NOW } from '../../../test/support/leases.ts';
import type { App, LeaseKind } from '../../app/app.ts';
import { build } from '../../store/database.ts';
import { write } from '../../store/write.ts';
import { deleteTree } from '../tokens/ending.store.ts';
import { removeEnded } from '../tokens/expiration.operations.ts';
import { prepareRootToken } from '../tokens/minting.operations.ts';
import { insertLease } from './store.ts';
import { takeDueInTurns } from './turns.operations.ts';

/** More than three pages. */
const MANY = 650;
const WORK = { stopping: false };

async function newToken(app: App): Promise<string> {
  const { token, effects } = prepareRootToken(app);
  await app.store.commit(effects);
  return token.id;
}

const named = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${name}/${String(at).padStart(4, '0')}`);

/** Ids of leases, page by page. */
async function notePages(app: App): Promise<string[][]> {
  const pages: string[][] = [];
  await takeDueInTurns(app, WORK, async (page) => {
    pages.push(page.map(({ id }) => id));
    return page;
  });
  return pages;
}

const HOW: [how: string, end: (app: App, tokens: string[]) => Promise<void>, facts: object][] = [
  [
    'whose token is gone',
    async (app, tokens) => {
      for (const id of tokens) await app.store.commit([deleteTree(id)]);
      while ((await removeEnded(app, tokens)) === 0);
    },
    {},
  ],
  ['whose time is over', async () => {}, { expires_at: NOW }],
];

eachEngine('leases that are due', (open) => {
  for (const [how, end, facts] of HOW) {
    test(`${how} have turns by mount, and in it by token`, async () => {
      const { app, clock } = await openTestApp(await open());
      clock.now = NOW + 1;
      const tokens = [await newToken(app), await newToken(app)];
      const [many, few] = tokens;
      const others = { ...facts, mount_id: 'n', token_id: few };
      await app.store.commit([
        ...named('a', MANY).map((id) => insertLease(leaseOf(id, { ...facts, token_id: many }))),
        insertLease(leaseOf('b/1', { ...facts, token_id: few })),
        ...named('c', 201).map((id) => insertLease(leaseOf(id, others))),
        insertLease(leaseOf('living/1', { token_id: undefined })),
      ]);
      await end(app, tokens);
      const pages = await notePages(app);
      const isOf = (names: string) => (page: string[]) =>
        page.some((id) => names.includes(id[0] ?? ''));
      assert.deepEqual(
        pages.slice(0, 2).map(isOf('c')),
        [false, true],
        'the other mount in the first round',
      );
      assert.ok(pages.filter(isOf('ab')).slice(0, 2).some(isOf('b')));
      assert.ok(pages.every(({ length }) => length <= 200));
      const all = [...named('a', MANY), 'b/1', ...named('c', 201)];
      assert.deepEqual(pages.flat().sort(), all, 'each once');
    });
  }

  test('turns that have few share pages, with the first of one that has many', async () => {
    const { app, clock } = await openTestApp(await open());
    clock.now = NOW + 1;
    const due = { expires_at: NOW, mount_id: '' };
    await app.store.commit([
      ...named('a', 450).map((id) => insertLease(leaseOf(id, due))),
      ...named('b', 300).map((id) => insertLease(leaseOf(id, due))),
    ]);
    const turns = [
      ...named('a', 450).map((id, at) => [id, `t${at}`] as const),
      ...named('b', 300).map((id) => [id, 'u'] as const),
    ];
    await app.store.commit(
      turns.map(([id, turn]) =>
        write(build.updateTable('lease').set({ turn }).where('id', '=', id)),
      ),
    );
    const pages = await notePages(app);
    assert.deepEqual(
      pages.map(({ length }) => length),
      [200, 200, 200, 150],
    );
    assert.equal(new Set(pages.flat()).size, 750);
  });

  test('one that comes while thousands of a token are ended has its turn among them', async () => {
    const { app, clock } = await openTestApp(await open());
    clock.now = NOW + 1;
    const [many, late] = [await newToken(app), await newToken(app)];
    const due = { expires_at: NOW };
    await app.store.commit(
      named('a', MANY).map((id) => insertLease(leaseOf(id, { ...due, token_id: many }))),
    );
    const order: string[] = [];
    await takeDueInTurns(app, WORK, async (page) => {
      if (order.length === 0) {
        await app.store.commit([insertLease(leaseOf('late/1', { ...due, token_id: late }))]);
      }
      order.push(...new Set(page.map(({ id }) => id.split('/')[0] ?? '')));
      return page;
    });
    assert.ok(order.indexOf('late') <= 2, order.join());
  });

  test('those whose token went before it was noted have a turn, too', async () => {
    const { app } = await openTestApp(await open());
    const token_id = await newToken(app);
    await app.store.commit([
      insertLease(leaseOf('a/1', { token_id })),
      insertLease(leaseOf('b/1', {})),
    ]);
    assert.deepEqual(await notePages(app), []);
    await app.store.commit([write(build.deleteFrom('token').where('id', '=', token_id))]);
    assert.deepEqual(await notePages(app), [['a/1']]);
  });

  test('those that cannot be ended are tried once in a run, and hold up none of their turn', async () => {
    const { app, clock } = await openTestApp(await open());
    clock.now = NOW + 1;
    let tries = 0;
    const broken: LeaseKind = {
      planEnd() {
        tries += 1;
        return Promise.reject(new Error('out of order'));
      },
    };
    const test: LeaseKind = { planEnd: async () => ({ effects: [] }) };
    const due = { expires_at: NOW, token_id: await newToken(app), mount_id: '' };
    await app.store.commit([
      ...named('a', 201).map((id) => insertLease(leaseOf(id, { ...due, kind: 'broken' }))),
      ...named('b', 201).map((id) => insertLease(leaseOf(id, due))),
    ]);
    await endDue({ ...app, leaseKinds: { broken, test } });
    assert.equal(tries, 201);
    const left = await app.db.selectFrom('lease').select('id').orderBy('id').execute();
    assert.deepEqual(
      left.map(({ id }) => id),
      named('a', 201),
    );
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { eachEngine, type Open } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { build } from '../../store/database.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import { type Write, write } from '../../store/write.ts';
import { insertEntity } from './entities.store.ts';
import type { Group } from './group.ts';
import { writeGroup } from './groups.operations.ts';
import { insertGroup } from './groups.store.ts';
import { listGroupsAbove } from './memberships.operations.ts';
import { holdFewNestings, listMembers, replaceMembers } from './memberships.store.ts';
import { findPerson } from './persons.operations.ts';

const TIMES = { version: 1, created_at_ms: 0, updated_at_ms: 0 };
const numbered = (letter: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${letter}${String(at).padStart(5, '0')}`);

const groupOf = (id: string, policies: string[] = []): Group => ({
  ...TIMES,
  id,
  name: id,
  type: 'internal',
  metadata: {},
  policies,
});

const insertGroups = (ids: readonly string[]): Write[] => ids.map((id) => insertGroup(groupOf(id)));

/** Puts them there as they may have been before there was a bound. */
function insertNestings(rows: readonly { group_id: string; member_id: string }[]): Write[] {
  const writes: Write[] = [];
  for (let at = 0; at < rows.length; at += 500) {
    const some = rows.slice(at, at + 500).map((row) => ({ ...row, kind: 'group' }));
    writes.push(write(build.insertInto('identity_group_member').values(some)));
  }
  return writes;
}

const LOW = numbered('low', 101);
const TOP = numbered('top', 100);

/** Groups of which so many are members of another, and "mine" with one of those members. */
async function openWith(open: Open, count: number): Promise<App> {
  const { app } = await openTestApp(await open());
  const mesh = TOP.flatMap((group_id) => LOW.map((member_id) => ({ group_id, member_id })));
  await app.store.commit([
    ...insertGroups([...LOW, ...TOP, 'mine', 'new']),
    ...insertNestings([{ group_id: 'mine', member_id: 'low00000' }, ...mesh.slice(0, count - 1)]),
    ...bumpPermissionVersion(),
  ]);
  return app;
}

const changes: [count: number, members: string[], isAllowed: boolean][] = [
  [9_999, ['low00000', 'low00001'], true],
  [9_999, ['low00000', 'low00001', 'low00002'], false],
  [10_000, ['low00000', 'low00001'], false],
  [10_000, ['low00000'], true],
  [10_000, ['low00001'], true],
  [10_000, [], true],
  [10_050, ['low00001'], false],
  [10_050, ['low00000', 'low00000'], true],
  [10_050, [], true],
];

eachEngine('groups that are members of groups', (open) => {
  for (const [count, members, isAllowed] of changes) {
    const verb = isAllowed ? 'are' : 'are not';
    test(`of ${count} that are nested, [${members}] ${verb} taken for [low00000]`, async () => {
      const app = await openWith(open, count);
      const caller = testCaller(await requireTestMount(app, 'auth/token/'));
      const change = () =>
        writeGroup(app, caller, { id: 'mine', name: '', member_group_ids: members });
      if (isAllowed) {
        await change();
        assert.deepEqual(await listMembers(app.db, 'mine', 'group'), [...new Set(members)]);
      } else {
        await assert.rejects(
          change(),
          (error) =>
            error instanceof Failure &&
            error.kind === 'invalid' &&
            /^member_group_ids: of all groups together more than 10000 /.test(error.message),
        );
        assert.deepEqual(await listMembers(app.db, 'mine', 'group'), ['low00000']);
      }
    });
  }

  test('of two who take the last room at once one is refused', async () => {
    const app = await openWith(open, 9_999);
    const takes = (members: readonly string[]): Write[] => [
      ...replaceMembers('new', 'group', members),
      ...bumpPermissionVersion(),
      holdFewNestings({ id: 'new', most: 10_000 }),
    ];
    await app.store.commit(takes(['low00000']));
    await assert.rejects(app.store.commit(takes(['low00000', 'low00001'])), /in the meantime/);
    assert.deepEqual(await listMembers(app.db, 'new', 'group'), ['low00000']);
  });

  test('somebody beneath ten thousand groups, one above the other, has the policies of the last', async () => {
    const { app } = await openTestApp(await open());
    const ids = numbered('g', 10_000);
    const [lowest = ''] = ids;
    const last = ids.at(-1) ?? '';
    const entity = { ...TIMES, id: 'e', name: 'e', metadata: {}, policies: [], disabled: false };
    const chain = ids.slice(1).map((group_id, at) => ({ group_id, member_id: ids[at] ?? '' }));
    await app.store.commit([
      ...insertGroups(ids.slice(0, -1)),
      insertGroup(groupOf(last, ['given'])),
      insertEntity(entity),
      ...replaceMembers(lowest, 'entity', ['e']),
      ...insertNestings(chain),
      ...bumpPermissionVersion(),
    ]);
    await app.store.refreshConfig();
    assert.deepEqual((await findPerson(app, 'e'))?.policies, ['given']);
    assert.equal((await listGroupsAbove(app, [lowest])).length, ids.length - 1);
  });

  // Of a thousand a hundred at once, of more all that are nested; then of each of the two further up.
  for (const [asked, most] of [
    [1_000, 12],
    [1_001, 4],
  ] as const) {
    test(`of ${asked} groups that somebody is in those above are found in few questions`, async () => {
      const { app } = await openTestApp(await open());
      const ids = numbered('g', asked);
      await app.store.commit([
        ...insertGroups([...ids, 'above', 'top']),
        ...insertNestings([
          { group_id: 'above', member_id: ids.at(-1) ?? '' },
          { group_id: 'top', member_id: 'above' },
        ]),
        ...bumpPermissionVersion(),
      ]);
      await app.store.refreshConfig();
      let questions = 0;
      const db = app.db.withPlugin({
        transformQuery: ({ node }) => {
          questions++;
          return node;
        },
        transformResult: async ({ result }) => result,
      });
      assert.deepEqual(await listGroupsAbove({ ...app, db }, ids), ['above', 'top']);
      assert.equal(questions, most);
    });
  }

  // Of fifty, too, what they are in fills a page.
  for (const asked of [50, 1_001]) {
    test(`for all who are in ${asked} that are nested so often all nestings are read once, and anew once they change`, async () => {
      const app = await openWith(open, 9_999);
      let readings = 0;
      const db = app.db.withPlugin({
        transformQuery: ({ node }) => {
          // Asked first for each reading: whether there are more than there may be.
          if (node.kind === 'SelectQueryNode' && 'offset' in node && node.offset) readings++;
          return node;
        },
        transformResult: async ({ result }) => result,
      });
      const ids = [...LOW, ...numbered('none', 900)].slice(0, asked);
      const ask = async (times: number, above: readonly string[]): Promise<void> => {
        await app.store.refreshConfig();
        const all = Array.from({ length: times }, () => listGroupsAbove({ ...app, db }, ids));
        for (const found of await Promise.all(all)) assert.deepEqual(found.sort(), above);
      };
      await ask(10, ['mine', ...TOP.slice(0, 99)]);
      await ask(1, ['mine', ...TOP.slice(0, 99)]);
      assert.equal(readings, 1);
      const caller = testCaller(await requireTestMount(app, 'auth/token/'));
      await writeGroup(app, caller, { id: 'mine', name: '', member_group_ids: [] });
      await ask(10, TOP.slice(0, 99));
      assert.equal(readings, 2);
    });
  }

  test('what is above somebody is read anew once groups are nested otherwise', async () => {
    const app = await openWith(open, 2);
    const above = async () => {
      await app.store.refreshConfig();
      return (await listGroupsAbove(app, ['low00000'])).toSorted();
    };
    assert.deepEqual(await above(), ['mine', 'top00000']);
    const caller = testCaller(await requireTestMount(app, 'auth/token/'));
    await writeGroup(app, caller, { id: 'new', name: '', member_group_ids: ['mine'] });
    assert.deepEqual(await above(), ['mine', 'new', 'top00000']);
    await writeGroup(app, caller, { id: 'mine', name: '', member_group_ids: [] });
    assert.deepEqual(await above(), ['top00000']);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../test/support/engines.ts';
import { build, type Db } from '../store/database.ts';
import { PAGE } from '../store/in-pages.ts';
import type { Store } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import { write } from '../store/write.ts';
import {
  listAllParents,
  listGroupsOf,
  listMembers,
  readNestings,
} from './identity/memberships.store.ts';
import { listKnownNames } from './policies/store.ts';

const COUNT = 3 * PAGE + 1;
const names = Array.from({ length: COUNT }, (_, at) => `n${String(at).padStart(5, '0')}`);
const times = { created_at_ms: 0, updated_at_ms: 0 };
const HALF = Math.floor(COUNT / 2);

/** What is listed, each with what it needs and with rows of others that are left out. */
const SEEDS: readonly { table: keyof Tables; rows: readonly object[] }[] = [
  { table: 'policy', rows: names.map((name) => ({ name, body: '', version: 1, modified_at: 0 })) },
  {
    table: 'identity_group',
    rows: names.map((id) => ({ id, name: id, name_key: id, version: 1, body: '{}', ...times })),
  },
  {
    // The first is in half of the others, and the second has half of them in it.
    table: 'identity_group_member',
    rows: names
      .slice(2)
      .flatMap((id, at) => [
        at < HALF
          ? { group_id: id, kind: 'group', member_id: names[0] }
          : { group_id: names[1], kind: 'group', member_id: id },
        { group_id: id, kind: 'entity', member_id: 'e' },
      ]),
  },
];

async function seed(store: Store): Promise<void> {
  for (const { table, rows } of SEEDS) {
    for (let at = 0; at < rows.length; at += 500) {
      const some = rows.slice(at, at + 500);
      await store.commit([
        write(build.insertInto(table).values(some as never), { rows: some.length }),
      ]);
    }
  }
}

const others = names.slice(2);
const LISTS: [what: string, list: (db: Db) => Promise<string[]>, is: readonly string[]][] = [
  ['groups of an entity', (db) => listGroupsOf(db, 'entity', 'e'), others],
  ['groups of a group', (db) => listGroupsOf(db, 'group', names[0] ?? ''), others.slice(0, HALF)],
  ['members of a group', (db) => listMembers(db, names[1] ?? '', 'group'), others.slice(HALF)],
  [
    'groups of some groups',
    async (db) =>
      (await Array.fromAsync(readNestings(db, names)))
        .flat()
        .map(({ group_id, member_id }) => (member_id === names[0] ? group_id : member_id)),
    others,
  ],
  [
    'groups of all groups',
    async (db) => {
      const { [names[0] ?? '']: above = [], ...each } = Object.fromEntries(
        await listAllParents(db),
      );
      const below = Object.entries(each).filter(([, of]) => of[0] === names[1]);
      return [...above, ...below.map(([id]) => id)];
    },
    others,
  ],
];

/** How often the others of the process had their turn meanwhile. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = -1;
  let going = true;
  const count = (): void => {
    turns += 1;
    if (going) setImmediate(count);
  };
  count();
  await work();
  going = false;
  return turns;
}

eachEngine('lists of the Vault API that have no pages', (open) => {
  let seeded: Promise<Store> | undefined;
  const filled = (): Promise<Store> => {
    seeded ??= open().then(async (store) => {
      await seed(store);
      return store;
    });
    return seeded;
  };

  for (const [what, list, is] of LISTS) {
    test(`all ${what} are read in pages, and others have their turn between two of them`, async () => {
      const { db } = await filled();
      let found: string[] = [];
      const turns = await turnsDuring(async () => {
        found = await list(db);
      });
      assert.deepEqual(found, is);
      assert.ok(turns >= Math.floor(is.length / PAGE), `${turns} turns`);
    });
  }

  test('policies are known by the names that are asked for, however many there are', async () => {
    const { db } = await filled();
    const asked = ['n00000', 'n00000x', 'N00001', 'n03000', 'n03001', ''];
    assert.deepEqual((await listKnownNames(db, asked)).sort(), ['n00000', 'n03000']);
    assert.deepEqual(await listKnownNames(db, []), []);
  });
});

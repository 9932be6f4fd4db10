import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GrantingRole } from './granting-role.ts';
import { idsOfPacks, type Pack, splitByWeight } from './heavy-roles.ts';

const roleOf = (at: number, bytes: number, version = 1): GrantingRole => ({
  id: `r_${at.toString(36).padStart(10, '0')}`,
  version,
  updated_ms: 0,
  held: [],
  bytes,
});
const roles = (count: number, bytes: number, from = 0): GrantingRole[] =>
  Array.from({ length: count }, (_, at) => roleOf(from + at, bytes));

const keysOf = (packs: readonly Pack[]): Set<string> => new Set(packs.map(({ key }) => key));

const ROWS: [why: string, has: readonly GrantingRole[], light: number, packs: number][] = [
  ['few are filed for each who has them', roles(10, 1_000), 10, 0],
  ['as much as is light', roles(64, 1_024), 64, 0],
  ['a byte more is shared', [...roles(63, 1_024), roleOf(63, 1_025)], 0, 64],
  ['one that is large alone', [...roles(10, 1_000), roleOf(10, 100_000)], 10, 1],
  ['many that are large', roles(100, 5_000), 0, 100],
  ['as many as are asked one by one', roles(1_536, 800), 0, 1_536],
  ['one more', roles(1_537, 800), 0, 36],
  ['more large ones than are asked one by one', roles(1_636, 5_000), 0, 1_536 + 36],
  ['thousands of small ones', roles(4_000, 800), 0, 36],
];

test('roles that are much together are filed once for all who have them, and few of one user for him', async () => {
  for (const [why, has, light, packs] of ROWS) {
    const split = await splitByWeight(has);
    assert.deepEqual([split.light.length, split.packs.length], [light, packs], why);
    const ids = [...idsOfPacks(split.packs), ...split.light.map(({ id }) => id)];
    assert.deepEqual(ids.sort(), has.map(({ id }) => id).sort(), why);
  }
});

test('users of whom no two have the same roles share each that two of them have', async () => {
  const all = roles(1_000, 1_000);
  const keys = new Set<string>();
  for (let user = 0; user < 20; user++) {
    const split = await splitByWeight(
      all.filter((_, at) => (at + user) % 5 > 0 || at % 20 === user),
    );
    for (const key of keysOf(split.packs)) keys.add(key);
  }
  assert.equal(keys.size, all.length, 'each is filed once, whoever has it');
});

test('users who have most roles in common have most packs in common, in whatever order they were read', async () => {
  const common = roles(4_000, 800);
  const one = await splitByWeight(common);
  const other = await splitByWeight([roleOf(5_000, 800), ...common.toReversed()]);
  const shared = keysOf(one.packs).intersection(keysOf(other.packs));
  assert.equal(shared.size, one.packs.length - 1, 'but for that of the one that is not common');
  const changed = common.with(7, roleOf(7, 800, 2));
  const later = await splitByWeight(changed);
  const left = keysOf(one.packs).intersection(keysOf(later.packs));
  assert.equal(left.size, one.packs.length - 1, 'what has changed is filed anew');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listReached, unitePolicies } from './group.ts';

test('groups of groups, many ways up to each, are each asked about once, a floor at a time', async () => {
  // Two groups on every floor, each a member of both above it: 2^10,000 ways to the top.
  const floors = 10_000;
  const asked: string[] = [];
  let most = 0;
  const above = await listReached(['a0'], async function* (ids) {
    asked.push(...ids);
    most = Math.max(most, ids.length);
    const floor = Number(ids[0]?.slice(1)) + 1;
    for (const _ of ids) yield floor > floors ? [] : [`a${floor}`, `b${floor}`];
  });
  assert.equal(above.length, 2 * floors);
  assert.equal(asked.length, 1 + 2 * floors);
  assert.equal(most, 2);
});

const walks: [why: string, parents: Record<string, string[]>, above: string[]][] = [
  ['groups that are members of each other are an end, not a circle', { a: ['b'], b: ['a'] }, ['b']],
  ['what is in no group has none above it', {}, []],
  ['what is above two is found once', { a: ['b', 'c'], b: ['d'], c: ['d'] }, ['b', 'c', 'd']],
];
for (const [why, parents, above] of walks) {
  test(why, async () => {
    const parentsOf = async function* (ids: readonly string[]) {
      for (const id of ids) yield parents[id] ?? [];
    };
    assert.deepEqual(await listReached(['a', 'a'], parentsOf), above);
  });
}

for (const [most, found, asked] of [
  [3, ['b', 'c', 'd'], 4],
  [2, ['b', 'c', 'd'], 2],
  [1, ['b', 'c'], 1],
] as const) {
  test(`once more than ${most} were found nothing further is looked at`, async () => {
    const parents: Record<string, string[]> = { a: ['b', 'c'], b: ['d'], c: ['d'] };
    const looked: string[] = [];
    const parentsOf = async function* (ids: readonly string[]) {
      for (const id of ids) {
        looked.push(id);
        yield parents[id] ?? [];
      }
    };
    assert.deepEqual(await listReached(['a'], parentsOf, most), found);
    assert.equal(looked.length, asked);
  });
}

const named = (count: number, length: number, letter = 'p'): { policies: string[] } => ({
  policies: Array.from({ length: count }, (_, at) => `${letter}${at}-`.padEnd(length, letter)),
});
const unions: [why: string, holders: { policies: string[] }[], count: number | undefined][] = [
  ['a thousand names', [named(1000, 16)], 1000],
  ['one name more', [named(1000, 16), named(1, 16, 'q')], undefined],
  ['names of as many characters as there may be', [named(64, 1024)], 64],
  ['one character more', [named(64, 1024), named(1, 1, '')], undefined],
  ['the same names again', [named(64, 1024), named(64, 1024)], 64],
];

for (const [why, holders, count] of unions) {
  test(`policies of an entity and its groups: ${why} ${count ? 'are' : 'are not'} read`, async () => {
    assert.equal((await unitePolicies(holders))?.size, count);
  });
}

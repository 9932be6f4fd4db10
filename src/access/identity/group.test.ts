import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import { groupTree, listGroupsAbove, MOST_METADATA, unitePolicies } from './group.ts';

test('groups of groups, many ways up to each, are each looked at once', async () => {
  // Two groups on every floor, each a member of both above it: 2^10,000 ways to the top.
  const floors = 10_000;
  const memberships = Array.from({ length: floors }, (_, floor) =>
    ['a', 'b'].flatMap((member) =>
      ['a', 'b'].map((group) => ({
        group_id: `${group}${floor + 1}`,
        member_id: `${member}${floor}`,
      })),
    ),
  ).flat();
  const tree = groupTree([], memberships);
  await spendsAtMost(100, () => {
    assert.equal(listGroupsAbove(tree, ['a0']).length, 2 * floors);
  });
});

test('groups that are members of each other are an end, not a circle', () => {
  const tree = groupTree(
    [],
    [
      { group_id: 'b', member_id: 'a' },
      { group_id: 'a', member_id: 'b' },
    ],
  );
  assert.deepEqual(listGroupsAbove(tree, ['a']), ['b']);
});

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
    const told = holders.map((holder) => ({ ...holder, metadata: {} }));
    assert.equal((await unitePolicies(told))?.size, count);
  });
}

for (const [why, characters, isRead] of [
  ['as much as there may be', MOST_METADATA, true],
  ['one character more', MOST_METADATA + 1, false],
] as const) {
  test(`metadata of an entity and its groups: ${why} ${isRead ? 'is' : 'is not'} read`, async () => {
    const policies = ['p'];
    const half = { policies, metadata: { key: 'v'.repeat(MOST_METADATA / 2 - 3) } };
    const rest = { policies, metadata: { key: 'v'.repeat(characters - MOST_METADATA / 2 - 3) } };
    assert.equal((await unitePolicies([half, rest])) !== undefined, isRead);
  });
}

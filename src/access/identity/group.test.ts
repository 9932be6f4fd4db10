import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuOf } from '../../../test/support/cpu-time.ts';
import { groupTree, listGroupsAbove } from './group.ts';

test('groups of groups, many ways up to each, are each looked at once', () => {
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
  let above: string[] = [];
  const spent = cpuOf(() => {
    above = listGroupsAbove(tree, ['a0']);
  });
  assert.equal(above.length, 2 * floors);
  assert.ok(spent < 100, `${spent} ms`);
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

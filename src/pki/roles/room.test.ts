import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { type Role, roleSchema } from './role.ts';
import { MOST_OF_ROLE, requireRoom } from './room.ts';

const roleWith = (fields: Partial<Role>): Role => ({ ...roleSchema.parse({}), ...fields });

/** A role of exactly so many bytes as JSON. */
function roleOf(bytes: number): Role {
  const { length } = JSON.stringify(roleWith({ ou: [''] }));
  return roleWith({ ou: ['x'.repeat(bytes - length)] });
}

const CASES: [before: number | undefined, next: number, isTaken: boolean, why: string][] = [
  [undefined, MOST_OF_ROLE, true, 'a new one may have as much as there may be'],
  [undefined, MOST_OF_ROLE + 1, false, 'and no byte more'],
  [5000, MOST_OF_ROLE, true, 'one that is there may grow to that'],
  [5000, MOST_OF_ROLE + 1, false, 'and no further'],
  [2 * MOST_OF_ROLE, 2 * MOST_OF_ROLE - 1, true, 'a longer, older one may become shorter'],
  [2 * MOST_OF_ROLE, 2 * MOST_OF_ROLE, true, 'or stay as long'],
  [2 * MOST_OF_ROLE, 2 * MOST_OF_ROLE + 1, false, 'and not grow by a byte'],
  [2 * MOST_OF_ROLE, 5000, true, 'and may become short'],
];

for (const [before, next, isTaken, why] of CASES) {
  test(`a role of ${before ?? 'no'} bytes with ${next}: ${why}`, () => {
    const change = () =>
      requireRoom(before === undefined ? undefined : roleOf(before), roleOf(next));
    if (isTaken) return change();
    assert.throws(change, (error) => {
      assert.ok(error instanceof Failure);
      assert.equal(error.kind, 'invalid');
      assert.match(
        error.message,
        /^the role would have \d+ bytes as JSON, and may have at most 1048576: its longest fields are ou$/,
      );
      return true;
    });
  });
}

test('what counts is bytes, and the longest fields are named first', () => {
  const half = ['é'.repeat(MOST_OF_ROLE / 2 - 1500)];
  const longer = roleWith({ country: ['n'.repeat(3000)], locality: ['short'], ou: half });
  assert.throws(() => requireRoom(undefined, longer), /longest fields are ou, country$/);
  requireRoom(undefined, { ...longer, country: [] });
});

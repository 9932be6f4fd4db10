import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { type LookupInput, parseLookup } from './lookup.ts';

const NOTHING = { id: '', name: '', alias_id: '', alias_name: '', alias_mount_accessor: '' };

const cases: [sent: Partial<LookupInput>, by: string | RegExp, why: string][] = [
  [{ id: 'i' }, 'id', 'an id'],
  [{ name: 'n' }, 'name', 'a name'],
  [{ alias_id: 'a' }, 'alias_id', 'the id of an alias'],
  [{ alias_name: 'a', alias_mount_accessor: 'm' }, 'alias', 'an alias and its mount'],
  [{}, /exactly one/, 'nothing'],
  [{ id: 'i', name: 'n' }, /exactly one/, 'two things'],
  [{ name: 'n', alias_name: 'a' }, /exactly one/, 'a name and half of an alias'],
  [{ alias_name: 'a' }, /needed together/, 'an alias without its mount'],
  [{ alias_mount_accessor: 'm' }, /needed together/, 'a mount without an alias'],
];

for (const [sent, by, why] of cases) {
  test(`a lookup by ${why} is ${typeof by === 'string' ? 'taken' : 'refused'}`, () => {
    const parse = () => parseLookup({ ...NOTHING, ...sent });
    if (typeof by === 'string') assert.equal(parse().by, by);
    else {
      const refused = (error: unknown) => error instanceof Failure && by.test(error.message);
      assert.throws(parse, refused);
    }
  });
}

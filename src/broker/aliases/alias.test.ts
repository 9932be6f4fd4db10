import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aliasKey, faultOfValue, hostIdOf } from './alias.ts';

const values: [value: string, fits: boolean, why: string][] = [
  ['db', true, 'one label'],
  ['db.example.internal', true, 'several'],
  ['DB.Example', true, 'in any case'],
  ['a-b.c-d', true, 'hyphens within'],
  ['1.example', true, 'digits'],
  ['example.1a', true, 'a last label with a letter'],
  ['a'.repeat(63), true, '63 characters of a label'],
  ['', false, 'nothing'],
  ['.', false, 'empty labels'],
  ['a..b', false, 'an empty label'],
  ['a.', false, 'a dot at the end'],
  ['-a', false, 'a hyphen in front'],
  ['a-', false, 'a hyphen behind'],
  ['a.-b', false, 'a hyphen in front of a label'],
  ['a_b', false, 'an underscore: ids have them'],
  ['a b', false, 'a blank'],
  ['10.0.0.1', false, 'what looks like an address'],
  ['a.1', false, 'a last label of digits'],
  ['a'.repeat(64), false, '64 characters of a label'],
  [Array.from({ length: 64 }, () => 'abc').join('.'), false, '255 characters in all'],
  ['größe', false, 'letters beyond a to z'],
  ['a\n', false, 'a line end'],
];

for (const [value, fits, why] of values) {
  test(`alias ${JSON.stringify(value.slice(0, 30))}: ${why}`, () => {
    assert.equal(faultOfValue(value) === undefined, fits);
  });
}

test('an alias is found in any case', () => {
  assert.equal(aliasKey('DB.Example'), aliasKey('db.exAMPLE'));
});

test('the host of an alias is said, taken away, or not spoken of', () => {
  assert.equal(hostIdOf({ authorize_session_arguments: { host_id: 'hst_1' } }), 'hst_1');
  assert.equal(hostIdOf({ authorize_session_arguments: { host_id: null } }), null);
  assert.equal(hostIdOf({ authorize_session_arguments: { host_id: '' } }), null);
  assert.equal(hostIdOf({ authorize_session_arguments: {} }), undefined);
  assert.equal(hostIdOf({}), undefined);
  assert.equal(hostIdOf(undefined), undefined);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isIdOf, newResourceId, parseId, prefixOf, scopeTypeOf } from './ids.ts';
import { listChildTypes, RESOURCE_TYPES, type ResourceTypeName, typeOfPlural } from './types.ts';

const ids: [id: string, type: ResourceTypeName | undefined, subtype: string, why: string][] = [
  ['ttcp_1234567890', 'target', 'tcp', 'as they are made'],
  ['ttcp_', 'target', 'tcp', 'the length is not looked at'],
  ['ttcp_aVeryLongOne0123456789', 'target', 'tcp', 'the length is not looked at'],
  ['tssh_1', 'target', 'ssh', 'another kind of target'],
  ['global', 'scope', 'global', 'the one id without a prefix'],
  ['o_1', 'scope', 'org', 'an org'],
  ['p_1', 'scope', 'project', 'a project'],
  ['acctpw_1', 'account', 'password', 'an account'],
  ['apw_1', 'account', 'password', 'an account by its old prefix'],
  ['hs_1', 'host-set', 'plugin', 'an old prefix'],
  ['cred_1', 'credential', 'username_password', 'an old prefix'],
  ['u_anon', 'user', 'user', 'built-in'],
  ['j_1234567890', undefined, '', 'an unknown prefix'],
  ['ttcp_1 23456789', undefined, '', 'a blank'],
  ['ttcp_1%2F..', undefined, '', 'what is no letter or digit'],
  ['ttcp_1_2', undefined, '', 'two underscores'],
  ['ttcp1234567890', undefined, '', 'no underscore'],
  ['TTCP_1234567890', undefined, '', 'another case'],
  ['_1234567890', undefined, '', 'no prefix'],
  ['constructor_1', undefined, '', 'what every object has is no prefix'],
  ['ttcp_1\n', undefined, '', 'a line end'],
  ['*', undefined, '', 'the wildcard of grants'],
  ['', undefined, '', 'nothing'],
];

for (const [id, type, subtype, why] of ids) {
  test(`id ${JSON.stringify(id)} is of ${type ?? 'no type'}: ${why}`, () => {
    assert.deepEqual(parseId(id), type && { type, subtype });
    assert.equal(isIdOf(id, 'target'), type === 'target');
  });
}

test('an id can be asked to be of some subtypes', () => {
  assert.ok(isIdOf('hst_1', 'host', 'static'));
  assert.ok(!isIdOf('hplg_1', 'host', 'static'));
  assert.ok(isIdOf('hplg_1', 'host', 'static', 'plugin'));
});

test('no prefix belongs to two types', () => {
  const prefixes = Object.values(RESOURCE_TYPES).flatMap((type) => Object.keys(type.prefixes));
  assert.equal(new Set(prefixes).size, prefixes.length);
});

test('new ids have the first prefix of their subtype, never an old one', () => {
  const rows: [ResourceTypeName, string, string][] = [
    ['host-catalog', 'plugin', 'hcplg'],
    ['host-set', 'plugin', 'hsplg'],
    ['account', 'password', 'acctpw'],
    ['credential', 'username_password', 'credup'],
    ['credential-store', 'static', 'csst'],
  ];
  for (const [type, subtype, prefix] of rows) assert.equal(prefixOf(type, subtype), prefix);
  assert.throws(() => prefixOf('target', 'vnc'), TypeError);
});

test('a new id has ten characters drawn evenly from what is random', () => {
  const bytes = Uint8Array.from({ length: 20 }, (_, at) => at * 13);
  const id = newResourceId('ttcp', bytes);
  assert.match(id, /^ttcp_[A-Za-z0-9]{10}$/);
  assert.match(newResourceId('ttcp', bytes.subarray(4)), /^ttcp_[A-Za-z0-9]{10}$/);
  // Fewer bytes would favour some characters.
  assert.throws(() => newResourceId('ttcp', bytes.subarray(5)), RangeError);
});

test('every plural leads to its type, and no other word does', () => {
  for (const [name, { plural }] of Object.entries(RESOURCE_TYPES)) {
    assert.equal(typeOfPlural(plural), name);
  }
  assert.equal(typeOfPlural('pki'), undefined);
  assert.equal(typeOfPlural('toString'), undefined);
});

test('parents know their children, and scopes their kind', () => {
  assert.deepEqual(listChildTypes('auth-method'), ['account', 'managed-group']);
  assert.deepEqual(listChildTypes('host-catalog'), ['host-set', 'host']);
  assert.deepEqual(listChildTypes('target'), []);
  assert.deepEqual(['global', 'o_1', 'p_1'].map(scopeTypeOf), ['global', 'org', 'project']);
});

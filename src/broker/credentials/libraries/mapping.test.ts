import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainOfName, listOverrideFaults, mapLdapSecret, mapSecret } from './mapping.ts';

const cases: [
  why: string,
  type: string,
  overrides: Record<string, string>,
  secret: Record<string, unknown>,
  expected: Record<string, string> | string,
][] = [
  [
    'properties of their own names',
    'username_password',
    {},
    { username: 'a', password: 'b', more: 'c' },
    { username: 'a', password: 'b' },
  ],
  ['a missing one', 'username_password', {}, { username: 'a' }, 'password'],
  [
    'properties of other names',
    'username_password',
    { username_attribute: 'user', password_attribute: 'pass' },
    { user: 'a', pass: 'b' },
    { username: 'a', password: 'b' },
  ],
  [
    'a missing one of another name',
    'password',
    { password_attribute: 'pass' },
    { password: 'b' },
    'pass',
  ],
  [
    'the second version of the key/value engine',
    'password',
    {},
    { data: { password: 'b' }, metadata: { version: 1 } },
    { password: 'b' },
  ],
  [
    'a property "data" alone is no nesting',
    'password',
    {},
    { data: { password: 'b' } },
    'password',
  ],
  [
    'a pointer',
    'password',
    { password_attribute: '/data/a~1b' },
    { data: { 'a/b': 'c' } },
    { password: 'c' },
  ],
  [
    'a domain behind the name',
    'username_password_domain',
    {},
    { username: 'a@x.test', password: 'b' },
    { username: 'a', password: 'b', domain: 'x.test' },
  ],
  [
    'a domain before the name',
    'username_password_domain',
    {},
    { username: 'X\\a', password: 'b' },
    { username: 'a', password: 'b', domain: 'X' },
  ],
  ['no domain', 'username_password_domain', {}, { username: 'a', password: 'b' }, 'domain'],
  [
    'a key without passphrase',
    'ssh_private_key',
    {},
    { username: 'a', private_key: 'k' },
    { username: 'a', private_key: 'k' },
  ],
];

for (const [why, type, overrides, secret, expected] of cases) {
  test(`${type} of ${why}`, () => {
    const verdict = mapSecret(type, overrides, secret);
    if (typeof expected === 'string')
      assert.deepEqual(verdict, { mapped: false, missing: expected });
    else assert.deepEqual(verdict, { mapped: true, credential: expected });
  });
}

test('a distinguished name tells the domain', () => {
  assert.equal(domainOfName('CN=a,OU=dc,DC=Example, dc=com'), 'Example.com');
  assert.equal(domainOfName('cn=a,ou=people'), '');
  const secret = { username: 'a', password: 'b', distinguished_names: ['cn=a,dc=x,dc=test'] };
  const credential = { username: 'a', password: 'b', domain: 'x.test' };
  assert.deepEqual(mapLdapSecret(secret), { mapped: true, credential });
});

test('overrides name properties that the type has, as texts or null', () => {
  assert.deepEqual(listOverrideFaults('password', { password_attribute: 'x' }), []);
  assert.deepEqual(listOverrideFaults('password', { password_attribute: null }), []);
  assert.equal(listOverrideFaults('password', { username_attribute: 'x' }).length, 1);
  assert.equal(listOverrideFaults('password', { password_attribute: 5 }).length, 1);
  assert.equal(listOverrideFaults('', { password_attribute: 'x' }).length, 1);
  assert.deepEqual(listOverrideFaults('', {}), []);
  const long = (length: number) => ({ password_attribute: 'x'.repeat(length) });
  assert.deepEqual(listOverrideFaults('password', long(1024)), []);
  assert.equal(listOverrideFaults('password', long(1025)).length, 1);
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`n${at}`, 'x']));
  assert.deepEqual(listOverrideFaults('password', many), [
    ['credential_mapping_overrides', 'At most 16 can be given.'],
  ]);
});

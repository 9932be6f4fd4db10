import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { FieldErrors } from '../field-errors.ts';
import { checkNewLibrary, planLibrary } from './library.ts';

function faults(type: string, item: object): Record<string, string> {
  const errors = new FieldErrors();
  checkNewLibrary({ ...item }, type, errors);
  try {
    errors.refuse('refused');
    return {};
  } catch (error) {
    assert.ok(error instanceof Failure);
    return error.detail.fields ?? {};
  }
}

const ssh = (more: object) => ({ attributes: { path: 'ssh/sign/a', username: 'u', ...more } });
const own = (more: object) => ({ attributes: { role: 'web', common_name: 'a.test', ...more } });

const cases: [type: string, item: object, fields: readonly string[]][] = [
  ['vault-generic', { attributes: { path: 'a' } }, []],
  ['vault-generic', { attributes: { path: 'a', http_method: 'post' } }, []],
  ['vault-generic', {}, ['attributes', 'attributes.path']],
  ['vault-generic', { credential_type: 'unspecified', attributes: { path: 'a' } }, []],
  [
    'vault-generic',
    { credential_type: 'ssh_certificate', attributes: { path: 'a' } },
    ['credential_type'],
  ],
  ['vault-ssh-certificate', ssh({}), []],
  ['vault-ssh-certificate', ssh({ key_type: 'rsa', key_bits: 2048 }), []],
  ['vault-ssh-certificate', ssh({ key_type: 'rsa' }), ['attributes.key_type']],
  ['vault-ssh-certificate', ssh({ key_type: 'rsa', key_bits: 256 }), ['attributes.key_bits']],
  ['vault-ssh-certificate', ssh({ key_type: 'dsa' }), ['attributes.key_type']],
  ['vault-ssh-certificate', ssh({ key_bits: 256 }), ['attributes.key_bits']],
  ['vault-ssh-certificate', ssh({ path: 'secret/a' }), ['attributes.path']],
  ['vault-ssh-certificate', ssh({ extensions: { a: '{{.Env}}' } }), ['attributes.extensions']],
  ['vault-ssh-certificate', { ...ssh({}), credential_type: 'password' }, ['credential_type']],
  ['vault-ldap', { attributes: { path: 'ldap/creds/a' } }, []],
  ['vault-ldap', { attributes: { path: 'ldap/static-cred/a' } }, []],
  ['vault-ldap', { attributes: { path: 'ldap/role/a' } }, ['attributes.path']],
  ['authority-certificate', own({ ttl: '10m', format: 'pem_bundle' }), []],
  ['authority-certificate', own({ role: 'a/b' }), ['attributes.role']],
  ['authority-certificate', own({ role: '' }), ['attributes.role']],
  ['authority-certificate', own({ ttl: 'soon' }), ['attributes.ttl']],
  ['authority-certificate', own({ format: 'p12' }), ['attributes.format']],
  ['authority-certificate', own({ common_name: '{{.User.Name' }), ['attributes.common_name']],
];

for (const [type, item, fields] of cases) {
  test(`${type} of ${JSON.stringify(item)} is ${fields.length === 0 ? 'fine' : 'refused'}`, () => {
    assert.deepEqual(Object.keys(faults(type, item)), fields);
  });
}

test('a library without a method is asked by GET, also after the method is taken away', () => {
  const made = planLibrary('vault-generic', undefined, { attributes: { path: 'a' } }, []);
  assert.deepEqual(made.attributes, { path: 'a', http_method: 'GET' });
  const posted = { ...made, attributes: { path: 'a', http_method: 'POST' } };
  const mask = ['attributes.http_method'];
  assert.deepEqual(planLibrary('vault-generic', posted, {}, mask).attributes, made.attributes);
});

test('a change of one override keeps the others; null takes them all', () => {
  const item = { credential_type: 'username_password', attributes: { path: 'a' } };
  const made = {
    ...planLibrary('vault-generic', undefined, item, []),
    overrides: { username_attribute: 'u', password_attribute: 'p' },
  };
  const field = 'credential_mapping_overrides';
  const one = { [field]: { username_attribute: null } };
  const mask = [`${field}.username_attribute`];
  assert.deepEqual(planLibrary('vault-generic', made, one, mask).overrides, {
    password_attribute: 'p',
  });
  assert.deepEqual(planLibrary('vault-generic', made, {}, [field]).overrides, {});
  assert.deepEqual(planLibrary('vault-generic', made, {}, ['name']).overrides, made.overrides);
});

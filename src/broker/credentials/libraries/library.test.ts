import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../../test/support/cpu-time.ts';
import { Failure } from '../../../core/failure.ts';
import { FieldErrors } from '../../resource/field-errors.ts';
import { planLibrary } from './plan.ts';
import { checkNewLibrary } from './rules.ts';

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
  [
    'vault-generic',
    { attributes: { path: 'a', http_method: 'POST', http_request_body: '{}' } },
    [],
  ],
  [
    'vault-generic',
    { attributes: { path: 'a', http_request_body: '{}' } },
    ['attributes.http_request_body'],
  ],
  ['vault-generic', {}, ['attributes', 'attributes.path']],
  ['vault-generic', { credential_type: 'unspecified', attributes: { path: 'a' } }, []],
  [
    'vault-generic',
    { credential_type: 'ssh_certificate', attributes: { path: 'a' } },
    ['credential_type'],
  ],
  [
    'vault-generic',
    { credential_type: 'constructor', attributes: { path: 'a' } },
    ['credential_type'],
  ],
  ['vault-ssh-certificate', ssh({}), []],
  ['vault-ssh-certificate', ssh({ key_type: 'rsa', key_bits: 2048 }), []],
  ['vault-ssh-certificate', ssh({ key_type: 'rsa' }), ['attributes.key_type']],
  ['vault-ssh-certificate', ssh({ key_type: 'rsa', key_bits: 0 }), []],
  ['vault-ssh-certificate', ssh({ key_type: 'ecdsa', key_bits: 1 }), ['attributes.key_bits']],
  ['vault-ssh-certificate', ssh({ key_type: 'rsa', key_bits: 256 }), ['attributes.key_bits']],
  ['vault-ssh-certificate', ssh({ key_type: 'dsa' }), ['attributes.key_type']],
  ['vault-ssh-certificate', ssh({ key_type: 'constructor', key_bits: 1 }), ['attributes.key_type']],
  ['vault-ssh-certificate', ssh({ key_type: '__proto__' }), ['attributes.key_type']],
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
  ['authority-certificate', own({ ttl: '1h30m' }), []],
  ['authority-certificate', own({ ttl: '7d' }), []],
  ['authority-certificate', own({ ttl: '-1m' }), ['attributes.ttl']],
  // It was taken once, and the session's own length was used instead.
  ['authority-certificate', own({ ttl: '1d12h' }), ['attributes.ttl']],
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

/** A change by a client that sends null for a size of 0, and what is asked for then. */
const sizes: [before: object, change: object, mask: readonly string[], after: object][] = [
  [{}, { key_type: 'ecdsa' }, ['key_type', 'key_bits'], { key_type: 'ecdsa', key_bits: 256 }],
  [
    { key_type: 'ecdsa', key_bits: 521 },
    { key_type: 'rsa', key_bits: 0 },
    ['key_type', 'key_bits'],
    { key_type: 'rsa', key_bits: 2048 },
  ],
  [{ key_type: 'rsa', key_bits: 4096 }, {}, ['key_bits'], { key_type: 'rsa', key_bits: 2048 }],
  [{ key_type: 'rsa', key_bits: 4096 }, {}, ['key_type', 'key_bits'], { key_type: 'ed25519' }],
  [{ key_type: 'rsa', key_bits: 4096 }, {}, ['ttl'], { key_type: 'rsa', key_bits: 4096 }],
];

for (const [before, change, mask, after] of sizes) {
  const said = `${JSON.stringify(change)} of ${mask}`;
  test(`${said} makes ${JSON.stringify(after)} of ${JSON.stringify(before)}`, () => {
    const type = 'vault-ssh-certificate';
    const made = planLibrary(type, undefined, ssh(before), []);
    const paths = mask.map((name) => `attributes.${name}`);
    const changed = planLibrary(type, made, { attributes: change }, paths);
    assert.deepEqual(changed.attributes, { path: 'ssh/sign/a', username: 'u', ...after });
  });
}

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

const many = (count: number, length = 1): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, 'v'.repeat(length)]));
const x = (length: number): string => 'x'.repeat(length);

const generic = (attributes: object) => ({ attributes });
const posted = (length: number) =>
  generic({ path: 'a', http_method: 'POST', http_request_body: x(length) });

const limits: [type: string, within: object, beyond: object, field: string][] = [
  ['vault-generic', generic({ path: x(4096) }), generic({ path: x(4097) }), 'path'],
  ['vault-generic', posted(16_384), posted(16_385), 'http_request_body'],
  ['vault-ssh-certificate', ssh({ ttl: x(4096) }), ssh({ ttl: x(4097) }), 'ttl'],
  [
    'vault-ssh-certificate',
    ssh({ extensions: many(64) }),
    ssh({ extensions: many(65) }),
    'extensions',
  ],
  [
    'vault-ssh-certificate',
    ssh({ critical_options: many(16, 1024) }),
    ssh({ critical_options: many(16, 1025) }),
    'critical_options',
  ],
  [
    'vault-ssh-certificate',
    ssh({ critical_options: { [x(256)]: 'v' } }),
    ssh({ critical_options: { [x(257)]: 'v' } }),
    'critical_options',
  ],
  [
    'vault-ssh-certificate',
    ssh({ additional_valid_principals: Object.values(many(64)) }),
    ssh({ additional_valid_principals: Object.values(many(65)) }),
    'additional_valid_principals',
  ],
  ['authority-certificate', own({ ip_sans: x(4096) }), own({ ip_sans: x(4097) }), 'ip_sans'],
  ['authority-certificate', own({ role: x(4096) }), own({ role: x(4097) }), 'role'],
];

for (const [type, within, beyond, field] of limits) {
  test(`${field} of ${type} has a longest form`, () => {
    assert.deepEqual(faults(type, within), {});
    assert.deepEqual(Object.keys(faults(type, beyond)), [`attributes.${field}`]);
  });
}

const LONG = 500_000;
const hostile: [why: string, type: string, item: object, field: string][] = [
  [
    'a duration that ends wrong',
    'authority-certificate',
    own({ ttl: `${'1'.repeat(40)}!` }),
    'ttl',
  ],
  ['a long duration', 'authority-certificate', own({ ttl: `${'1s'.repeat(LONG)}!` }), 'ttl'],
  ['values', 'vault-generic', { attributes: { path: `{{coalesce${'``'.repeat(LONG)}}}` } }, 'path'],
  ['brackets', 'vault-generic', { attributes: { path: '{{('.padEnd(LONG, '(') } }, 'path'],
  ['a long path', 'vault-ldap', { attributes: { path: '/creds'.repeat(LONG / 6) } }, 'path'],
  ['many options', 'vault-ssh-certificate', ssh({ extensions: many(LONG / 10) }), 'extensions'],
];

for (const [why, type, item, field] of hostile) {
  test(`what is made to take long to read is refused at once: ${why}`, async () => {
    await spendsAtMost(100, () => {
      assert.deepEqual(Object.keys(faults(type, item)), [`attributes.${field}`]);
    });
  });
}

/** Writing, reading and changing roles, asked of a server. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
type Fields = Record<string, unknown>;

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  const root = { common_name: 'R', key_type: 'ec', ttl: '10000h' };
  await call('POST', 'pki/root/generate/internal', root);
});

const write = (fields: Fields, name = 'x') => call('POST', `pki/roles/${name}`, fields);
const patch = (fields: Fields, name = 'x') => call('PATCH', `pki/roles/${name}`, fields);

const fields: Fields = {
  allow_any_name: false,
  allow_bare_domains: false,
  allow_glob_domains: false,
  allow_globs_in_identity_templates: false,
  allow_ip_sans: true,
  allowed_extensions: [],
  allowed_ip_sans_cidr: [],
  allow_localhost: true,
  allow_subdomains: false,
  allow_token_displayname: false,
  allow_wildcard_certificates: true,
  allowed_domains: [],
  allowed_domains_template: false,
  allowed_other_sans: [],
  allowed_serial_numbers: [],
  allowed_sids: [],
  allowed_uri_sans: [],
  allowed_uri_sans_template: false,
  allowed_user_ids: [],
  basic_constraints_valid_for_non_ca: false,
  client_flag: true,
  cn_validations: ['email', 'hostname'],
  code_signing_flag: false,
  country: [],
  email_protection_flag: false,
  enforce_hostnames: true,
  ext_key_usage: [],
  ext_key_usage_oids: [],
  generate_lease: false,
  issuer_ref: 'default',
  key_bits: 2048,
  key_type: 'rsa',
  key_usage: ['DigitalSignature', 'KeyAgreement', 'KeyEncipherment'],
  locality: [],
  max_ttl: 0,
  must_staple: false,
  no_store: false,
  no_store_metadata: false,
  not_after: '',
  not_after_bound: 'permit',
  not_before: '',
  not_before_bound: 'permit',
  not_before_duration: 30,
  organization: [],
  ou: [],
  policy_identifiers: [],
  postal_code: [],
  province: [],
  require_cn: true,
  serial_number_source: 'json-csr',
  server_flag: true,
  signature_bits: 256,
  street_address: [],
  ttl: 0,
  use_csr_common_name: true,
  use_csr_sans: true,
  use_pss: false,
};
test('a role that says nothing reads back whole, with every default, when written and when read', async () => {
  const written = await write({});
  assert.deepEqual(written.field('data'), fields);
  assert.deepEqual((await call('GET', 'pki/roles/x')).field('data'), fields);
});

const keys: [sent: Fields, key_bits: number, signature_bits: number][] = [
  [{ key_type: 'ec' }, 256, 0],
  [{ key_type: 'ec', signature_bits: 384 }, 256, 384],
  [{ key_type: 'ec', signature_bits: 521 }, 256, 521],
  [{ key_type: 'any', signature_bits: 384 }, 0, 0],
  [{ key_type: 'ed25519' }, 0, 0],
  [{ key_type: 'rsa', key_bits: 4096 }, 4096, 256],
];
test('sizes that are left open are filled in as the type of key has it', async () => {
  for (const [sent, key_bits, signature_bits] of keys) {
    const answer = await write(sent);
    const read = [answer.field('data.key_bits'), answer.field('data.signature_bits')];
    assert.deepEqual(read, [key_bits, signature_bits], JSON.stringify(sent));
  }
});

const refusals: [sent: Fields, says: RegExp][] = [
  [{ key_type: 'rsa', key_bits: 1024 }, /RSA keys < 2048 bits are unsafe and not supported/],
  [{ key_type: 'rsa', key_bits: 2047 }, /RSA keys < 2048 bits/],
  [{ key_type: 'rsa', key_bits: 2560 }, /unsupported bit length for RSA key: 2560/],
  [{ key_type: 'ec', key_bits: 255 }, /unsupported bit length for EC key: 255/],
  [{ key_type: 'rsa', signature_bits: 128 }, /unsupported hash signature algorithm: 128/],
  [{ ttl: '2h', max_ttl: '1h' }, /\\"ttl\\" value must be less than \\"max_ttl\\" value/],
  [{ ext_key_usage_oids: ['not-an-oid'] }, /not-an-oid/],
  [{ cn_validations: ['email', 'disabled'] }, /cn_validations value incorrect/],
  [{ cn_validations: ['email', 'email'] }, /cn_validations value incorrect/],
  [{ cn_validations: ['host'] }, /cn_validations value incorrect/],
  [{ policy_identifiers: ['1.2.x'] }, /policy_identifiers|policy/],
  [{ key_type: 'dsa' }, /unknown key type/],
  [{ allowed_other_sans: '1.2.3;UTF16:a' }, /error parsing allowed_other_sans/],
  [{ not_after: 'tomorrow' }, /not_after/],
  [{ ttl: '-1h' }, /ttl/],
  [{ ttl: '0.5' }, /less than a second/],
  [{ max_ttl: '10ms' }, /less than a second/],
];
test('a role that is refused leaves the one that is there as it was', async () => {
  await write({ ttl: '5h', key_type: 'ec' });
  for (const [sent, says] of refusals) {
    for (const answer of [
      await write(sent),
      await patch({ key_type: 'rsa', key_bits: 0, ...sent }),
    ]) {
      assert.equal(answer.status, 400, `${JSON.stringify(sent)}: ${answer.text}`);
      assert.match(answer.text, says);
    }
  }
  const read = await call('GET', 'pki/roles/x');
  assert.deepEqual(read.field('data'), {
    ...fields,
    ttl: 18_000,
    key_type: 'ec',
    key_bits: 256,
    signature_bits: 0,
  });
});

test('a ttl equal to max_ttl is accepted', async () => {
  assert.equal((await write({ ttl: '1h', max_ttl: 3600 })).status, 200);
});

test('no_store takes priority over generate_lease, with a warning', async () => {
  const answer = await write({ no_store: true, generate_lease: true });
  assert.match(
    answer.textAt('warnings'),
    /mutually exclusive values no_store=true and generate_lease=true/,
  );
  assert.equal((await call('GET', 'pki/roles/x')).field('data.generate_lease'), false);
});

test('a role may name an issuer that is still to come, and works once it is there', async () => {
  const role = { issuer_ref: 'later', key_type: 'ec', allow_any_name: true, ttl: '1h' };
  const answer = await write(role, 'r8');
  assert.equal(answer.status, 200);
  assert.match(
    answer.textAt('warnings'),
    /Issuing Certificate was set to later but no issuing certificate/,
  );
  const request = { common_name: 'a.test' };
  assert.equal((await call('POST', 'pki/issue/r8', request)).status, 500);
  await call('PATCH', 'pki/issuer/default', { issuer_name: 'later' });
  assert.equal((await call('POST', 'pki/issue/r8', request)).status, 200);
  assert.equal((await write(role, 'r8')).field('warnings'), null);
});

const most: Fields = {
  ...fields,
  allow_any_name: true,
  allow_bare_domains: true,
  allowed_domains: ['a.test', 'b.test'],
  allowed_other_sans: ['1.2.3;UTF8:a*'],
  allowed_serial_numbers: ['1*'],
  allowed_uri_sans: ['spiffe://a/*'],
  allowed_user_ids: ['bob'],
  client_flag: false,
  country: ['CH'],
  ext_key_usage: ['TimeStamping'],
  ext_key_usage_oids: ['1.2.3.4'],
  key_bits: 384,
  key_type: 'ec',
  key_usage: ['DigitalSignature'],
  max_ttl: 360_000,
  organization: ['Foo, Inc.'],
  ou: ['a', 'b'],
  policy_identifiers: ['1.2.3.4'],
  require_cn: false,
  signature_bits: 384,
  ttl: 3600,
};
test('a patch changes what it names, null changes nothing, emptiness does', async () => {
  const { allow_token_displayname: _, ...body } = most;
  assert.deepEqual((await write(body)).field('data'), most);
  const patched = await patch({ ttl: '3h' });
  assert.deepEqual(patched.field('data'), { ...most, ttl: 10_800 });
  const nulls = Object.fromEntries(Object.keys(body).map((name) => [name, null]));
  assert.deepEqual((await patch(nulls)).field('data'), { ...most, ttl: 10_800 });
  assert.deepEqual((await patch({})).field('data'), { ...most, ttl: 10_800 });
  const emptied = await patch({ ou: [], ttl: 0, require_cn: true, issuer_ref: '' });
  assert.deepEqual(emptied.field('data'), { ...most, ou: [], ttl: 0, require_cn: true });
  const replaced = await patch({ allowed_domains: 'c.test' });
  assert.deepEqual(replaced.field('data.allowed_domains'), ['c.test']);
});

test('a role that is not there cannot be patched, and is not made by it', async () => {
  const answer = await patch({ ttl: '1h' }, 'none');
  assert.equal(answer.status, 400);
  assert.match(answer.text, /Unable to fetch role entry to patch/);
  assert.equal((await call('GET', 'pki/roles/none')).status, 404);
});

test('a type of key is changed together with its size', async () => {
  await write({ key_type: 'rsa', key_bits: 2048 });
  assert.equal((await patch({ key_type: 'ec' })).status, 400);
  const both = await patch({ key_type: 'ec', key_bits: 256 });
  assert.equal(both.status, 200, both.text);
});

test('policies with qualifiers are taken as text and reach the certificate', async () => {
  const policy_identifiers =
    '[{"oid":"1.3.6.1.4.1.7.8","cps":"https://cps.test/x","notice":"Hear!"}]';
  const role = { policy_identifiers, key_type: 'ec', allow_any_name: true, ttl: '1h' };
  assert.equal((await write(role)).status, 200);
  const issued = await call('POST', 'pki/issue/x', { common_name: 'a.test', format: 'der' });
  const der = Buffer.from(issued.textAt('data.certificate'), 'base64');
  assert.ok(der.includes('https://cps.test/x') && der.includes('Hear!'));
});

test('a role that is written again is written anew', async () => {
  await write({ allow_localhost: false, ttl: '1h', ou: 'a' });
  const again = await write({ ttl: '1h' });
  assert.deepEqual(again.field('data'), { ...fields, ttl: 3600 });
});

test('roles are listed sorted, and gone when deleted', async () => {
  for (const name of ['b', 'a.b-c', 'B']) await write({}, name);
  const listed = await call('LIST', 'pki/roles');
  const names = listed.field('data.keys');
  assert.ok(Array.isArray(names));
  assert.deepEqual(names, [...names].sort());
  assert.equal((await call('DELETE', 'pki/roles/b')).status, 204);
  assert.equal((await call('DELETE', 'pki/roles/b')).status, 204);
  assert.equal((await call('GET', 'pki/roles/b')).status, 404);
  assert.equal((await call('POST', 'pki/roles/-a', {})).status, 404, 'no name of a role');
});

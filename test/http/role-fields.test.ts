/** Every field of a role, one after the other: which forms it is sent in, how it is read, and that it changes no other. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
type Fields = Record<string, unknown>;

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
});

/** A list that is sent as a text with commas, as JSON in a text and as a list. */
const list = (first: string, second: string): [sent: unknown[], read: unknown] => [
  [`${first},${second}`, `${first}, ${second}`, JSON.stringify([first, second]), [first, second]],
  [first, second],
];
const flag = (read: boolean): [sent: unknown[], read: unknown] => [
  [read, String(read), read ? 1 : 0],
  read,
];
const word = (...read: string[]): [sent: unknown[], read: unknown] => [read, read[0]];

/** All but the fields that go beyond upstream, each with another value than its default. */
const FIELDS: Readonly<Record<string, [sent: unknown[], read: unknown]>> = {
  issuer_ref: word('other'),
  ttl: [['2h', '120m', 7200, '7200'], 7200],
  max_ttl: [['2h', 7200, '7200s'], 7200],
  allow_localhost: flag(false),
  allowed_domains: list('a.test', 'b.test'),
  allowed_domains_template: flag(true),
  allow_bare_domains: flag(true),
  allow_subdomains: flag(true),
  allow_glob_domains: flag(true),
  allow_wildcard_certificates: flag(false),
  allow_any_name: flag(true),
  enforce_hostnames: flag(false),
  allow_ip_sans: flag(false),
  allowed_uri_sans: list('spiffe://a/*', 'urn:b'),
  allowed_uri_sans_template: flag(true),
  allowed_other_sans: list('1.2.3;UTF8:a*', '1.2.4;UTF-8:*'),
  allowed_serial_numbers: list('a*', 'b'),
  server_flag: flag(false),
  client_flag: flag(false),
  code_signing_flag: flag(true),
  email_protection_flag: flag(true),
  key_bits: [[3072, '3072'], 3072],
  signature_bits: [[384, '384'], 384],
  use_pss: flag(true),
  key_usage: list('CertSign', 'crlsign'),
  ext_key_usage: list('TimeStamping', 'ocspsigning'),
  ext_key_usage_oids: list('1.2.3.4', '1.2.3.5'),
  use_csr_common_name: flag(false),
  use_csr_sans: flag(false),
  ou: list('A', 'B'),
  organization: list('A', 'B'),
  country: list('CH', 'DE'),
  locality: list('A', 'B'),
  province: list('A', 'B'),
  street_address: list('A', 'B'),
  postal_code: list('1', '2'),
  generate_lease: flag(true),
  no_store: flag(true),
  require_cn: flag(false),
  policy_identifiers: list('1.2.3', '1.2.4'),
  basic_constraints_valid_for_non_ca: flag(true),
  not_before_duration: [['2m', 120, '120'], 120],
  not_after: word('9999-12-31T23:59:59Z'),
  cn_validations: [['disabled', ['disabled']], ['disabled']],
  allowed_user_ids: list('h*', 'x'),
  no_store_metadata: flag(true),
};
for (const [field, [forms, read]] of Object.entries(FIELDS)) {
  test(`${field} of a role is written and patched in every form, and changes no other field`, async () => {
    const plain = await call('POST', 'pki/roles/plain', {});
    const kept: Fields = { ou: ['kept'], allow_token_displayname: true, must_staple: true };
    for (const sent of forms) {
      const why = `${field} sent as ${JSON.stringify(sent)}`;
      const written = await call('POST', `pki/roles/${field}`, { [field]: sent });
      const whole = { ...(plain.field('data') as Fields), [field]: read };
      assert.equal(written.status, 200, `${why}: ${written.text}`);
      assert.deepEqual(written.field('data'), whole, why);
      assert.deepEqual((await call('GET', `pki/roles/${field}`)).field('data'), whole, why);

      const before = await call('POST', 'pki/roles/patched', kept);
      const patched = await call('PATCH', 'pki/roles/patched', { [field]: sent });
      const changed = { ...(before.field('data') as Fields), [field]: read };
      assert.deepEqual(patched.field('data'), changed, `${why}: ${patched.text}`);
    }
  });
}

test('the type of key of a role is written and patched, and brings its own sizes', async () => {
  for (const key_type of ['ec', 'ed25519', 'any', 'rsa']) {
    const written = await call('POST', 'pki/roles/typed', { key_type });
    assert.equal(written.field('data.key_type'), key_type, written.text);
    await call('POST', 'pki/roles/patched', {});
    const patched = await call('PATCH', 'pki/roles/patched', { key_type, key_bits: 0 });
    assert.equal(patched.field('data.key_type'), key_type, patched.text);
    assert.equal(patched.field('data.key_bits'), written.field('data.key_bits'));
  }
});

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { z } from 'zod';
import { DAY, NOW } from '../../../test/support/leaves.ts';
import { parseAuthorityInfoAccess } from '../../x509/extension-urls.ts';
import { findExtension, parseBasicConstraints } from '../../x509/extensions.ts';
import { parseSubjectAltName } from '../../x509/general-names.ts';
import { parseKeyUsage } from '../../x509/key-usages.ts';
import { publicKeyInfo } from '../../x509/keys.ts';
import { lintTbsCertificate } from '../../x509/lint.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { urlSettingsSchema } from '../mount-state/urls.ts';
import { planRoot, rootFields } from './root.ts';

const public_key = publicKeyInfo(generateKeyPairSync('ed25519').privateKey);
const schema = z.object(rootFields);

function plan(body: Record<string, unknown> = {}, urls: Record<string, unknown> = {}) {
  const planned = planRoot({
    request: schema.parse({ common_name: 'Root', ...body }),
    now: NOW,
    serialNumber: Uint8Array.of(1),
    key: { key_type: 'ed25519', key_bits: 0, public_key },
    mount: { default_ttl: DAY, max_ttl: 10 * DAY },
    urls: urlSettingsSchema.parse(urls),
    cluster: { path: 'https://c.test/v1/pki', aia_path: 'http://c.test/pki' },
  });
  assert.deepEqual(lintTbsCertificate(planned.tbs), []);
  const read = <T>(type: keyof typeof EXTENSION_OID, parse: (value: Uint8Array) => T) => {
    const extension = findExtension(planned.tbs.extensions, EXTENSION_OID[type]);
    return extension && parse(extension.value);
  };
  return { ...planned, read };
}

test('a root signs itself, is a CA, and without limits has none', () => {
  const { tbs, read } = plan();
  assert.deepEqual(tbs.issuer, tbs.subject);
  assert.equal(tbs.signatureAlgorithm, 'PureEd25519');
  assert.deepEqual(read('basicConstraints', parseBasicConstraints), { ca: true });
  assert.deepEqual(read('keyUsage', parseKeyUsage), ['CertSign', 'CRLSign']);
  assert.equal(tbs.notAfter, NOW + DAY);
});

test('the mount caps a TTL with a warning, and not an end in the year 9999', () => {
  const { tbs, warnings } = plan({ ttl: '1000h' });
  assert.equal(tbs.notAfter, NOW + 10 * DAY);
  assert.match(warnings[0] ?? '', /TTL "1000h0m0s" is longer than permitted maxTTL "240h0m0s"/);
  assert.equal(plan({ not_after: '9999-12-31T23:59:59Z' }).tbs.notAfter, 253_402_300_799);
});

test('a path length of zero is stated, with a warning; one is without', () => {
  const zero = plan({ max_path_length: 0 });
  assert.deepEqual(zero.read('basicConstraints', parseBasicConstraints), {
    ca: true,
    pathLength: 0,
  });
  assert.match(zero.warnings.join(), /Max path length of the generated certificate is zero/);
  assert.ok(!plan({ max_path_length: 1 }).warnings.join().includes('Max path length'));
});

test('-1 is any path length, and nothing less is one', () => {
  const any = plan({ max_path_length: -1 });
  assert.deepEqual(any.read('basicConstraints', parseBasicConstraints), { ca: true });
  assert.throws(() => plan({ max_path_length: -2 }), {
    kind: 'invalid',
    message: 'max_path_length: -2 is less than -1',
  });
});

test('a root needs some subject; without a common name it is told', () => {
  assert.throws(() => plan({ common_name: '' }), /common_name is required/);
  const { warnings } = plan({ common_name: '', organization: 'Org' });
  assert.match(warnings.join(), /no common name/);
});

const names: [
  body: Record<string, unknown>,
  dns: string[] | undefined,
  email: string[],
  why: string,
][] = [
  [{ common_name: 'Demo Root' }, undefined, [], 'a common name that is no host name stays alone'],
  [{ common_name: 'ca.test' }, ['ca.test'], [], 'one that is stands among them'],
  [{ common_name: 'ca.test', exclude_cn_from_sans: true }, undefined, [], 'unless excluded'],
  [{ common_name: 'ca@a.test' }, [], ['ca@a.test'], 'a mailbox too'],
  [{ alt_names: 'b.test, x@b.test,' }, ['b.test'], ['x@b.test'], 'blanks and ends are no names'],
  [{ alt_names: 'bücher.de' }, ['xn--bcher-kva.de'], [], 'other scripts are written in ASCII'],
];
for (const [body, dns, email, why] of names) {
  test(`alternative names of a root: ${why}`, () => {
    const sans = plan(body).read('subjectAltName', parseSubjectAltName);
    assert.deepEqual(sans?.dns, dns);
    assert.deepEqual(sans?.email ?? [], email);
  });
}

test('alternative names that are none are refused', () => {
  for (const body of [
    { alt_names: 'a b' },
    { alt_names: 'a_b.test' },
    { alt_names: 'a b@c.test' },
    { alt_names: 'a@b@c.test' },
    { ip_sans: 'nonsense' },
    { other_sans: '1.2.3;UTF16:a' },
  ]) {
    assert.throws(() => plan(body), { kind: 'invalid' });
  }
});

test('a mount without URLs is told, with them they stand in the certificate', () => {
  assert.match(plan().warnings.join(), /This mount hasn't configured any authority information/);
  const { read, warnings } = plan({}, { ocsp_servers: 'http://a.test/ocsp' });
  assert.deepEqual(warnings, []);
  assert.deepEqual(read('authorityInfoAccess', parseAuthorityInfoAccess)?.ocsp, [
    'http://a.test/ocsp',
  ]);
});

test('templates are filled in, except that a root cannot know its own id', () => {
  const known = plan({}, { ocsp_servers: '{{cluster_path}}/ocsp', enable_templating: true });
  assert.deepEqual(known.read('authorityInfoAccess', parseAuthorityInfoAccess)?.ocsp, [
    'https://c.test/v1/pki/ocsp',
  ]);
  const url = '{{cluster_aia_path}}/issuer/{{issuer_id}}/der';
  const unknown = plan({}, { issuing_certificates: url, enable_templating: true });
  assert.equal(unknown.read('authorityInfoAccess', parseAuthorityInfoAccess), undefined);
  assert.match(unknown.warnings.join(), /issuer_id/);
});

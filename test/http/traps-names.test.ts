/** Which names a role lets into a certificate, asked of a server. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { type Certificate, parseCertificate } from '../../src/x509/certificate.ts';
import { findExtension } from '../../src/x509/extensions.ts';
import { parseSubjectAltName } from '../../src/x509/general-names.ts';
import { nameText, parseName } from '../../src/x509/names.ts';
import { EXTENSION_OID } from '../../src/x509/oids.ts';
import { makeCsr } from '../support/leaves.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  await call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
});

type Fields = Record<string, unknown>;

/** Asks a role of these rules for a certificate. */
async function issue(rules: Fields, request: Fields): Promise<Reply> {
  const role = await call('POST', 'pki/roles/x', {
    key_type: 'ec',
    ttl: '1h',
    allowed_domains: 'example.com',
    ...rules,
  });
  assert.equal(role.status, 200, role.text);
  return call('POST', 'pki/issue/x', request);
}

function leafOf(answer: Reply): Certificate {
  assert.equal(answer.status, 200, answer.text);
  return parseCertificate(parsePem(answer.textAt('data.certificate'))[0]?.der ?? new Uint8Array());
}

const subjectOf = (leaf: Certificate): string => nameText(parseName(leaf.subject));

function namesOf(leaf: Certificate) {
  const found = findExtension(leaf.extensions, EXTENSION_OID.subjectAltName);
  return found && { ...parseSubjectAltName(found.value), critical: found.critical };
}

const any = { allow_any_name: true };
const bare = { allow_bare_domains: true };
const sub = { allow_subdomains: true };

/** `true`: let in; otherwise what the refusal says. */
const commonNames: [what: string, rules: Fields, common_name: string, verdict: true | RegExp][] = [
  ['the domain itself', bare, 'example.com', true],
  ['in any letter case', bare, 'EXAMPLE.COM', true],
  ['not without leave', {}, 'example.com', /common name example\.com not allowed by this role/],
  ['the domain itself only', bare, 'foo.example.com', /common name foo\.example\.com not allowed/],
  ['names beneath only', sub, 'example.com', /common name/],
  ['a wildcard beneath', sub, '*.example.com', true],
  ['and deeper', sub, '*.foo.example.com', true],
  ['a look-alike', sub, 'notexample.com', /common name/],
  ['wildcards off', { ...any, allow_wildcard_certificates: false }, '*.example.com', /common name/],
  ['wildcards on', any, '*.example.com', true],
  ['two stars', any, '*.*.example.com', /common name/],
  ['a star inside', any, 'foo.*.example.com', /common name/],
  [
    'a glob crosses dots',
    { allow_glob_domains: true, allowed_domains: '*.example.com' },
    'a.b.example.com',
    true,
  ],
  [
    'a glob needs its dot',
    { allow_glob_domains: true, allowed_domains: '*.example.com' },
    'example.com',
    /common name/,
  ],
  ['no globs', { ...sub, allowed_domains: '*.example.com' }, 'a.example.com', /common name/],
  ['localhost', {}, 'localhost', true],
  ['not beneath localhost', {}, 'a.localhost', /common name/],
  ['beneath localhost with subdomains', sub, 'a.localhost', true],
  ['localhost off', { allow_localhost: false }, 'localhost', /common name/],
  ['an underscore', any, 'foo_bar.example.com', /common name/],
  ['where hostnames are free', { ...any, enforce_hostnames: false }, 'foo_bar.example.com', true],
  ['a trailing dot', any, 'www.example.com.', true],
  ['two of them', any, 'www.example.com..', /common name/],
  [
    'an address is no hostname',
    { ...bare, cn_validations: 'hostname' },
    'user@example.com',
    /common name/,
  ],
  ['an address', { ...bare, cn_validations: 'email' }, 'user@example.com', true],
  ['a hostname is no address', { ...bare, cn_validations: 'email' }, 'example.com', /common name/],
  ['two at signs', any, 'a@b@c', /common name/],
  ['no validation', { ...bare, cn_validations: 'disabled' }, 'Bank 123', true],
  ['validation', bare, 'Bank 123', /common name/],
];
test('a common name is let in by the rules of its role, and by nothing else', async () => {
  for (const [what, rules, common_name, verdict] of commonNames) {
    const answer = await issue(rules, { common_name });
    if (verdict === true) {
      assert.equal(subjectOf(leafOf(answer)), `CN=${common_name}`, what);
    } else {
      assert.equal(answer.status, 400, `${what}: ${answer.text}`);
      assert.match(answer.text, verdict, what);
    }
  }
});

test('the same names are judged alike as parameters and in a signing request', async () => {
  for (const [what, rules, common_name, verdict] of commonNames) {
    await issue(rules, { common_name: 'nothing' });
    const csr = makeCsr({ subject: { common_name } });
    const signed = await call('POST', 'pki/sign/x', { csr });
    assert.equal(signed.status, verdict === true ? 200 : 400, `${what}: ${signed.text}`);
  }
});

test('the subject keeps the letter case that was asked for', async () => {
  const leaf = leafOf(await issue(bare, { common_name: 'Example.COM' }));
  assert.equal(subjectOf(leaf), 'CN=Example.COM');
  assert.deepEqual(namesOf(leaf)?.dns, ['Example.COM']);
});

test('a trailing dot stays in both names', async () => {
  const leaf = leafOf(await issue(any, { common_name: 'www.example.com.' }));
  assert.deepEqual(namesOf(leaf)?.dns, ['www.example.com.']);
});

test('without a common name there is no certificate, unless the role allows it', async () => {
  const refused = await issue(any, { alt_names: 'a.example.com' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /the common_name field is required/);
  const leaf = leafOf(await issue({ ...any, require_cn: false }, { alt_names: 'a.example.com' }));
  assert.equal(subjectOf(leaf), '');
  assert.equal(namesOf(leaf)?.critical, true);
  const named = leafOf(
    await issue({ ...any, require_cn: false }, { common_name: 'a.example.com' }),
  );
  assert.equal(namesOf(named)?.critical, false);
});

test('an alternative name that is not let in is named in the refusal', async () => {
  const request = { common_name: 'a.example.com', alt_names: 'b.example.com,evil.test' };
  const refused = await issue(sub, request);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /subject alternate name evil\.test not allowed by this role/);
  const csr = await issue(sub, { common_name: 'a.example.com', alt_names: 'x@evil.test' });
  assert.match(csr.text, /email address x@evil\.test not allowed by this role/);
});

test('a common name that stays out of the alternative names is judged all the same', async () => {
  const asked = { common_name: 'a.example.com', exclude_cn_from_sans: true };
  assert.equal(namesOf(leafOf(await issue(sub, asked))), undefined);
  const refused = await issue(sub, { ...asked, common_name: 'a.example.org' });
  assert.equal(refused.status, 400);
});

test('a common name that is not judged may stand beside names that are', async () => {
  const rules = { ...sub, cn_validations: ['disabled'] };
  const leaf = leafOf(await issue(rules, { common_name: 'Bank 123', alt_names: 'a.example.com' }));
  assert.deepEqual(namesOf(leaf)?.dns, ['a.example.com']);
  const refused = await issue(rules, { common_name: 'Bank 123', alt_names: 'a.example.org' });
  assert.equal(refused.status, 400);
});

test('a template of the identity lets nothing in for a token that has none', async () => {
  const rules = {
    ...sub,
    allowed_domains: ['{{identity.entity.metadata.dom}}'],
    allowed_domains_template: true,
  };
  for (const common_name of ['a.x.com', 'a.{{identity.entity.metadata.dom}}', 'a.']) {
    assert.equal((await issue(rules, { common_name })).status, 400, common_name);
  }
});

test('URIs come in by glob or listed, in the order asked for', async () => {
  const rules = { ...any, allowed_uri_sans: ['spiffe://host.com/*', 'urn:exact'] };
  const uri_sans = ['urn:exact', 'spiffe://host.com/a'];
  const leaf = leafOf(await issue(rules, { common_name: 'a.example.com', uri_sans }));
  assert.deepEqual(namesOf(leaf)?.uri, uri_sans);
  const refused = await issue(rules, { common_name: 'a.example.com', uri_sans: 'urn:exact2' });
  assert.match(refused.text, /not valid for this role/);
  const none = await issue(any, { common_name: 'a.example.com', uri_sans: 'urn:exact' });
  assert.equal(none.status, 400);
  assert.match(none.text, /URI Subject Alternative Names are not allowed in this role/);
});

const UPN = '1.3.6.1.4.1.311.20.2.3';
test('other names come in by object identifier and value, as UTF-8 only', async () => {
  const rules = { ...any, allowed_other_sans: `${UPN};UTF8:devops@*` };
  const ask = (other_sans: string) => issue(rules, { common_name: 'a.example.com', other_sans });
  const leaf = leafOf(await ask(`${UPN};utf-8:devops@a.test`));
  assert.deepEqual(
    namesOf(leaf)?.other.map(({ oid, value }) => [oid, value]),
    [[UPN, 'devops@a.test']],
  );
  for (const [sent, says] of [
    [`${UPN};UTF2:devops@a.test`, /only utf8/],
    ['1.3.6.1.4.1.311.20.2.4;UTF8:devops@a.test', /other SAN OID 1\.3\.6\.1\.4\.1\.311\.20\.2\.4/],
    [`${UPN};UTF8:root@a.test`, /not allowed for OID/],
    [`${UPN}:devops@a.test`, /expected a semicolon in other SAN/],
    [`${UPN};UTF8`, /expected a colon in other SAN/],
  ] as const) {
    const refused = await ask(sent);
    assert.equal(refused.status, 400, sent);
    assert.match(refused.text, says);
  }
});

test('names keep their order beside addresses and other names', async () => {
  const leaf = leafOf(
    await issue(
      { ...any, allowed_other_sans: '*' },
      {
        common_name: 'foobar.com',
        alt_names: 'foo.foobar.com,bar.foobar.com',
        ip_sans: '1.2.3.4,::1',
        other_sans: `${UPN};UTF8:devops`,
      },
    ),
  );
  const names = namesOf(leaf);
  assert.deepEqual(names?.dns, ['foobar.com', 'foo.foobar.com', 'bar.foobar.com']);
  assert.equal(names?.ip.length, 2);
  assert.equal(names?.other.length, 1);
});

test('alternative names of nothing add nothing', async () => {
  for (const alt_names of ['', ',', ',,']) {
    const leaf = leafOf(await issue(any, { common_name: 'a.example.com', alt_names, ip_sans: '' }));
    assert.deepEqual(namesOf(leaf)?.dns, ['a.example.com']);
  }
});

test('addresses, subject serial numbers and user ids are let in by the role alone', async () => {
  const request = { common_name: 'a.example.com' };
  const cases: [rules: Fields, more: Fields, verdict: true | RegExp][] = [
    [{}, { ip_sans: '10.0.0.1' }, true],
    [
      { allow_ip_sans: false },
      { ip_sans: '10.0.0.1' },
      /IP Subject Alternative Names are not allowed/,
    ],
    [{}, { ip_sans: '10.0.0' }, /is not a valid IP address/],
    [{ allowed_serial_numbers: 'a*' }, { serial_number: 'abc' }, true],
    [{ allowed_serial_numbers: 'a*' }, { serial_number: 'bc' }, /serial_number bc not allowed/],
    [{}, { serial_number: 'abc' }, /serial_number abc not allowed by this role/],
    [{ allowed_user_ids: 'bob,dev-*' }, { user_ids: 'Bob,dev-1' }, true],
    [{ allowed_user_ids: 'bob' }, { user_ids: 'eve' }, /user_id eve is not allowed by this role/],
    [{}, { user_ids: 'bob' }, /user_id bob is not allowed by this role/],
  ];
  for (const [rules, more, verdict] of cases) {
    const answer = await issue({ ...any, ...rules }, { ...request, ...more });
    if (verdict === true) leafOf(answer);
    else {
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.text, verdict);
    }
  }
});

/** What upstream signs, and no verifier has to accept. */
const invalid: [what: string, rules: Fields, request: Fields, says: RegExp][] = [
  [
    'no name at all',
    { require_cn: false },
    {},
    /a certificate needs a subject or a subjectAltName/,
  ],
  [
    'the key usage of an authority',
    { ...bare, key_usage: 'CertSign' },
    { common_name: 'example.com' },
    /CertSign is for authorities only/,
  ],
  [
    'a beginning before 1970',
    bare,
    { common_name: 'example.com', not_before: '1900-01-01T00:00:00Z' },
    /1970/,
  ],
];

test('what RFC 5280 knows as no certificate is not issued, whatever the role says', async () => {
  for (const [what, rules, request, says] of invalid) {
    const answer = await issue(rules, request);
    assert.equal(answer.status, 400, what);
    assert.match(answer.text, says, what);
  }
});

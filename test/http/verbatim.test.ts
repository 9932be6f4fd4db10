/** Requests that are signed as they are, asked of a server. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { type Certificate, isSignedBy, parseCertificate } from '../../src/x509/certificate.ts';
import {
  basicConstraints,
  findExtension,
  parseBasicConstraints,
  subjectAltName,
} from '../../src/x509/extensions.ts';
import { parseSubjectAltName } from '../../src/x509/general-names.ts';
import { extKeyUsage, keyUsage, parseKeyUsage } from '../../src/x509/key-usages.ts';
import { nameText, parseName } from '../../src/x509/names.ts';
import { EXT_KEY_USAGE_OID, EXTENSION_OID } from '../../src/x509/oids.ts';
import { makeCsr } from '../support/leaves.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
const must = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};
before(async () => {
  await must(call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } }));
  for (const issuer_name of ['one', 'two']) {
    const root = { common_name: issuer_name, issuer_name, key_type: 'ec', ttl: '8760h' };
    await must(call('POST', 'pki/root/generate/internal', root));
  }
  const strict = { key_type: 'rsa', allowed_domains: 'example.com', issuer_ref: 'two' };
  await must(call('POST', 'pki/roles/strict', { ...strict, ttl: '1h', max_ttl: '2h' }));
  await must(call('POST', 'pki/roles/leased', { ...strict, ttl: '1h', generate_lease: true }));
  await must(call('POST', 'pki/roles/fleeting', { ...strict, ttl: '1h', no_store: true }));
  const backdated = { not_before_duration: '1h', basic_constraints_valid_for_non_ca: true };
  await must(call('POST', 'pki/roles/backdated', { ...strict, ...backdated, ttl: '3h' }));
});

const names = { dns: ['a_b.test'], email: [], ip: ['10.0.0.1'], uri: [], other: [] };
const csr = makeCsr({
  subject: { common_name: 'any thing', ou: ['b', 'a'] },
  extensions: [subjectAltName(names, false)],
});

function read(pem: string): Certificate {
  return parseCertificate(parsePem(pem)[0]?.der ?? new Uint8Array());
}
const leafOf = (answer: Reply): Certificate => read(answer.textAt('data.certificate'));

test('without a role the default issuer signs what the request says, with the usual usages', async () => {
  const answer = await must(call('POST', 'pki/sign-verbatim', { csr }));
  const leaf = leafOf(answer);
  assert.ok(isSignedBy(leaf, read(answer.textAt('data.issuing_ca')).subjectPublicKeyInfo));
  assert.equal(nameText(parseName(leaf.issuer)), 'CN=one');
  assert.match(nameText(parseName(leaf.subject)), /any thing/);
  const found = findExtension(leaf.extensions, EXTENSION_OID.subjectAltName);
  assert.deepEqual(found && parseSubjectAltName(found.value).dns, ['a_b.test']);
  assert.deepEqual(found && parseSubjectAltName(found.value).ip, ['10.0.0.1']);
  const usage = findExtension(leaf.extensions, EXTENSION_OID.keyUsage);
  assert.deepEqual(usage && parseKeyUsage(usage.value), [
    'DigitalSignature',
    'KeyEncipherment',
    'KeyAgreement',
  ]);
  assert.equal(findExtension(leaf.extensions, EXTENSION_OID.basicConstraints), undefined);
  assert.equal(answer.field('lease_id'), '');
  const serial = answer.textAt('data.serial_number');
  assert.equal((await call('GET', `pki/cert/${serial}`)).status, 200);
  assert.equal((await call('GET', 'pki/certs/search?name=a_b.test')).status, 200);
});

test('a role gives its times, issuer, lease and storage, and none of its rules', async () => {
  const strict = await must(call('POST', 'pki/sign-verbatim/strict', { csr, ttl: '5h' }));
  const leaf = leafOf(strict);
  assert.equal(nameText(parseName(leaf.issuer)), 'CN=two');
  assert.equal(leaf.notAfter - leaf.notBefore, 7230);
  assert.match(strict.text, /is longer than permitted maxTTL/);
  const leased = await must(call('POST', 'pki/sign-verbatim/leased', { csr }));
  assert.match(leased.textAt('lease_id'), /^pki\/sign-verbatim\/leased\//);
  const fleeting = await must(call('POST', 'pki/sign-verbatim/fleeting', { csr }));
  const serial = fleeting.textAt('data.serial_number');
  assert.equal((await call('GET', `pki/cert/${serial}`)).status, 404);
  const unknown = await call('POST', 'pki/sign-verbatim/unknown', { csr });
  assert.equal(unknown.status, 400);
  assert.match(unknown.text, /unknown role: unknown/);
  const backdated = leafOf(await must(call('POST', 'pki/sign-verbatim/backdated', { csr })));
  assert.equal(backdated.notAfter - backdated.notBefore, 3 * 3600 + 3600);
  const constraints = findExtension(backdated.extensions, EXTENSION_OID.basicConstraints);
  assert.deepEqual(constraints && parseBasicConstraints(constraints.value).ca, false);
});

test('the issuer of the path wins over the role and the default', async () => {
  for (const path of ['issuer/two/sign-verbatim', 'issuer/two/sign-verbatim/leased']) {
    const answer = await must(call('POST', `pki/${path}`, { csr }));
    assert.equal(nameText(parseName(leafOf(answer).issuer)), 'CN=two', path);
  }
  const one = await must(call('POST', 'pki/issuer/one/sign-verbatim/strict', { csr }));
  assert.equal(nameText(parseName(leafOf(one).issuer)), 'CN=one');
  assert.equal((await call('POST', 'pki/issuer/none/sign-verbatim', { csr })).status, 500);
});

test('an end beyond that of the issuer is cut, unless the issuer is to decide', async () => {
  const late = { csr, not_after: '2060-01-01T00:00:00Z' };
  const cut = await must(call('POST', 'pki/sign-verbatim', late));
  assert.equal(leafOf(cut).notAfter, read(cut.textAt('data.issuing_ca')).notAfter);
  const enforced = { ...late, enforce_leaf_not_after_behavior: true };
  const refused = await call('POST', 'pki/sign-verbatim', enforced);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /beyond the expiration of the CA certificate at/);
});

test('an end that is past is refused where it would be cut, and warned about otherwise', async () => {
  const past = { csr, not_before: '2020-01-01T00:00:00Z', not_after: '2020-01-02T00:00:00Z' };
  const refused = await call('POST', 'pki/sign-verbatim', past);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /the requested end 2020-01-02T00:00:00Z is in the past/);
  const enforced = { ...past, enforce_leaf_not_after_behavior: true };
  const signed = await must(call('POST', 'pki/sign-verbatim', enforced));
  assert.match(signed.text, /end 2020-01-02T00:00:00Z is in the past: no verifier accepts it/);
  const current = await must(call('POST', 'pki/sign-verbatim', { csr, ttl: '1h' }));
  assert.doesNotMatch(current.text, /in the past/);
});

test('a CA, a weak key and what nobody may certify are not signed verbatim', async () => {
  const usage = keyUsage(['CertSign']);
  assert.ok(usage);
  for (const [wanted, says] of [
    [{ extensions: [basicConstraints({ ca: true })] }, /not signed verbatim/],
    [{ extensions: [usage] }, /CertSign/],
    [{ key: 'rsa-1024' as const }, /RSA keys < 2048 bits/],
  ] as const) {
    const asked = { csr: makeCsr({ subject: { common_name: 'x' }, ...wanted }) };
    const refused = await call('POST', 'pki/sign-verbatim', asked);
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, says);
  }
  for (const [sent, says] of [
    ['', /csr\\" is empty/],
    ['x', /csr contains no data/],
  ] as const) {
    const refused = await call('POST', 'pki/sign-verbatim', { csr: sent });
    assert.equal(refused.status, 400);
    assert.match(refused.text, says);
  }
});

test('names that are sent beside a request that is signed as it is are told to be of no use', async () => {
  const answer = await must(call('POST', 'pki/sign-verbatim', { csr, common_name: 'other' }));
  assert.match(answer.text, /the common_name field was provided but/);
  assert.doesNotMatch(nameText(parseName(leafOf(answer).subject)), /other/);
});

test('a request with very many names is decided on beside others', async () => {
  const dns = Array.from({ length: 1500 }, (_, at) => `n${at}.example.com`);
  const many = makeCsr({
    subject: { common_name: 'many' },
    extensions: [subjectAltName({ ...names, dns, ip: [] }, false)],
  });
  const answer = await must(call('POST', 'pki/sign-verbatim', { csr: many }));
  const found = findExtension(leafOf(answer).extensions, EXTENSION_OID.subjectAltName);
  assert.equal(found && parseSubjectAltName(found.value).dns.length, 1500);
  assert.equal((await call('GET', 'pki/certs/search?name=n1499.example.com')).status, 200);
});

const serverUse = extKeyUsage([EXT_KEY_USAGE_OID.ServerAuth]);
assert.ok(serverUse);
const bringing = makeCsr({
  subject: { common_name: 'admin.test', user_ids: ['u1'] },
  extensions: [subjectAltName({ ...names, dns: ['admin.test'] }, false), serverUse],
});
test('conditions of policies hold for what a request brings that is signed as it is', async () => {
  let made = 0;
  const ask = async (conditions: string): Promise<number> => {
    const name = `verbatim-${made++}`;
    const policy = `path "pki/sign-verbatim" { capabilities = ["update"]\n${conditions} }`;
    await must(call('POST', `sys/policies/acl/${name}`, { policy }));
    const token = await must(call('POST', 'auth/token/create', { policies: [name] }));
    const asked = { token: token.textAt('auth.client_token') };
    return (await call('POST', 'pki/sign-verbatim', { csr: bringing }, asked)).status;
  };
  const denied = (field: string, value: string) =>
    `denied_parameters = { "${field}" = ["${value}"] }`;
  const allowed = (field: string, value: string) =>
    `allowed_parameters = { "csr" = [], "${field}" = ["${value}"] }`;
  for (const [conditions, status] of [
    ['', 200],
    [denied('common_name', 'ADMIN.test'), 403],
    [denied('common_name', 'other.test'), 200],
    [denied('alt_names', 'admin.test'), 403],
    [denied('ip_sans', '10.0.0.1'), 403],
    [denied('user_ids', 'u1'), 403],
    [denied('ext_key_usage_oids', EXT_KEY_USAGE_OID.ServerAuth), 403],
    [denied('ext_key_usage_oids', EXT_KEY_USAGE_OID.ClientAuth), 200],
    [allowed('common_name', 'other.test'), 403],
    [allowed('common_name', 'admin.test'), 200],
  ] as const) {
    assert.equal(await ask(conditions), status, conditions);
  }
});

test('name constraints of the issuer hold for a request that is signed as it is', async () => {
  const root = { common_name: 'three', issuer_name: 'three', key_type: 'ec', ttl: '8760h' };
  const bounded = { ...root, permitted_dns_domains: 'example.com' };
  await must(call('POST', 'pki/root/generate/internal', bounded));
  const asks = (dns: string[], common_name: string) => {
    const extensions = dns.length === 0 ? [] : [subjectAltName({ ...names, dns, ip: [] }, false)];
    const sent = { csr: makeCsr({ subject: { common_name }, extensions }) };
    return call('POST', 'pki/issuer/three/sign-verbatim', sent);
  };
  await must(asks(['www.example.com'], 'any thing'));
  for (const refused of [
    await asks(['www.example.com', 'b.test'], 'x'),
    await asks([], 'b.test'),
  ]) {
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /name constraints refuse it/);
  }
});

/** Of `CN=any thing, emailAddress=a@b.test`, by an Ed25519 key. */
const WITH_EMAIL = [
  '-----BEGIN CERTIFICATE REQUEST-----',
  'MIGsMGACAQAwLTESMBAGA1UEAwwJYW55IHRoaW5nMRcwFQYJKoZIhvcNAQkBFghh',
  'QGIudGVzdDAqMAUGAytlcAMhACQOw3H6zoj+QJXjoKDYzl8aZPzDoHS6R/HkiIaV',
  'iya1oAAwBQYDK2VwA0EAObHGErMceBBH364zJwhhnxPPeC4GP+wOB+o0cARecLjZ',
  'ZBN2Bj2N1uPwnKbjU7kNetkvQKuKHD5N8cR9zhzkBg==',
  '-----END CERTIFICATE REQUEST-----',
].join('\n');
test('name constraints hold for an e-mail address in the subject', async () => {
  const of = (domain: string) => ({ permitted_email_addresses: domain, key_type: 'ec' });
  for (const [issuer_name, domain, status] of [
    ['mails', 'b.test', 200],
    ['others', 'example.com', 400],
  ] as const) {
    const root = { common_name: 'mails', issuer_name, ttl: '8760h', ...of(domain) };
    await must(call('POST', 'pki/root/generate/internal', root));
    for (const path of ['sign-verbatim', 'sign-intermediate']) {
      const sent = { csr: WITH_EMAIL, use_csr_values: true, ttl: '1h' };
      const answer = await call('POST', `pki/issuer/${issuer_name}/${path}`, sent);
      assert.equal(answer.status, status, answer.text);
      if (status === 400) assert.match(answer.text, /name constraints refuse it/);
    }
  }
});

/** Intermediates: their requests, their certificates, and those that other authorities have signed themselves. */

import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { after, test } from 'node:test';
import { encodePem, parsePem } from '../../src/core/pem.ts';
import { signSync } from '../../src/x509/algorithms.ts';
import { assembleSigned, parseCertificate } from '../../src/x509/certificate.ts';
import { encodeCsrInfo, isCsrSignatureValid, parseCsr } from '../../src/x509/csr.ts';
import { sequence } from '../../src/x509/der.ts';
import { readDer } from '../../src/x509/der-reader.ts';
import {
  basicConstraints,
  findExtension,
  parseBasicConstraints,
  subjectAltName,
} from '../../src/x509/extensions.ts';
import { keyUsage, parseExtKeyUsage, parseKeyUsage } from '../../src/x509/key-usages.ts';
import { publicKeyInfo } from '../../src/x509/keys.ts';
import { encodeSubject } from '../../src/x509/names.ts';
import { EXTENSION_OID } from '../../src/x509/oids.ts';
import { adoptIssuer } from '../support/adopted-issuer.ts';
import { makeCsr } from '../support/leaves.ts';
import { makeCertificate } from '../support/made-certificate.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { newAuthorityMount } from '../support/serving-mounts.ts';

const { call, running } = await startTestServer({ after });
type Fields = Record<string, unknown>;

const mount = () => newAuthorityMount(call);

async function must(path: string, fields: Fields, token?: string): Promise<Reply> {
  const reply = await call('POST', path, fields, token === undefined ? {} : { token });
  assert.equal(reply.status, 200, `${path}: ${reply.text}`);
  return reply;
}

/** A mount with a root that ends in a year. */
async function withRoot(fields: Fields = {}): Promise<{ path: string; root: Reply }> {
  const path = await mount();
  const root = await must(`${path}/root/generate/internal`, {
    common_name: 'R',
    key_type: 'ec',
    ttl: '8760h',
    ...fields,
  });
  return { path, root };
}

const csrOf = (reply: Reply) => parseCsr(reply.textAt('data.csr'));
const read = (pem: string) => parseCertificate(parsePem(pem)[0]?.der ?? new Uint8Array());
const certificateOf = (reply: Reply) => read(reply.textAt('data.certificate'));

/** A CA beneath the root of the same mount, which can issue. */
async function adoptIntermediate(path: string, name: string, fields: Fields = {}, from = 'root') {
  const made = await must(`${path}/intermediate/generate/internal`, {
    common_name: name,
    key_type: 'ec',
  });
  const csr = made.textAt('data.csr');
  const signed = await must(`${path}/${from}/sign-intermediate`, {
    csr,
    common_name: name,
    ...fields,
  });
  const pem = signed.textAt('data.certificate');
  return { id: await adoptIssuer(running.app, path, pem, { name }), pem, signed };
}

test('both paths of a request for an intermediate make one, signed by the key that is kept for it', async () => {
  const path = await mount();
  const ids: string[] = [];
  for (const place of ['intermediate/generate', 'issuers/generate/intermediate']) {
    const made = await must(`${path}/${place}/internal`, {
      common_name: 'Sub',
      organization: 'Org',
      alt_names: 'sub.test',
      key_type: 'ec',
    });
    assert.deepEqual(Object.keys(made.field('data') ?? {}).sort(), ['csr', 'key_id']);
    const csr = csrOf(made);
    assert.ok(isCsrSignatureValid(csr));
    assert.equal(csr.subjectName.fields.common_name, 'Sub');
    assert.deepEqual(csr.subjectAltNames?.dns, ['sub.test']);
    assert.match(
      made.textAt('warnings'),
      /^This mount hasn't configured any authority information/,
    );
    assert.ok(made.textAt('data.csr').endsWith('-----END CERTIFICATE REQUEST-----'));
    ids.push(made.textAt('data.key_id'));
  }
  assert.equal((await call('LIST', `${path}/issuers`)).status, 404, 'no issuer is made');
  const keys = await call('GET', `${path}/config/keys`);
  assert.equal(keys.field('data.default'), ids[0], 'the first key is the default one');
  assert.notEqual(ids[0], ids[1]);
});

test('a request has the private key beside it where exported alone, in every format', async () => {
  const path = await mount();
  await must(`${path}/config/urls`, { ocsp_servers: 'http://ocsp.test' });
  for (const [format, labels] of [
    ['pem', ['CERTIFICATE REQUEST']],
    ['pem_bundle', ['EC PRIVATE KEY', 'CERTIFICATE REQUEST']],
    ['der', undefined],
  ] as const) {
    const body = { common_name: 'Sub', key_type: 'ec', format };
    const made = await must(`${path}/intermediate/generate/exported`, body);
    assert.equal(made.field('warnings'), null);
    assert.equal(made.field('data.private_key_type'), 'ec');
    const text = made.textAt('data.csr');
    if (labels === undefined) {
      assert.equal(parseCsr(Buffer.from(text, 'base64')).subjectName.fields.common_name, 'Sub');
      assert.match(made.textAt('data.private_key'), /^[A-Za-z0-9+/]+=*$/);
    } else {
      assert.deepEqual(
        parsePem(text).map(({ label }) => label),
        labels,
      );
      assert.ok(createPrivateKey(made.textAt('data.private_key')));
    }
  }
  const pkcs8 = { common_name: 'Sub', key_type: 'ec', private_key_format: 'pkcs8' };
  const made = await must(`${path}/intermediate/generate/exported`, pkcs8);
  assert.match(made.textAt('data.private_key'), /^-----BEGIN PRIVATE KEY-----/);
});

test('usages and CA:TRUE stand in a request where they are asked for', async () => {
  const path = await mount();
  const generate = async (fields: Fields) => {
    const body = { common_name: 'Sub', key_type: 'ed25519', ...fields };
    return must(`${path}/intermediate/generate/internal`, body);
  };
  assert.deepEqual(csrOf(await generate({})).extensions, []);
  const asked = await generate({
    key_usage: 'CertSign,DigitalSignature,Fly',
    add_basic_constraints: true,
  });
  const { extensions } = csrOf(asked);
  const value = (type: string) => findExtension(extensions, type)?.value ?? new Uint8Array();
  assert.deepEqual(parseKeyUsage(value(EXTENSION_OID.keyUsage)), ['DigitalSignature', 'CertSign']);
  const constraints = findExtension(extensions, EXTENSION_OID.basicConstraints);
  assert.deepEqual(constraints, basicConstraints({ ca: true }));
  assert.match(asked.textAt('warnings'), /key_usage "Fly" is unknown and has no effect/);
});

test('a request has no end of its own: a ttl is told to be unknown', async () => {
  const path = await mount();
  const body = { common_name: 'Sub', key_type: 'ec', ttl: '1h' };
  const made = await must(`${path}/intermediate/generate/internal`, body);
  assert.match(made.textAt('warnings'), /unrecognized parameters: \[ttl\]/);
});

test('cross-sign asks for another certificate of a key that is there', async () => {
  const { path, root } = await withRoot({ key_name: 'k' });
  for (const request of [
    ['intermediate/cross-sign', { key_ref: 'k' }],
    ['intermediate/generate/existing', { key_ref: root.field('data.key_id') }],
    ['intermediate/cross-sign', {}],
  ] as const) {
    const [place, fields] = request;
    const made = await must(`${path}/${place}`, { common_name: 'R', ...fields });
    assert.equal(made.field('data.key_id'), root.field('data.key_id'));
    const csr = csrOf(made);
    assert.ok(isCsrSignatureValid(csr));
    const { subjectPublicKeyInfo } = certificateOf(root);
    assert.deepEqual(csr.subjectPublicKeyInfo, subjectPublicKeyInfo);
  }
});

const csrRefusals: [what: string, place: string, fields: Fields, status: number, says: RegExp][] = [
  ['a type that does not exist', 'intermediate/generate/external', {}, 400, /\\"exported\\" path/],
  [
    'a key that exists has its type',
    'intermediate/generate/existing',
    { key_type: 'ec' },
    400,
    /key_type nor key_bits arguments can be set in this mode/,
  ],
  ['the same', 'intermediate/cross-sign', { key_bits: 256 }, 400, /arguments can be set/],
  ['no such key', 'intermediate/cross-sign', { key_ref: 'x' }, 500, /unable to find PKI key for/],
  ['no default key', 'intermediate/cross-sign', {}, 500, /no default key currently configured/],
  ['no subject', 'intermediate/generate/internal', { common_name: '' }, 400, /common_name/],
  ['an odd key', 'intermediate/generate/internal', { key_bits: 1024 }, 400, /key/],
  ['a format', 'intermediate/generate/internal', { format: 'zip' }, 400, /\\"format\\" path/],
  ['an empty key name', 'intermediate/generate/internal', { key_name: '' }, 400, /non-empty key/],
  [
    'a managed key that is not named',
    'intermediate/generate/kms',
    {},
    400,
    /exactly one of managed_key_name and managed_key_id/,
  ],
  [
    'a request that is too long',
    'intermediate/generate/internal',
    { uri_sans: Array.from({ length: 10 }, (_, at) => `https://a.test/${at}${'x'.repeat(8000)}`) },
    400,
    /the request would have \d+ bytes, at most 65536/,
  ],
  [
    'too many names',
    'intermediate/generate/internal',
    { alt_names: Array.from({ length: 101 }, (_, at) => `a${at}.test`).join() },
    400,
    /101 names of an intermediate, at most 100/,
  ],
];
test('a request that was asked for wrongly is refused by what is wrong, and no key is kept', async () => {
  const path = await mount();
  for (const [what, place, fields, status, says] of csrRefusals) {
    const answer = await call('POST', `${path}/${place}`, { common_name: 'Sub', ...fields });
    assert.equal(answer.status, status, `${what}: ${answer.text}`);
    assert.match(answer.text, says, what);
    assert.doesNotMatch(answer.text, /[Ee]nterprise/);
  }
  assert.equal((await call('LIST', `${path}/keys`)).status, 404);
});

test('the chain of an intermediate begins with itself, and it is stored and found by its names', async () => {
  const { path, root } = await withRoot();
  const body = { csr: makeCsr({}), common_name: 'Sub', alt_names: 'sub.test,a@sub.test' };
  const signed = await must(`${path}/root/sign-intermediate`, body);
  assert.deepEqual(Object.keys(signed.field('data') ?? {}).sort(), [
    'ca_chain',
    'certificate',
    'expiration',
    'issuing_ca',
    'serial_number',
  ]);
  const [own, above] = [signed.field('data.certificate'), root.field('data.certificate')];
  assert.deepEqual(signed.field('data.ca_chain'), [own, above]);
  assert.equal(signed.field('data.issuing_ca'), above);
  const certificate = certificateOf(signed);
  assert.ok(new X509Certificate(signed.textAt('data.certificate')).ca);
  assert.equal(signed.field('data.expiration'), certificate.notAfter);
  assert.equal(signed.field('data.serial_number'), certificate.serial);
  const listed = await call('LIST', `${path}/certs`);
  assert.ok([listed.field('data.keys')].flat().includes(certificate.serial));
  for (const name of ['sub.test', 'a@sub.test', 'Sub']) {
    const found = await call('GET', `${path}/certs/search?name=${encodeURIComponent(name)}`);
    assert.ok(found.text.includes(certificate.serial), `${name}: ${found.text}`);
  }
});

test('an intermediate has the addresses of its issuer, or those of the mount', async () => {
  const { path } = await withRoot({ issuer_name: 'r' });
  await must(`${path}/config/urls`, {
    issuing_certificates: 'http://mount.test/ca',
    crl_distribution_points: 'http://mount.test/crl',
  });
  const sign = async () => {
    const body = { csr: makeCsr({}), common_name: 'Sub' };
    const { raw } = certificateOf(await must(`${path}/issuer/r/sign-intermediate`, body));
    return (url: string) => Buffer.from(raw).includes(url);
  };
  const ofMount = await sign();
  assert.ok(ofMount('http://mount.test/ca') && ofMount('http://mount.test/crl'));
  const own = {
    crl_distribution_points: 'http://own.test/{{issuer_id}}',
    enable_aia_url_templating: true,
  };
  const patched = await call('PATCH', `${path}/issuer/r`, own);
  assert.equal(patched.status, 200, patched.text);
  const ofIssuer = await sign();
  assert.ok(ofIssuer(`http://own.test/${patched.textAt('data.issuer_id')}`));
  assert.equal(ofIssuer('http://mount.test'), false, 'none is taken from the mount then');
});

test('format is the encoding of every certificate in the answer', async () => {
  const { path, root } = await withRoot();
  const sign = (format: string) =>
    must(`${path}/root/sign-intermediate`, { csr: makeCsr({}), common_name: 'Sub', format });
  const der = await sign('der');
  const [own, above] = [der.field('data.ca_chain')].flat().map(String);
  assert.equal(new X509Certificate(Buffer.from(own ?? '', 'base64')).subject, 'CN=Sub');
  assert.equal(above, der.field('data.issuing_ca'));
  const bundle = await sign('pem_bundle');
  assert.equal(parsePem(bundle.textAt('data.certificate')).length, 2);
  assert.equal(bundle.field('data.issuing_ca'), root.field('data.certificate'));
  const zip = { csr: makeCsr({}), common_name: 'Sub', format: 'zip' };
  assert.equal((await call('POST', `${path}/root/sign-intermediate`, zip)).status, 400);
});

test('an intermediate ends with its issuer, unless the issuer says what else shall be done', async () => {
  const { path } = await withRoot({ ttl: '100h', issuer_name: 'r' });
  const sign = (fields: Fields) =>
    call('POST', `${path}/issuer/r/sign-intermediate`, {
      csr: makeCsr({}),
      common_name: 'Sub',
      ttl: '200h',
      ...fields,
    });
  const end = certificateOf(await call('GET', `${path}/issuer/r`)).notAfter;
  const behave = async (leaf_not_after_behavior: string) =>
    assert.equal(
      (await call('PATCH', `${path}/issuer/r`, { leaf_not_after_behavior })).status,
      200,
    );
  const cut = await sign({});
  assert.equal(cut.field('data.expiration'), end, cut.text);
  assert.match(cut.textAt('warnings'), /is after the CA's expiration time/);
  const enforced = await sign({ enforce_leaf_not_after_behavior: true });
  assert.equal(enforced.status, 400);
  assert.match(enforced.text, /beyond the expiration of the CA certificate at/);
  assert.equal((await sign({ ttl: '50h', enforce_leaf_not_after_behavior: true })).status, 200);
  await behave('permit');
  assert.equal((await sign({})).field('data.expiration'), end);
  const permitted = await sign({ enforce_leaf_not_after_behavior: true });
  assert.ok(Number(permitted.field('data.expiration')) > end + 90 * 3600, permitted.text);
  await behave('always_enforce_err');
  assert.equal((await sign({})).status, 400);
});

test('an authority that may have none beneath it signs none, one below that may', async () => {
  const { path } = await withRoot({ max_path_length: 1, issuer_name: 'top' });
  const { signed } = await adoptIntermediate(path, 'low', {}, 'issuer/top');
  assert.equal(certificateOf(signed).pathLength, 0, 'one less than its issuer has');
  const body = { csr: makeCsr({}), common_name: 'Lower' };
  const refused = await call('POST', `${path}/issuer/low/sign-intermediate`, body);
  assert.equal(refused.status, 400);
  assert.match(
    refused.text,
    /signing certificate has a max path length of zero, and cannot issue further CA certificates/,
  );
  assert.equal((await call('POST', `${path}/issuer/top/sign-intermediate`, body)).status, 200);
});

test('what any authority above forbids is not signed, by parameters or by a CSR', async () => {
  const { path } = await withRoot({
    issuer_name: 'top',
    permitted_dns_domains: 'a.test',
    excluded_ip_ranges: '10.0.0.0/8',
  });
  await adoptIntermediate(path, 'mid', { excluded_dns_domains: 'no.a.test' }, 'issuer/top');
  const sign = async (fields: Fields, csr = makeCsr({})) => {
    const body = { csr, common_name: 'Low', ...fields };
    return (await call('POST', `${path}/issuer/mid/sign-intermediate`, body)).status;
  };
  assert.equal(await sign({ alt_names: 'x.a.test' }), 200);
  assert.equal(await sign({ alt_names: 'x.b.test' }), 400, 'of the root');
  assert.equal(await sign({ alt_names: 'no.a.test' }), 400, 'of the intermediate');
  assert.equal(await sign({ ip_sans: '192.0.2.1' }), 200);
  assert.equal(await sign({ ip_sans: '10.1.1.1' }), 400);
  await must(`${path}/roles/web`, { allow_any_name: true, key_type: 'ec', issuer_ref: 'mid' });
  const issue = async (common_name: string) =>
    (await call('POST', `${path}/issue/web`, { common_name, ttl: '1h' })).status;
  assert.equal(await issue('x.a.test'), 200);
  assert.equal(await issue('x.b.test'), 400);
  assert.equal(await issue('x.no.a.test'), 400);
});

test('usages of a CA are added to those it has; names that mean nothing are warned about', async () => {
  const { path, root } = await withRoot({
    key_usage: 'DigitalSignature,Fly',
    ext_key_usage: 'ServerAuth,Swim',
    ext_key_usage_oids: '1.2.3.4',
  });
  assert.match(root.textAt('warnings'), /key_usage "Fly" is unknown/);
  assert.match(root.textAt('warnings'), /ext_key_usage "Swim" is unknown/);
  const body = {
    csr: makeCsr({}),
    common_name: 'Sub',
    key_usage: 'digitalsignature,Fly',
    ext_key_usage: 'clientauth',
  };
  const signed = await must(`${path}/root/sign-intermediate`, body);
  assert.match(signed.textAt('warnings'), /key_usage "Fly" is unknown/);
  const usages = ['DigitalSignature', 'CertSign', 'CRLSign'];
  for (const [reply, oids] of [
    [root, ['1.3.6.1.5.5.7.3.1', '1.2.3.4']],
    [signed, ['1.3.6.1.5.5.7.3.2']],
  ] as const) {
    const certificate = certificateOf(reply);
    assert.deepEqual(certificate.keyUsage, usages);
    const extended = findExtension(certificate.extensions, EXTENSION_OID.extKeyUsage);
    assert.deepEqual(extended && parseExtKeyUsage(extended.value), oids);
  }
  const bad = await call('POST', `${path}/root/sign-intermediate`, {
    ...body,
    ext_key_usage_oids: 'none',
  });
  assert.equal(bad.status, 400, bad.text);
});

test('with use_csr_values the CSR says what it is, but for being a CA', async () => {
  const { path } = await withRoot();
  const usage = keyUsage(['KeyAgreement']);
  assert.ok(usage);
  const csr = makeCsr({
    subject: { common_name: 'From CSR', organization: ['Org'] },
    extensions: [usage, basicConstraints({ ca: false })],
  });
  const body = { csr, common_name: 'Ignored', key_usage: 'DigitalSignature' };
  const ignored = certificateOf(await must(`${path}/root/sign-intermediate`, body));
  assert.equal(ignored.subjectName.fields.common_name, 'Ignored');
  assert.deepEqual(ignored.keyUsage, ['DigitalSignature', 'CertSign', 'CRLSign']);
  const taken = certificateOf(
    await must(`${path}/root/sign-intermediate`, { ...body, use_csr_values: true }),
  );
  assert.equal(taken.subjectName.fields.common_name, 'From CSR');
  assert.deepEqual(taken.subjectName.fields.organization, ['Org']);
  assert.deepEqual(taken.keyUsage, ['KeyAgreement', 'CertSign', 'CRLSign']);
  const constraints = findExtension(taken.extensions, EXTENSION_OID.basicConstraints);
  assert.equal(constraints && parseBasicConstraints(constraints.value).ca, true);
});

test('what is not taken from a CSR need not be readable', async () => {
  const { path } = await withRoot();
  const broken = { oid: EXTENSION_OID.keyUsage, critical: true, value: Uint8Array.of(5, 0) };
  const csr = makeCsr({ subject: { common_name: 'CSR' }, extensions: [broken] });
  const sign = async (use_csr_values: boolean) => {
    const body = { csr, common_name: 'Sub', use_csr_values };
    return (await call('POST', `${path}/root/sign-intermediate`, body)).status;
  };
  assert.equal(await sign(false), 200);
  assert.equal(await sign(true), 400);
});

const signRefusals: [what: string, fields: Fields, says: RegExp][] = [
  ['no CSR', { csr: '' }, /\\"csr\\" is empty/],
  ['no PEM', { csr: 'x' }, /csr contains no data/],
  ['a weak key', { csr: makeCsr({ key: 'rsa-1024' }) }, /RSA keys < 2048 bits are unsafe/],
  ['no subject', { common_name: '' }, /common_name is required/],
  ['two ends', { ttl: '1h', not_after: '2030-01-01T00:00:00Z' }, /Either ttl or not_after/],
  ['a key identifier', { skid: 'xyz' }, /skid is not a key identifier/],
  ['a constraint', { permitted_ip_ranges: '10.0.0.0/33' }, /permitted_ip_ranges/],
  ['a hash', { signature_bits: 128 }, /unsupported hash signature algorithm/],
  ['a path length', { max_path_length: -2 }, /max_path_length: -2/],
];
test('an intermediate that was asked for wrongly is refused by what is wrong', async () => {
  const { path } = await withRoot();
  for (const [what, fields, says] of signRefusals) {
    const body = { csr: makeCsr({}), common_name: 'Sub', ...fields };
    const answer = await call('POST', `${path}/root/sign-intermediate`, body);
    assert.equal(answer.status, 400, `${what}: ${answer.text}`);
    assert.match(answer.text, says, what);
  }
  assert.equal([(await call('LIST', `${path}/certs`)).field('data.keys')].flat().length, 1);
});

test('without an issuer that may sign, no intermediate is signed', async () => {
  const path = await mount();
  const body = { csr: makeCsr({}), common_name: 'Sub' };
  const none = await call('POST', `${path}/root/sign-intermediate`, body);
  assert.equal(none.status, 500);
  assert.match(none.text, /could not fetch the CA certificate \(was one set\?\)/);
  await must(`${path}/root/generate/internal`, { common_name: 'R', key_type: 'ec' });
  await call('PATCH', `${path}/issuer/default`, { usage: 'crl-signing' });
  const forbidden = await call('POST', `${path}/issuer/DEFAULT/sign-intermediate`, body);
  assert.equal(forbidden.status, 500);
  assert.match(forbidden.text, /requested usage issuing-certificates/);
});

test('a root that is rotated is named next while no issuer is, and then has no name', async () => {
  const { path, root } = await withRoot({ issuer_name: 'first' });
  const rotate = (fields: Fields = {}) =>
    must(`${path}/root/rotate/internal`, { common_name: 'R', key_type: 'ec', ...fields });
  const next = await rotate();
  assert.equal(next.field('data.issuer_name'), 'next');
  assert.equal(next.field('data.key_name'), '');
  assert.equal((await rotate()).field('data.issuer_name'), '');
  assert.equal((await rotate({ issuer_name: 'third' })).field('data.issuer_name'), 'third');
  const read = await call('GET', `${path}/config/issuers`);
  assert.equal(read.field('data.default'), root.field('data.issuer_id'), 'the default stays');
  const replaced = await must(`${path}/root/replace`, {});
  assert.equal(replaced.field('data.default'), next.field('data.issuer_id'));
  for (const issuer_name of ['', 'third', 'default']) {
    const body = { common_name: 'R', key_type: 'ec', issuer_name };
    assert.equal((await call('POST', `${path}/root/rotate/internal`, body)).status, 400);
  }
});

test('a self-issued certificate is signed as it is, but for its issuer and addresses', async () => {
  const old = await withRoot({
    common_name: 'Old',
    max_path_length: 3,
    permitted_dns_domains: 'a.test',
  });
  const { path, root } = await withRoot({ common_name: 'New' });
  await must(`${path}/config/urls`, { ocsp_servers: 'http://new.test' });
  const certificate = old.root.textAt('data.certificate');
  for (const place of ['root', 'issuer/default']) {
    const signed = await must(`${path}/${place}/sign-self-issued`, { certificate });
    assert.deepEqual(Object.keys(signed.field('data') ?? {}).sort(), ['certificate', 'issuing_ca']);
    assert.equal(signed.field('data.issuing_ca'), root.field('data.certificate'));
    const [before, now, issuer] = [
      certificateOf(old.root),
      certificateOf(signed),
      certificateOf(root),
    ];
    for (const same of [
      'subject',
      'subjectPublicKeyInfo',
      'serial',
      'notBefore',
      'notAfter',
    ] as const) {
      assert.deepEqual(now[same], before[same], same);
    }
    assert.deepEqual(now.issuer, issuer.subject);
    assert.deepEqual(now.authorityKeyId, issuer.subjectKeyId);
    assert.deepEqual(now.subjectKeyId, before.subjectKeyId);
    assert.equal(now.pathLength, 3);
    assert.deepEqual(now.keyUsage, before.keyUsage);
    for (const kept of ['nameConstraints'] as const) {
      const of = (one: typeof now) => findExtension(one.extensions, EXTENSION_OID[kept]);
      assert.deepEqual(of(now), of(before));
    }
    assert.ok(findExtension(now.extensions, EXTENSION_OID.authorityInfoAccess));
    const x509 = new X509Certificate(signed.textAt('data.certificate'));
    assert.ok(x509.verify(new X509Certificate(root.textAt('data.certificate')).publicKey));
  }
  const listed = await call('LIST', `${path}/certs`);
  assert.equal([listed.field('data.keys')].flat().length, 1, 'it is not stored');
});

const pemOf = (certificate: { raw: Uint8Array }) =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(certificate.raw).toString('base64')}\n-----END CERTIFICATE-----`;

test('what is not self-issued, no CA or no certificate is not signed', async () => {
  const { path, root } = await withRoot({ common_name: 'New' });
  const { privateKey: key } = generateKeyPairSync('ed25519');
  const made = (fields: Partial<Parameters<typeof makeCertificate>[0]>) =>
    pemOf(
      makeCertificate({
        subject: 'A',
        issuer: 'A',
        key,
        signer: key,
        extensions: [basicConstraints({ ca: true })],
        ...fields,
      }),
    );
  const sign = (fields: Fields) => call('POST', `${path}/root/sign-self-issued`, fields);
  const own = made({});
  for (const [certificate, says] of [
    [made({ issuer: 'B' }), /given certificate is not self-issued/],
    [made({ extensions: [] }), /given certificate is not a CA certificate/],
    ['', /certificate could not be PEM-decoded/],
    ['-----BEGIN X-----\nAAAA\n-----END X-----', /certificate could not be PEM-decoded/],
    ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', /error parsing certificate/],
    [`${own}\n${own}`, /2 certificates found in PEM file, expected 1/],
  ] as const) {
    const answer = await sign({ certificate });
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, says);
  }
  const matching = { certificate: own, require_matching_certificate_algorithms: true };
  const other = await sign(matching);
  assert.equal(other.status, 400, other.text);
  assert.match(other.text, /require_matching_certificate_algorithms is true/);
  const unasked = await sign({ certificate: own });
  assert.equal(unasked.status, 200, unasked.text);
  assert.deepEqual(certificateOf(unasked).keyUsage, ['CertSign', 'CRLSign']);
  assert.match(unasked.textAt('warnings'), /has no key usage/);
  const same = { ...matching, certificate: root.field('data.certificate') };
  assert.equal((await sign(same)).status, 200);
});

test('what no verifier would accept beneath the issuer is not signed, self-issued or not', async () => {
  const { privateKey: signer } = generateKeyPairSync('ed25519');
  const named = (dns: string) =>
    subjectAltName({ dns: [dns], email: [], ip: [], uri: [], other: [] }, false);
  const made = (key = signer, dns = 'x.a.test') =>
    pemOf(
      makeCertificate({
        subject: 'A',
        issuer: 'A',
        key,
        signer,
        extensions: [basicConstraints({ ca: true }), named(dns)],
      }),
    );
  const { path } = await withRoot({ permitted_dns_domains: 'a.test' });
  const sign = async (certificate: string, at = path) =>
    call('POST', `${at}/root/sign-self-issued`, { certificate });
  assert.equal((await sign(made())).status, 200);
  const outside = await sign(made(signer, 'x.b.test'));
  assert.equal(outside.status, 400);
  assert.match(outside.text, /name constraints refuse it/);
  const { privateKey: weak } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const refused = await sign(made(weak));
  assert.equal(refused.status, 400);
  assert.match(refused.text, /RSA keys < 2048 bits are unsafe/);
  const low = await withRoot({ max_path_length: 0 });
  const beneath = await sign(made(), low.path);
  assert.equal(beneath.status, 400);
  assert.match(beneath.text, /max path length of zero/);
});

test('extensions that nobody knows are left out of a self-issued certificate, which is told', async () => {
  const { path } = await withRoot();
  const { privateKey: key } = generateKeyPairSync('ed25519');
  const strange = { oid: '1.2.3.4', critical: false, value: Uint8Array.of(5, 0) };
  const certificate = pemOf(
    makeCertificate({
      subject: 'A',
      issuer: 'A',
      key,
      signer: key,
      extensions: [basicConstraints({ ca: true }), strange],
    }),
  );
  const signed = await must(`${path}/root/sign-self-issued`, { certificate });
  assert.match(signed.textAt('warnings'), /left out of the certificate: 1\.2\.3\.4/);
  assert.equal(findExtension(certificateOf(signed).extensions, '1.2.3.4'), undefined);
});

let policies = 0;
async function tokenWith(policy: string): Promise<string> {
  const name = `p${policies++}`;
  const written = await call('POST', `sys/policies/acl/${name}`, { policy });
  assert.equal(written.status, 204, written.text);
  return (await must('auth/token/create', { policies: [name] })).textAt('auth.client_token');
}

test('signing a self-issued certificate needs sudo, and none where the issuer is named', async () => {
  const { path, root } = await withRoot();
  const body = { certificate: root.field('data.certificate') };
  const all = 'capabilities = ["create", "read", "update", "delete", "list", "patch"';
  const plain = await tokenWith(`path "${path}/*" { ${all}] }`);
  const sudo = await tokenWith(`path "${path}/*" { ${all}, "sudo"] }`);
  const asked = async (place: string, token: string) =>
    (await call('POST', `${path}/${place}/sign-self-issued`, body, { token })).status;
  assert.equal(await asked('root', plain), 403);
  assert.equal(await asked('root', sudo), 200);
  assert.equal(await asked('issuer/default', plain), 200);
});

/** A request with two common names. */
function csrOfTwo(...names: [string, string]): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  const parts = names.map((common_name) => readDer(encodeSubject({ common_name })).content);
  const subject = sequence(...parts);
  const subjectPublicKeyInfo = publicKeyInfo(privateKey);
  const info = encodeCsrInfo({ subject, subjectPublicKeyInfo, extensions: [] });
  const der = assembleSigned(info, 'PureEd25519', signSync(privateKey, 'PureEd25519', info));
  return encodePem('CERTIFICATE REQUEST', der);
}

test('what a CSR brings is judged by the conditions on the fields that it stands for', async () => {
  const { path } = await withRoot();
  const csr = (common_name: string, organization: string[] = []) =>
    makeCsr({ subject: { common_name, organization } });
  const asked = async (conditions: string, fields: Fields) => {
    const token = await tokenWith(
      `path "${path}/root/sign-intermediate" { capabilities = ["update"]\n${conditions} }`,
    );
    const body = { use_csr_values: true, ...fields };
    return (await call('POST', `${path}/root/sign-intermediate`, body, { token })).status;
  };
  const noAdmin = 'denied_parameters = { "common_name" = ["admin"] }';
  assert.equal(await asked(noAdmin, { csr: csr('web') }), 200);
  assert.equal(await asked(noAdmin, { csr: csr('admin') }), 403);
  assert.equal(
    await asked(noAdmin, { csr: csr('admin'), use_csr_values: false, common_name: 'web' }),
    200,
    'its values are not taken',
  );
  const twice = { csr: csrOfTwo('web', 'admin') };
  assert.equal(await asked(noAdmin, twice), 403, 'each common name counts');
  assert.equal(await asked(noAdmin, { csr: csrOfTwo('web', 'mail') }), 200);
  const onlyOrg =
    'allowed_parameters = { "csr" = [], "use_csr_values" = [], "common_name" = [], "organization" = ["Org"] }';
  assert.equal(await asked(onlyOrg, { csr: csr('web', ['Org']) }), 200);
  assert.equal(await asked(onlyOrg, { csr: csr('web', ['Other']) }), 403);
});

test('signature_bits of an EC key have no meaning, whatever they are; of others they must be a size', async () => {
  const { path } = await withRoot();
  for (const place of ['root/generate/internal', 'intermediate/generate/internal']) {
    const asked = (key_type: string) =>
      call('POST', `${path}/${place}`, { common_name: 'Sub', key_type, signature_bits: 224 });
    assert.equal((await asked('ec')).status, 200, place);
    const refused = await asked('ed25519');
    assert.equal(refused.status, 400, place);
    assert.match(refused.text, /unsupported hash signature algorithm: 224/);
  }
});

test('a denial of one path of generation is one of all that do the same', async () => {
  const { path } = await withRoot({ key_name: 'k' });
  const places = [
    'intermediate/generate/existing',
    'issuers/generate/intermediate/existing',
    'intermediate/cross-sign',
  ];
  const asked = async (denied: string, place: string) => {
    const token = await tokenWith(
      `path "${path}/*" { capabilities = ["update"] }\npath "${path}/${denied}" { capabilities = ["deny"] }`,
    );
    const body = { common_name: 'Sub', ...(place.endsWith('internal') ? { key_type: 'ec' } : {}) };
    return (await call('POST', `${path}/${place}`, body, { token })).status;
  };
  for (const denied of places)
    for (const place of places) assert.equal(await asked(denied, place), 403);
  assert.equal(await asked('intermediate/cross-sign', 'intermediate/generate/internal'), 200);
  assert.equal(await asked('key/k', 'intermediate/cross-sign'), 403, 'the key has a path, too');
  assert.equal(await asked('key/other', 'intermediate/cross-sign'), 200);
  assert.equal(await asked('root/generate/internal', 'root/rotate/internal'), 403);
  assert.equal(await asked('root/rotate/internal', 'issuers/generate/root/internal'), 403);
  assert.equal(
    await asked('issuer/next', 'root/rotate/internal'),
    403,
    'the name that it would get',
  );
  assert.equal(await asked('issuer/other', 'root/rotate/internal'), 200);
});

/** Keys, URLs and settings of lists, written and read. */

import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { parseAuthorityInfoAccess } from '../../src/x509/extension-urls.ts';
import { findExtension } from '../../src/x509/extensions.ts';
import { EXTENSION_OID } from '../../src/x509/oids.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
});

test('a key is made, read and named, and its private part is answered once at most', async () => {
  const made = await call('POST', 'pki/keys/generate/exported', { key_type: 'ec', key_name: 'k' });
  assert.equal(made.status, 200, made.text);
  const { private_key, ...facts } = made.field('data') as Record<string, string>;
  assert.equal(createPrivateKey(private_key ?? '').asymmetricKeyType, 'ec');
  const key_id = made.field('data.key_id');
  assert.deepEqual(facts, { key_bits: 256, key_id, key_name: 'k', key_type: 'ec' });

  const hidden = await call('POST', 'pki/keys/generate/internal', { key_type: 'ed25519' });
  const names = ['key_bits', 'key_id', 'key_name', 'key_type'];
  assert.deepEqual(Object.keys(hidden.field('data') as object).sort(), names);
  assert.equal(hidden.field('data.key_bits'), 0);

  const read = await call('GET', 'pki/key/k');
  const { subject_key_id, ...rest } = read.field('data') as Record<string, string>;
  assert.match(subject_key_id ?? '', /^([0-9a-f]{2}:){19}[0-9a-f]{2}$/);
  assert.deepEqual(rest, facts);

  const named = await call('POST', 'pki/key/k', { key_name: 'other' });
  assert.deepEqual(named.field('data'), { ...facts, key_name: 'other' });
  assert.equal(named.field('warnings'), null);
  assert.equal((await call('GET', 'pki/key/k')).status, 500);
  const cleared = await call('POST', 'pki/key/other', {});
  assert.equal(cleared.field('data.key_name'), '');
  assert.match(cleared.textAt('warnings'), /cleared/);
});

test('the default key is chosen by id or name, and never by the word default', async () => {
  const first = await call('POST', 'pki/keys/generate/internal', { key_type: 'ec' });
  const second = await call('POST', 'pki/keys/generate/internal', {
    key_type: 'ec',
    key_name: 'second',
  });
  const choose = (body: object) => call('POST', 'pki/config/keys', body);
  for (const [ref, made] of [
    [first.textAt('data.key_id'), first],
    ['second', second],
  ] as const) {
    const chosen = await choose({ default: ref });
    assert.deepEqual(chosen.field('data'), { default: made.field('data.key_id') });
  }
  for (const body of [{ default: 'default' }, { default: '' }, {}, { default: 'third' }]) {
    assert.equal((await choose(body)).status, 400, JSON.stringify(body));
  }
  const read = await call('GET', 'pki/config/keys');
  assert.equal(read.field('data.default'), second.field('data.key_id'));
  const other = await call('DELETE', `pki/key/${first.textAt('data.key_id')}`);
  assert.equal(other.status, 204, 'a key that is neither used nor the default');
  const gone = await call('DELETE', 'pki/key/default');
  assert.equal(gone.status, 200);
  assert.match(gone.textAt('warnings'), /this was configured as the default key/);
  assert.equal((await call('GET', 'pki/config/keys')).field('data.default'), '');
});

const NO_URLS = {
  crl_distribution_points: [],
  delta_crl_distribution_points: [],
  enable_templating: false,
  issuing_certificates: [],
  ocsp_servers: [],
};

test('URLs of a mount are changed one by one, and an empty text takes one away', async () => {
  await call('POST', 'sys/mounts/urls', { type: 'pki' });
  assert.deepEqual((await call('GET', 'urls/config/urls')).field('data'), NO_URLS);
  await call('POST', 'urls/config/urls', { ocsp_servers: 'http://o.test' });
  const two = await call('POST', 'urls/config/urls', { issuing_certificates: 'http://i.test' });
  assert.deepEqual(two.field('data'), {
    ...NO_URLS,
    issuing_certificates: ['http://i.test'],
    ocsp_servers: ['http://o.test'],
  });
  const one = await call('POST', 'urls/config/urls', { ocsp_servers: '' });
  assert.deepEqual(one.field('data.ocsp_servers'), []);
  assert.deepEqual(one.field('data.issuing_certificates'), ['http://i.test']);
});

test('a URL with a template is one only where templates are on', async () => {
  await call('POST', 'sys/mounts/templates', { type: 'pki' });
  const write = (body: object) => call('POST', 'templates/config/urls', body);
  const url = '{{cluster_path}}/ocsp';
  const off = await write({ ocsp_servers: url });
  assert.equal(off.status, 400);
  assert.match(off.text, /\(AIA\) parameter ocsp_servers: \{\{cluster_path\}\}\/ocsp/);
  const on = await write({ ocsp_servers: url, enable_templating: true });
  assert.equal(on.status, 200, on.text);
  assert.match(on.textAt('warnings'), /issuance may fail/);
  const unknown = await write({ ocsp_servers: '{{cluster}}/ocsp' });
  assert.equal(unknown.status, 400, unknown.text);
});

test('URLs of an issuer take the place of all those of its mount', async () => {
  await call('POST', 'sys/mounts/aia', { type: 'pki' });
  await call('POST', 'aia/config/urls', {
    ocsp_servers: 'http://o.test',
    issuing_certificates: 'http://i.test',
  });
  await call('POST', 'aia/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'aia/roles/any', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  const urlsOf = async () => {
    const issued = await call('POST', 'aia/issue/any', { common_name: 'a.test' });
    const [pem] = parsePem(issued.textAt('data.certificate'));
    const { extensions } = parseCertificate(pem?.der ?? new Uint8Array());
    const access = findExtension(extensions, EXTENSION_OID.authorityInfoAccess);
    return {
      access: access && parseAuthorityInfoAccess(access.value),
      hasCrl: findExtension(extensions, EXTENSION_OID.cRLDistributionPoints) !== undefined,
    };
  };
  assert.deepEqual(await urlsOf(), {
    access: { ocsp: ['http://o.test'], caIssuers: ['http://i.test'] },
    hasCrl: false,
  });
  await call('PATCH', 'aia/issuer/default', { crl_distribution_points: 'http://c.test' });
  assert.deepEqual(await urlsOf(), { access: undefined, hasCrl: true });
  await call('PATCH', 'aia/issuer/default', { crl_distribution_points: [] });
  assert.deepEqual((await urlsOf()).access?.ocsp, ['http://o.test']);
});

test('settings of lists have their defaults, are changed one by one, and stay as they were written', async () => {
  await call('POST', 'sys/mounts/lists', { type: 'pki' });
  const defaults = {
    allow_expired_cert_revocation: false,
    auto_rebuild: false,
    auto_rebuild_grace_period: '12h',
    crl_shards: 0,
    cross_cluster_revocation: false,
    delta_rebuild_interval: '15m',
    disable: false,
    enable_delta: false,
    expiry: '72h',
    max_crl_entries: 100_000,
    ocsp_disable: false,
    ocsp_expiry: '12h',
    ocsp_delegated_responder: false,
    ocsp_unissued_status: 'good',
    unified_crl: false,
    unified_crl_on_existing_paths: false,
  };
  assert.deepEqual((await call('GET', 'lists/config/crl')).field('data'), defaults);
  const written = await call('POST', 'lists/config/crl', { expiry: '4320m', ocsp_expiry: 3600 });
  assert.deepEqual(written.field('data'), { ...defaults, expiry: '4320m', ocsp_expiry: '3600' });
  const more = await call('POST', 'lists/config/crl', { auto_rebuild: true });
  assert.deepEqual(more.field('data'), {
    ...defaults,
    auto_rebuild: true,
    expiry: '4320m',
    ocsp_expiry: '3600',
  });
});

test('settings of an issuer that cannot be are refused, and change nothing', async () => {
  await call('POST', 'sys/mounts/refused', { type: 'pki' });
  await call('POST', 'refused/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  const before = (await call('GET', 'refused/issuer/default')).field('data');
  const refusals: [body: object, status: number, says: RegExp][] = [
    [{ leaf_not_after_behavior: 'cut' }, 400, /leaf_not_after_behavior/],
    [{ usage: 'signing' }, 400, /Unable to parse specified usages/],
    [{ revocation_signature_algorithm: 'SHA3' }, 400, /Unknown signature algorithm value/],
    [{ manual_chain: ['self', 'none'] }, 500, /unable to find PKI issuer for reference: none/],
    [
      { ocsp_servers: 'no url' },
      400,
      /Authority Information Access \(AIA\) parameter ocsp_servers: no url/,
    ],
  ];
  for (const [body, status, says] of refusals) {
    const answer = await call('PATCH', 'refused/issuer/default', body);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.text, says);
  }
  assert.deepEqual((await call('GET', 'refused/issuer/default')).field('data'), before);
  const taken = { revocation_signature_algorithm: 'ECDSAWithSHA256', usage: 'crl-signing' };
  const patched = await call('PATCH', 'refused/issuer/default', taken);
  assert.equal(patched.field('data.usage'), 'crl-signing,read-only', patched.text);
});

test('the algorithm of an Ed25519 key is written and read as Ed25519', async () => {
  await call('POST', 'sys/mounts/edwards', { type: 'pki' });
  const key = { common_name: 'R', key_type: 'ed25519' };
  await call('POST', 'edwards/root/generate/internal', key);
  const read = async () =>
    (await call('GET', 'edwards/issuer/default')).field('data.revocation_signature_algorithm');
  assert.equal(await read(), 'Ed25519');
  for (const revocation_signature_algorithm of ['Ed25519', 'PureEd25519', '', 'Ed25519']) {
    const body = { revocation_signature_algorithm };
    const answer = await call('PATCH', 'edwards/issuer/default', body);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await read(), revocation_signature_algorithm && 'Ed25519');
  }
  assert.equal((await call('GET', 'edwards/crl/rotate')).status, 200);
});

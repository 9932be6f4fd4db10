/** What is told of a CA: its issuers, keys and certificates, in every form. */

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
const open = (path: string) => call('GET', `pki/${path}`, undefined, { token: '' });
const namesIn = (data: unknown): string[] => Object.keys(data ?? {}).sort();

let issuer_id = '';
let key_id = '';
let serial_number = '';
before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  const root = { common_name: 'R', key_type: 'ec', issuer_name: 'Main', key_name: 'signer' };
  const made = await call('POST', 'pki/root/generate/internal', root);
  issuer_id = made.textAt('data.issuer_id');
  key_id = made.textAt('data.key_id');
  serial_number = made.textAt('data.serial_number');
  await call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
});

test('issuers and keys are listed with what tells them apart', async () => {
  const issuers = await call('LIST', 'pki/issuers', undefined, { token: '' });
  assert.deepEqual(issuers.field('data'), {
    keys: [issuer_id],
    key_info: { [issuer_id]: { is_default: true, issuer_name: 'Main', key_id, serial_number } },
  });
  const keys = await call('LIST', 'pki/keys');
  assert.deepEqual(keys.field('data'), {
    keys: [key_id],
    key_info: { [key_id]: { is_default: true, key_name: 'signer' } },
  });
  await call('POST', 'sys/mounts/bare', { type: 'pki' });
  for (const path of ['bare/issuers', 'bare/keys']) {
    assert.equal((await call('LIST', path)).status, 404, path);
  }
});

test('a reference is the word default in any letters, an id, or a name as it is spelt', async () => {
  for (const [ref, status] of [
    ['default', 200],
    ['DEFAULT', 200],
    ['Main', 200],
    ['main', 500],
    [issuer_id, 200],
    [issuer_id.toUpperCase(), 500],
    ['defaul', 500],
  ] as const) {
    assert.equal((await call('GET', `pki/issuer/${ref}`)).status, status, ref);
    assert.equal((await open(`issuer/${ref}/pem`)).status, status, ref);
  }
});

test('an issuer is read with every setting, and in public with its certificates alone', async () => {
  const read = await call('GET', 'pki/issuer/Main');
  assert.deepEqual(namesIn(read.field('data')), [
    'ca_chain',
    'certificate',
    'crl_distribution_points',
    'delta_crl_distribution_points',
    'disable_critical_extension_checks',
    'disable_name_checks',
    'disable_name_constraint_checks',
    'disable_path_length_checks',
    'enable_aia_url_templating',
    'issuer_id',
    'issuer_name',
    'issuing_certificates',
    'key_id',
    'leaf_not_after_behavior',
    'manual_chain',
    'ocsp_servers',
    'revocation_signature_algorithm',
    'revoked',
    'usage',
  ]);
  assert.equal(read.field('data.manual_chain'), null);
  assert.equal(read.field('data.revoked'), false);
  assert.equal(read.field('data.usage'), 'crl-signing,issuing-certificates,ocsp-signing,read-only');
  assert.match(read.textAt('data.certificate'), /-----END CERTIFICATE-----\n$/);
  const json = await open('issuer/Main/json');
  assert.deepEqual(json.field('data'), {
    ca_chain: read.field('data.ca_chain'),
    certificate: read.field('data.certificate'),
    issuer_id,
    issuer_name: 'Main',
  });
});

test('raw forms have their media types and their ends of lines', async () => {
  for (const [path, type, ends] of [
    ['ca', 'application/pkix-cert', undefined],
    ['ca/pem', 'application/pem-certificate-chain', '-----END CERTIFICATE-----'],
    ['ca_chain', 'application/pkix-cert', '-----END CERTIFICATE-----'],
    ['cert/ca/raw', 'application/pkix-cert', undefined],
    ['cert/ca/raw/pem', 'application/pem-certificate-chain', '-----END CERTIFICATE-----'],
    [`cert/${serial_number}/raw`, 'application/pkix-cert', undefined],
    [
      `cert/${serial_number}/raw/pem`,
      'application/pem-certificate-chain',
      '-----END CERTIFICATE-----',
    ],
    ['issuer/Main/der', 'application/pkix-cert', undefined],
    ['issuer/Main/pem', 'application/pem-certificate-chain', '-----END CERTIFICATE-----\n'],
  ] as const) {
    const answer = await open(path);
    assert.equal(answer.headers.get('content-type'), type, path);
    assert.equal(new X509Certificate(answer.bytes).subject, 'CN=R', path);
    if (ends) assert.ok(answer.text.endsWith(ends), path);
    else assert.equal(answer.bytes[0], 0x30, path);
  }
});

test('a certificate is read by its serial number, with when it was revoked', async () => {
  const issued = await call('POST', 'pki/issue/any', { common_name: 'a.test' });
  const serial = issued.textAt('data.serial_number');
  const good = await open(`cert/${serial}`);
  assert.equal(good.field('data.certificate'), issued.field('data.certificate'));
  assert.equal(good.field('data.revocation_time'), 0);
  assert.equal(good.field('data.revocation_time_rfc3339'), '');
  assert.equal(good.field('data.issuer_id'), undefined);
  const revoked = await call('POST', 'pki/revoke', { serial_number: serial });
  const gone = await open(`cert/${serial}`);
  for (const field of ['revocation_time', 'revocation_time_rfc3339']) {
    assert.equal(gone.field(`data.${field}`), revoked.field(`data.${field}`), field);
  }
  const issuer = await open('issuer/default/json');
  assert.equal(gone.field('data.issuer_id'), issuer.field('data.issuer_id'));
  assert.equal((await open('cert/01:02')).status, 404);
  const listed = await call('LIST', 'pki/certs');
  assert.deepEqual(listed.field('data.keys'), [serial, serial_number].sort());
});

test('the chain is told as JSON in both of its fields', async () => {
  const chain = (await open('ca_chain')).text;
  const json = await open('cert/ca_chain');
  assert.equal(json.field('data.certificate'), chain);
  assert.equal(json.field('data.ca_chain'), chain);
  assert.equal((await open('cert/ca')).field('data.ca_chain'), undefined);
});

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { parseCrl } from '../support/crl.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { startTestServer } from '../support/server.ts';

test('an engineer makes a root, a role and a certificate, revokes it and sees that in the CRL', async (t) => {
  const { call } = await startTestServer(t);
  const enabled = await call('POST', 'sys/mounts/ca', {
    type: 'pki',
    config: { max_lease_ttl: '87600h' },
  });
  assert.equal(enabled.status, 204);

  const root = await call('POST', 'ca/root/generate/internal', {
    common_name: 'Example Root',
    key_type: 'ec',
    ttl: '8760h',
  });
  assert.equal(root.status, 200, root.text);
  const rootCertificate = new X509Certificate(root.textAt('data.certificate'));
  assert.equal(rootCertificate.ca, true);

  const role = await call('POST', 'ca/roles/web', {
    allowed_domains: 'example.com',
    allow_subdomains: true,
    key_type: 'ec',
    max_ttl: '72h',
  });
  assert.equal(role.status, 200, role.text);

  const issued = await call('POST', 'ca/issue/web', { common_name: 'www.example.com' });
  assert.equal(issued.status, 200, issued.text);
  const leaf = new X509Certificate(issued.textAt('data.certificate'));
  assert.equal(leaf.checkHost('www.example.com'), 'www.example.com');
  assert.ok(leaf.verify(rootCertificate.publicKey));
  const serial = issued.textAt('data.serial_number');

  const refused = await call('POST', 'ca/issue/web', { common_name: 'www.example.org' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /common name www\.example\.org not allowed by this role/);

  const read = await call('GET', `ca/cert/${serial}`, undefined, { token: '' });
  assert.equal(read.field('data.revocation_time'), 0);

  const revoked = await call('POST', 'ca/revoke', { serial_number: serial });
  assert.equal(revoked.status, 200, revoked.text);
  assert.equal(revoked.field('data.state'), 'revoked');
  const again = await call('POST', 'ca/revoke', { serial_number: serial });
  assert.equal(
    again.field('data.revocation_time_rfc3339'),
    revoked.field('data.revocation_time_rfc3339'),
  );

  const der = await call('GET', 'ca/crl', undefined, { token: '' });
  assert.equal(der.headers.get('content-type'), 'application/pkix-crl');
  const crl = parseCrl(der.bytes);
  assert.deepEqual(
    [...crl.entries()].map((entry) => formatSerial(entry.serialNumber)),
    [serial],
  );
  const pem = await call('GET', 'ca/crl/pem', undefined, { token: '' });
  assert.deepEqual(Buffer.from(parsePem(pem.text)[0]?.der ?? []), Buffer.from(der.bytes));

  const rotated = await call('GET', 'ca/crl/rotate');
  assert.equal(rotated.field('data.success'), true);
  const next = parseCrl((await call('GET', 'ca/crl')).bytes);
  assert.ok((next.crlNumber ?? 0n) > (crl.crlNumber ?? 0n), 'the CRL number grows');

  const list = await call('LIST', 'ca/certs/revoked');
  assert.deepEqual(list.field('data.keys'), [serial]);
});

test('what was made is there after a restart, and the token still opens it', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const first = await startTestServer(t, { directory });
  await first.call('POST', 'sys/mounts/ca', { type: 'pki' });
  const root = await first.call('POST', 'ca/root/generate/internal', {
    common_name: 'R',
    key_type: 'ed25519',
  });
  assert.equal(root.status, 200, root.text);
  await first.running.stop();

  const second = await startTestServer(t, { directory });
  const read = await second.call('GET', 'ca/cert/ca');
  assert.equal(read.field('data.certificate'), root.field('data.certificate'));
  await second.call('POST', 'ca/roles/any', {
    allow_any_name: true,
    key_type: 'ed25519',
    max_ttl: '1h',
  });
  const issued = await second.call('POST', 'ca/issue/any', { common_name: 'a.example' });
  assert.equal(issued.status, 200, issued.text);
});

test('a sealed server answers nothing but its seal', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  assert.equal((await call('PUT', 'sys/seal')).status, 204);
  for (const path of ['ca/ca', 'ca/crl', 'sys/mounts', 'auth/token/lookup-self', 'nowhere']) {
    const answer = await call('GET', path);
    assert.equal(answer.status, 503, path);
    assert.deepEqual(answer.field('errors'), ['Vault is sealed']);
  }
  const health = await call('GET', 'sys/health', undefined, { token: '' });
  assert.equal(health.status, 503);
  assert.equal(health.field('sealed'), true);
});

const withoutToken: [method: string, path: string, status: number][] = [
  ['GET', 'ca/ca', 204],
  ['GET', 'ca/crl', 204],
  ['LIST', 'ca/issuers', 404],
  ['LIST', 'ca/certs', 403],
  ['LIST', 'ca/certs/revoked', 403],
  ['GET', 'ca/issuer/default', 403],
  ['LIST', 'ca/keys', 403],
  ['GET', 'ca/crl/rotate', 403],
  ['GET', 'ca/nothing', 403],
  ['GET', 'nowhere/at/all', 403],
  ['POST', 'ca/ca', 405],
  ['GET', 'sys/mounts', 403],
  ['GET', 'sys/health', 200],
];
test('without a token only what is public answers, and nothing else tells whether it is there', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  for (const [method, path, status] of withoutToken) {
    const answer = await call(method, path, undefined, { token: '' });
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
  }
});

const envelope: [why: string, method: string, path: string, status: number, says: RegExp][] = [
  ['an empty list', 'LIST', 'ca/roles', 404, /^\{"errors":\[\]\}\n$/],
  ['a role that is not there', 'GET', 'ca/roles/none', 404, /^\{"errors":\[\]\}\n$/],
  ['a list that is neither true nor false', 'GET', 'ca/certs?list=maybe', 400, /list/],
  ['removing what is not there', 'DELETE', 'ca/roles/none', 204, /^$/],
  [
    'an issuer that is not there',
    'GET',
    'ca/issuer/nope',
    500,
    /unable to find PKI issuer for reference: nope/,
  ],
  ['no mount', 'POST', 'nomount/issue/x', 404, /no handler for route/],
  ['no such path', 'GET', 'ca/whatever', 404, /unsupported path/],
  ['a verb that the path does not have', 'DELETE', 'ca/config/crl', 405, /unsupported operation/],
  ['a path with two readings', 'GET', 'ca/roles/..%2fx', 400, /path cannot contain/],
];
test('the envelope holds where there is nothing to answer', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  for (const [why, method, path, status, says] of envelope) {
    const answer = await call(method, path);
    assert.equal(answer.status, status, `${why}: ${answer.text}`);
    assert.match(answer.text, says, why);
  }
});

test('parameters that an endpoint does not know are named in a warning', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  const replaced = await call('POST', 'ca/roles/x', {
    name: 'y',
    ttl: '1h',
    issuer_ref: 'default',
  });
  assert.equal(replaced.status, 200, replaced.text);
  assert.ok(replaced.textAt('warnings').includes("captured from the endpoint's path: [name]"));
  const unknown = await call('POST', 'ca/roles/x', { bogus: 1, also: 2 });
  assert.ok(
    unknown.textAt('warnings').includes('unrecognized parameters: [also bogus]'),
    unknown.text,
  );
});

test('a path is mounted once, and what was unmounted is gone', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  const twice = await call('POST', 'sys/mounts/ca', { type: 'pki' });
  assert.equal(twice.status, 400);
  assert.match(twice.text, /path is already in use at ca\//);
  const tuned = await call('POST', 'sys/mounts/ca/tune', {
    default_lease_ttl: '2h',
    max_lease_ttl: '1h',
  });
  assert.equal(tuned.status, 400, tuned.text);
  await call('POST', 'ca/roles/x', {});
  assert.equal((await call('DELETE', 'sys/mounts/ca')).status, 204);
  assert.equal((await call('GET', 'ca/roles/x')).status, 404);
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  assert.equal((await call('LIST', 'ca/roles')).status, 404);
});

test('an OCSP request is answered the same by GET, however its slashes are escaped, and by POST', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  const root = await call('POST', 'ca/root/generate/internal', {
    common_name: 'R',
    key_type: 'ec',
  });
  const issuer = parseCertificate(
    parsePem(root.textAt('data.certificate'))[0]?.der ?? new Uint8Array(),
  );
  // A serial number whose encoding holds two slashes side by side.
  const der = encodeOcspRequest({
    issuer: issuer.subject,
    subjectPublicKeyInfo: issuer.subjectPublicKeyInfo,
    hash: 'sha256',
    serialNumber: Uint8Array.from({ length: 12 }, (_, at) => (at === 0 ? 0x7f : 0xff)),
  });
  const base64 = Buffer.from(der).toString('base64');
  assert.match(base64, /\/\//);
  const posted = await call('POST', 'ca/ocsp', der, { token: '' });
  assert.equal(posted.status, 200);
  assert.equal(posted.headers.get('content-type'), 'application/ocsp-response');
  for (const path of [base64, encodeURIComponent(base64)]) {
    const got = await call('GET', `ca/ocsp/${path}`, undefined, { token: '' });
    assert.equal(got.status, 200, path);
    assert.deepEqual([...got.bytes.subarray(4, 7)], [0x0a, 1, 0], 'responseStatus successful');
  }
  const garbage = await call('GET', 'ca/ocsp/%21%21', undefined, { token: '' });
  assert.equal(garbage.status, 400);
  assert.deepEqual([...garbage.bytes], [0x30, 3, 0x0a, 1, 1]);
});

test('revoking with a key needs the key of that certificate', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  await call('POST', 'ca/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'ca/roles/any', { allow_any_name: true, key_type: 'ec', max_ttl: '1h' });
  const mine = await call('POST', 'ca/issue/any', { common_name: 'a.example' });
  const other = await call('POST', 'ca/issue/any', { common_name: 'b.example' });
  const serial_number = mine.textAt('data.serial_number');
  const wrong = await call('POST', 'ca/revoke-with-key', {
    serial_number,
    private_key: other.textAt('data.private_key'),
  });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /private key does not match certificate's public key/);
  const right = await call('POST', 'ca/revoke-with-key', {
    serial_number,
    private_key: mine.textAt('data.private_key'),
  });
  assert.equal(right.field('data.state'), 'revoked', right.text);
  const both = await call('POST', 'ca/revoke', {
    serial_number,
    certificate: mine.textAt('data.certificate'),
  });
  assert.equal(both.status, 400);
  const root = await call('GET', 'ca/cert/ca');
  const own = await call('POST', 'ca/revoke', { certificate: root.textAt('data.certificate') });
  assert.equal(own.status, 400);
  assert.match(own.text, /to its own CRL is not allowed/);
});

test('with auto_rebuild a revocation waits for the next list, and bad settings change nothing', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/mounts/ca', { type: 'pki' });
  await call('POST', 'ca/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'ca/roles/any', { allow_any_name: true, key_type: 'ec', max_ttl: '1h' });
  for (const bad of [
    { auto_rebuild: true, auto_rebuild_grace_period: '72h' },
    { ocsp_expiry: '-1s' },
    { enable_delta: true },
    { expiry: 'not a duration' },
    { unified_crl: true },
  ]) {
    const refused = await call('POST', 'ca/config/crl', bad);
    assert.equal(refused.status, 400, JSON.stringify(bad));
  }
  const before = await call('GET', 'ca/config/crl');
  assert.equal(before.field('data.auto_rebuild'), false);
  assert.equal(before.field('data.max_crl_entries'), 100_000);
  await call('POST', 'ca/config/crl', { auto_rebuild: true });
  const entries = async () => [...parseCrl((await call('GET', 'ca/crl')).bytes).entries()].length;
  assert.equal(await entries(), 0);
  const leaf = await call('POST', 'ca/issue/any', { common_name: 'a.example' });
  await call('POST', 'ca/revoke', { serial_number: leaf.textAt('data.serial_number') });
  assert.equal(await entries(), 0);
  await call('GET', 'ca/crl/rotate');
  assert.equal(await entries(), 1);
  await call('POST', 'ca/config/crl', { disable: true });
  assert.equal(await entries(), 0, 'disabled, an empty list is served');
});

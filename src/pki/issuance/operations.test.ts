import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { openTestApp, testCaller, testMount } from '../../../test/support/app.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import { Failure } from '../../core/failure.ts';
import { insertMount } from '../../mounts/store.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { openStore, type Store } from '../../store/store.ts';
import { isSignedBy, parseCertificate } from '../../x509/certificate.ts';
import { findExtension } from '../../x509/extensions.ts';
import { requireCertificate } from '../certificates/operations.ts';
import { listSerials } from '../certificates/store.ts';
import { updateIssuer } from '../issuers/operations.ts';
import { encodeCertificatePem, pemOf } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import { issueSchema } from '../profile/request.ts';
import { rootFields } from '../profile/root.ts';
import { writeRole } from '../roles/operations.ts';
import { roleFields } from '../roles/role.ts';
import { generateRoot } from '../roots/operations.ts';
import { issueCertificate } from './operations.ts';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-'));
let store: Store;
let app: App;
let mount: Mount;

before(async () => {
  store = await openStore({ engine: 'sqlite', directory });
  ({ app } = await openTestApp(store));
  mount = testMount({ kind: 'secret', path: 'pki/', type: 'pki' });
  await store.commit([insertMount(mount), bumpConfigVersion()]);
  const root = z.object({ exported: z.string(), ...rootFields });
  for (const name of ['root', 'int']) {
    const body = { exported: 'internal', common_name: name, key_type: 'ec', issuer_name: name };
    await generateRoot(app, testCaller(mount), root.parse({ ...body, ttl: '700h' }));
  }
});

after(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

async function role(name: string, fields: Record<string, unknown> = {}) {
  const body = { name, key_type: 'ec', allow_any_name: true, ttl: '1h', ...fields };
  const input = z.object({ name: z.string(), ...roleFields }).parse(body);
  return writeRole(app, testCaller(mount), input);
}

async function issue(name: string, fields: Record<string, unknown> = {}, issuer_ref?: string) {
  const request = issueSchema.parse({ common_name: 'a.example.com', ...fields });
  const answer = await issueCertificate(app, testCaller(mount), {
    ...request,
    role: name,
    issuer_ref,
  });
  assert.ok(answer.data);
  return { ...answer, data: answer.data };
}

function parsePemCertificate(pem: string) {
  const body = pem.split('-----BEGIN CERTIFICATE-----')[1]?.split('-----')[0] ?? '';
  return parseCertificate(Buffer.from(body, 'base64'));
}

function refusal(kind: string, phrase: RegExp) {
  return (error: unknown) =>
    error instanceof Failure && error.kind === kind && phrase.test(error.message);
}

test('an issued certificate is by its issuer, and stored before it is answered', async () => {
  await role('web');
  const { data } = await issue('web');
  const certificate = parsePemCertificate(data.certificate);
  assert.ok(isSignedBy(certificate, parsePemCertificate(data.issuing_ca).subjectPublicKeyInfo));
  const { der } = await requireCertificate(app, testCaller(mount), data.serial_number);
  assert.equal(encodeCertificatePem(der), data.certificate);
});

test('a serial number is found in upper case with hyphens', async () => {
  const { data } = await issue('web');
  const serial = data.serial_number.toUpperCase().replaceAll(':', '-');
  const { der } = await requireCertificate(app, testCaller(mount), serial);
  assert.equal(encodeCertificatePem(der), data.certificate);
});

test('with format der everything is base64', async () => {
  const { data } = await issue('web', { format: 'der' });
  assert.equal(
    parseCertificate(Buffer.from(data.certificate, 'base64')).serial,
    data.serial_number,
  );
  assert.match(data.private_key ?? '', /^[A-Za-z0-9+/]+=*$/);
});

test('a bundle begins with the key, then comes the leaf, then the chain', async () => {
  const { data } = await issue('web', { format: 'pem_bundle', private_key_format: 'pkcs8' });
  assert.deepEqual(data.certificate.match(/BEGIN [A-Z ]+/g), [
    'BEGIN EC PRIVATE KEY',
    'BEGIN CERTIFICATE',
    'BEGIN CERTIFICATE',
  ]);
  assert.match(data.private_key ?? '', /^-----BEGIN PRIVATE KEY-----/, 'PKCS#8');
  assert.equal(data.private_key_type, 'ec');
});

test('a TTL beyond the maximum of the role is cut, with a warning', async () => {
  await role('short', { max_ttl: '2h' });
  const { data, warnings } = await issue('short', { ttl: '100h' });
  assert.equal(data.expiration, app.now() / 1000 + 7200);
  assert.match(warnings?.[0] ?? '', /is longer than permitted maxTTL "2h0m0s"/);
});

test('no key usage, no extension', async () => {
  await role('bare', { key_usage: [] });
  const { data } = await issue('bare');
  const { extensions } = parsePemCertificate(data.certificate);
  assert.equal(findExtension(extensions, '2.5.29.15'), undefined);
});

test('without storage a certificate is neither listed nor found', async () => {
  await role('fleeting', { no_store: true });
  const { data } = await issue('fleeting');
  const all = await listSerials(app.db, { mount_id: mount.id, after: '', limit: 1000 });
  assert.equal(all.includes(data.serial_number), false);
  await assert.rejects(
    requireCertificate(app, testCaller(mount), data.serial_number),
    refusal('not_found', /^$/),
  );
});

test('with only a root in the chain and roots left out, there is no chain', async () => {
  const { data } = await issue('web', { remove_roots_from_chain: true });
  assert.equal('ca_chain' in data, false);
});

test('the issuer of the path wins over that of the role', async () => {
  await role('by-int', { issuer_ref: 'int' });
  const { issuers } = await readMountState(app, mount.id);
  const pems = new Map(
    [...issuers.values()].map(({ name, certificate }) => [name, pemOf(certificate)]),
  );
  assert.equal((await issue('by-int')).data.issuing_ca, pems.get('int'));
  assert.equal((await issue('by-int', {}, 'root')).data.issuing_ca, pems.get('root'));
});

test('a role may name an issuer to come, and works once it is there', async () => {
  const { warnings } = await role('later', { issuer_ref: 'new' });
  assert.match(warnings?.[0] ?? '', /no issuing certificate currently has that name/);
  await assert.rejects(issue('later'), refusal('unresolved', /could not fetch the CA certificate/));
  await updateIssuer(app, testCaller(mount), { issuer_ref: 'int', issuer_name: 'new' });
  await issue('later');
  await updateIssuer(app, testCaller(mount), { issuer_ref: 'new', issuer_name: 'int' });
});

test('an issuer without issuing-certificates signs nothing', async () => {
  const caller = testCaller(mount);
  await updateIssuer(app, caller, { issuer_ref: 'int', usage: ['crl-signing'] });
  const phrase =
    /requested usage issuing-certificates for issuer .* but only had usage crl-signing,read-only/;
  await assert.rejects(issue('web', {}, 'int'), refusal('unresolved', phrase));
  await updateIssuer(app, caller, { issuer_ref: 'int', usage: ['issuing-certificates'] });
  await issue('web', {}, 'int');
});

test('a common name is needed unless the role says otherwise', async () => {
  await assert.rejects(
    issue('web', { common_name: '' }),
    refusal('invalid', /the common_name field is required/),
  );
});

test('a role for keys of any type makes none without being told which', async () => {
  await role('any', { key_type: 'any' });
  await assert.rejects(issue('any'), refusal('invalid', /"any" not allowed for issuing/));
  assert.equal((await issue('any', { key_type: 'ed25519' })).data.private_key_type, 'ed25519');
});

test('an unknown role is the mistake of the request', async () => {
  await assert.rejects(issue('none'), refusal('invalid', /^unknown role: none$/));
});

test('sealed, nothing is signed, though the key was in use before', async () => {
  await app.barrier.seal();
  await assert.rejects(issue('web'), refusal('unavailable', /sealed/));
});

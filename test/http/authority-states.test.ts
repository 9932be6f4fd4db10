/** What an issuer, a key, a role or a certificate is after each change of its state, asked of a server. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { sequence } from '../../src/x509/der.ts';
import { children, readDer } from '../../src/x509/der-reader.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { parseCrl } from '../support/crl.ts';
import { makeCsr } from '../support/leaves.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });

type Fields = Record<string, unknown>;

let mounts = 0;
/** A mount of its own with a role that lets everything in. */
async function newMount(): Promise<string> {
  const mount = `ca${++mounts}`;
  await call('POST', `sys/mounts/${mount}`, { type: 'pki', config: { max_lease_ttl: '87600h' } });
  await call('POST', `${mount}/roles/any`, { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  return mount;
}

async function newRoot(mount: string, fields: Fields = {}, type = 'internal'): Promise<Reply> {
  const body = { common_name: 'R', key_type: 'ec', ttl: '8760h', ...fields };
  const answer = await call('POST', `${mount}/root/generate/${type}`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

async function issue(mount: string, fields: Fields = {}, role = 'any'): Promise<Reply> {
  const answer = await call('POST', `${mount}/issue/${role}`, { common_name: 'a.test', ...fields });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

const serialOf = (issued: Reply): string => issued.textAt('data.serial_number');
const derOf = (pem: string): Uint8Array => parsePem(pem)[0]?.der ?? new Uint8Array();

async function listed(mount: string): Promise<string[]> {
  const { bytes } = await call('GET', `${mount}/crl`, undefined, { token: '' });
  return [...parseCrl(bytes).entries()].map(({ serialNumber }) => formatSerial(serialNumber));
}

function askAbout(mount: string, root: Reply, issued: Reply): Promise<Reply> {
  const issuer = parseCertificate(derOf(root.textAt('data.certificate')));
  const { serialNumber } = parseCertificate(derOf(issued.textAt('data.certificate')));
  const { subject, subjectPublicKeyInfo } = issuer;
  const request = { issuer: subject, subjectPublicKeyInfo, serialNumber, hash: 'sha1' } as const;
  return call('POST', `${mount}/ocsp`, encodeOcspRequest(request), { token: '' });
}

test('an issuer that issues no more still revokes and signs, one that only reads is frozen, and both go back', async () => {
  const mount = await newMount();
  const root = await newRoot(mount);
  const leaves = await Promise.all([issue(mount), issue(mount)]);
  const [first, second] = leaves as [Reply, Reply];
  const use = async (usage: string): Promise<void> => {
    const answer = await call('PATCH', `${mount}/issuer/default`, { usage });
    assert.equal(answer.status, 200, answer.text);
  };
  const revoke = async (issued: Reply): Promise<void> => {
    const answer = await call('POST', `${mount}/revoke`, { serial_number: serialOf(issued) });
    assert.equal(answer.field('data.state'), 'revoked', answer.text);
  };

  await use('read-only,crl-signing,ocsp-signing');
  const refused = await call('POST', `${mount}/issue/any`, { common_name: 'a.test' });
  assert.equal(refused.status, 500);
  await revoke(first);
  assert.deepEqual(await listed(mount), [serialOf(first)]);
  assert.equal(
    typeof readOcspVerdict((await askAbout(mount, root, first)).bytes),
    'object',
    'told as revoked',
  );

  await use('read-only');
  await revoke(second);
  assert.deepEqual(await listed(mount), [serialOf(first)], 'the CRL stops changing');
  assert.equal((await askAbout(mount, root, second)).status, 401);

  await use('read-only,issuing-certificates,crl-signing,ocsp-signing');
  assert.deepEqual((await listed(mount)).sort(), leaves.map(serialOf).sort());
  assert.equal(typeof readOcspVerdict((await askAbout(mount, root, second)).bytes), 'object');
  await issue(mount);
});

test('a role that is deleted leaves its certificates as they are', async () => {
  const mount = await newMount();
  await newRoot(mount);
  await call('POST', `${mount}/roles/leased`, {
    allow_any_name: true,
    key_type: 'ec',
    ttl: '1h',
    generate_lease: true,
  });
  const issued = await issue(mount, {}, 'leased');
  assert.equal((await call('DELETE', `${mount}/roles/leased`)).status, 204);
  const read = await call('GET', `${mount}/cert/${serialOf(issued)}`);
  assert.equal(read.field('data.revocation_time'), 0, read.text);
  assert.deepEqual(await listed(mount), []);
  const lease = { lease_id: issued.textAt('lease_id') };
  assert.equal((await call('POST', 'sys/leases/lookup', lease)).status, 200, 'its lease too');
  assert.equal((await call('POST', 'sys/leases/revoke', lease)).status, 204);
  assert.deepEqual(await listed(mount), [serialOf(issued)], 'and can be revoked all the same');
});

test('roots that were made and intermediates that were signed are among the certificates, imported ones are not', async () => {
  const mount = await newMount();
  const root = await newRoot(mount, {}, 'exported');
  const csr = makeCsr({ subject: { common_name: 'I' } });
  const signed = await call('POST', `${mount}/root/sign-intermediate`, { csr, common_name: 'I' });
  assert.equal(signed.status, 200, signed.text);
  const certs = await call('LIST', `${mount}/certs`);
  assert.deepEqual(certs.field('data.keys'), [serialOf(root), serialOf(signed)].sort());

  const other = await newMount();
  const pem_bundle = `${root.textAt('data.certificate')}\n${root.textAt('data.private_key')}`;
  const imported = await call('POST', `${other}/config/ca`, { pem_bundle });
  assert.equal(imported.status, 200, imported.text);
  assert.equal((await call('LIST', `${other}/certs`)).status, 404);
  const leaf = await issue(other);
  assert.deepEqual((await call('LIST', `${other}/certs`)).field('data.keys'), [serialOf(leaf)]);
});

test('an issuer whose key is elsewhere is a default that is warned of, issues nothing, and has no CRL', async () => {
  const root = await newRoot(await newMount());
  const mount = await newMount();
  const imported = await call('POST', `${mount}/issuers/import/cert`, {
    pem_bundle: root.textAt('data.certificate'),
  });
  const [id = ''] = imported.field('data.imported_issuers') as string[];
  const chosen = await call('POST', `${mount}/config/issuers`, { default: id });
  assert.match(
    chosen.textAt('warnings'),
    /This selected default issuer has no key associated with it/,
  );
  const csr = makeCsr({ subject: { common_name: 'a.test' } });
  for (const [path, body] of [
    ['issue/any', { common_name: 'a.test' }],
    ['sign/any', { csr }],
    ['sign-verbatim', { csr }],
    ['root/sign-intermediate', { csr, common_name: 'I' }],
  ] as const) {
    const refused = await call('POST', `${mount}/${path}`, body);
    assert.equal(refused.status, 500, `${path}: ${refused.text}`);
    assert.ok(
      refused.text.includes(
        `unable to fetch corresponding key for issuer ${id}; unable to use this issuer for signing`,
      ),
      refused.text,
    );
  }
  const json = await call('GET', `${mount}/issuer/${id}/crl`);
  assert.equal(json.status, 500);
  assert.match(json.text, /unable to find CRL for issuer/);
  assert.equal((await call('GET', `${mount}/issuer/${id}/crl/der`)).status, 204);
  assert.equal((await call('GET', `${mount}/issuer/${id}/pem`)).status, 200, 'read all the same');
});

test('roots are left out of the chain of an intermediate, which stays in it', async () => {
  const mount = await newMount();
  await newRoot(mount);
  const requested = await call('POST', `${mount}/intermediate/generate/internal`, {
    common_name: 'I',
    key_type: 'ec',
  });
  const csr = requested.textAt('data.csr');
  const signed = await call('POST', `${mount}/root/sign-intermediate`, { csr, common_name: 'I' });
  const certificate = signed.textAt('data.certificate');
  const set = await call('POST', `${mount}/intermediate/set-signed`, { certificate });
  const [id] = set.field('data.imported_issuers') as string[];
  await call('POST', `${mount}/roles/any`, {
    allow_any_name: true,
    key_type: 'ec',
    issuer_ref: id,
    ttl: '1h',
  });
  const whole = await issue(mount);
  assert.equal((whole.field('data.ca_chain') as string[]).length, 2);
  const request = { csr: makeCsr({ subject: { common_name: 'a.test' } }) };
  for (const [path, body, blocks] of [
    ['issue/any', { common_name: 'a.test' }, 3],
    ['sign/any', request, 2],
    ['sign-verbatim/any', request, 2],
  ] as const) {
    const without = { ...body, remove_roots_from_chain: true };
    const answer = await call('POST', `${mount}/${path}`, without);
    assert.deepEqual(answer.field('data.ca_chain'), [certificate], path);
    const bundle = await call('POST', `${mount}/${path}`, { ...without, format: 'pem_bundle' });
    assert.equal(parsePem(bundle.textAt('data.certificate')).length, blocks, path);
  }
});

test('a manual chain is what certificates come with, and the chain of the default issuer', async () => {
  const mount = await newMount();
  const root = await newRoot(mount, { issuer_name: 'own' });
  const other = await newRoot(mount, { common_name: 'O', issuer_name: 'other' });
  const chainOf = async (): Promise<unknown[]> => {
    const read = await call('GET', `${mount}/issuer/own/json`);
    const issued = await issue(mount, { format: 'pem_bundle' });
    const [, , ...bundled] = parsePem(issued.textAt('data.certificate'));
    return [
      (read.field('data.ca_chain') as string[]).map((pem) => pem.trim()),
      parsePem((await call('GET', `${mount}/ca_chain`)).text).length,
      issued.field('data.ca_chain'),
      bundled.length,
    ];
  };
  const certificates = [root, other].map((made) => made.textAt('data.certificate'));
  const automatic = certificates.slice(0, 1);
  assert.deepEqual(await chainOf(), [automatic, 1, automatic, 1]);
  await call('PATCH', `${mount}/issuer/own`, { manual_chain: ['self', 'other'] });
  assert.deepEqual(await chainOf(), [certificates, 2, certificates, 2]);
  await call('PATCH', `${mount}/issuer/own`, { manual_chain: [] });
  assert.deepEqual(await chainOf(), [automatic, 1, automatic, 1]);
});

test('whoever has the key revokes by that path alone, without leave to revoke others', async () => {
  const mount = await newMount();
  await newRoot(mount);
  const issued = await issue(mount);
  const policy = `path "${mount}/revoke-with-key" { capabilities = ["update"] }`;
  await call('POST', 'sys/policies/acl/holders', { policy });
  const made = await call('POST', 'auth/token/create', { policies: ['holders'] });
  const token = made.textAt('auth.client_token');
  const body = { serial_number: serialOf(issued) };
  assert.equal((await call('POST', `${mount}/revoke`, body, { token })).status, 403);
  const { text } = await call('POST', `${mount}/revoke-with-key`, body, { token });
  assert.match(text, /private_key/, 'the key is asked for');
  const private_key = issued.textAt('data.private_key');
  const done = await call('POST', `${mount}/revoke-with-key`, { ...body, private_key }, { token });
  assert.equal(done.field('data.state'), 'revoked', done.text);
});

test('removing all issuers and keys leaves certificates, and what was revoked', async () => {
  const mount = await newMount();
  const root = await newRoot(mount);
  const [kept, gone] = [await issue(mount), await issue(mount)];
  const revoked = await call('POST', `${mount}/revoke`, { serial_number: serialOf(gone) });
  assert.equal((await call('DELETE', `${mount}/root`)).status, 200);
  const certs = await call('LIST', `${mount}/certs`);
  assert.deepEqual(certs.field('data.keys'), [root, kept, gone].map(serialOf).sort());
  const list = await call('LIST', `${mount}/certs/revoked`);
  assert.deepEqual(list.field('data.keys'), [serialOf(gone)]);
  const read = await call('GET', `${mount}/cert/${serialOf(gone)}`);
  assert.equal(read.field('data.revocation_time'), revoked.field('data.revocation_time'));
  assert.equal((await call('GET', `${mount}/config/issuers`)).field('data.default'), '');
  assert.equal((await call('GET', `${mount}/config/keys`)).field('data.default'), '');
  const refused = await call('POST', `${mount}/issue/any`, { common_name: 'a.test' });
  assert.equal(refused.status, 500, 'unusable until there is another');
  assert.match(refused.text, /no default issuer currently configured/);
  await newRoot(mount);
  await issue(mount);
});

/** The one Request within a request (RFC 6960 §4.1.1). */
function requestOf(der: Uint8Array): Uint8Array {
  const [tbsRequest] = children(readDer(der));
  const [requestList] = tbsRequest ? children(tbsRequest) : [];
  const [request] = requestList ? children(requestList) : [];
  return request?.raw ?? new Uint8Array();
}

test('of several questions in one OCSP request the first one is answered', async () => {
  const mount = await newMount();
  const root = await newRoot(mount);
  const [first, second] = [await issue(mount), await issue(mount)];
  await call('POST', `${mount}/revoke`, { serial_number: serialOf(second) });
  const asked = [first, second].map((issued) => {
    const issuer = parseCertificate(derOf(root.textAt('data.certificate')));
    const { serialNumber } = parseCertificate(derOf(issued.textAt('data.certificate')));
    const { subject, subjectPublicKeyInfo } = issuer;
    return requestOf(
      encodeOcspRequest({ issuer: subject, subjectPublicKeyInfo, serialNumber, hash: 'sha1' }),
    );
  });
  for (const [order, verdict] of [
    [asked, 'string'],
    [asked.toReversed(), 'object'],
  ] as const) {
    const list = sequence(...order);
    const answer = await call('POST', `${mount}/ocsp`, sequence(sequence(list)), { token: '' });
    assert.equal(answer.status, 200);
    assert.equal(typeof readOcspVerdict(answer.bytes), verdict);
  }
});

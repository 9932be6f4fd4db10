/** Answers of OCSP, asked and verified by OpenSSL, by every kind of authority and of responder. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { directoryConstraints, directoryName } from '../support/directory-names.ts';
import { makeAuthority } from '../support/made-authorities.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call, url } = await startTestServer({ after });
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-ocsp-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs beside the server, which answers from this process. */
function ask(...args: string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = spawn('openssl', ['ocsp', '-sha256', ...args], { cwd: folder });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece: Buffer) => {
      text += piece.toString('utf8');
    });
  }
  child.on('error', reject).on('close', () => resolve(text));
  return promise;
}

const AUTHORITIES: [name: string, root: object, issuer?: object][] = [
  ['rsa', { key_type: 'rsa' }],
  ['rsa-pss', { key_type: 'rsa' }, { revocation_signature_algorithm: 'SHA256WithRSAPSS' }],
  ['p256', { key_type: 'ec' }],
  ['p384', { key_type: 'ec', key_bits: 384 }],
  ['ed25519', { key_type: 'ed25519' }],
];
for (const [name, root, issuer] of AUTHORITIES) {
  for (const ocsp_delegated_responder of [false, true]) {
    const who = ocsp_delegated_responder ? 'its responder' : 'the issuer';
    test(`OpenSSL takes what ${who} answers of an authority ${name}`, async () => {
      const mount = `${name}-${ocsp_delegated_responder}`;
      await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
      const made = await call('POST', `${mount}/root/generate/internal`, {
        common_name: mount,
        ...root,
      });
      if (issuer) await call('PATCH', `${mount}/issuer/default`, issuer);
      await call('POST', `${mount}/config/crl`, {
        ocsp_delegated_responder,
        ocsp_unissued_status: 'unknown',
      });
      await call('POST', `${mount}/roles/any`, {
        allow_any_name: true,
        key_type: 'ec',
        ttl: '1h',
      });
      const ca = join(folder, `${mount}.pem`);
      writeFileSync(ca, made.textAt('data.certificate'));
      const askAbout = (serial: string): Promise<string> =>
        ask(
          ...['-issuer', ca, '-serial', `0x${serial.replaceAll(':', '')}`],
          ...['-url', `${url}/v1/${mount}/ocsp`, '-CAfile', ca],
        );
      const issued = await call('POST', `${mount}/issue/any`, { common_name: 'a.example' });
      const serial_number = issued.textAt('data.serial_number');
      const good = await askAbout(serial_number);
      assert.match(good, /Response verify OK/);
      assert.match(good, /: good/);
      await call('POST', `${mount}/revoke`, { serial_number });
      const revoked = await askAbout(serial_number);
      assert.match(revoked, /Response verify OK/);
      assert.match(revoked, /: revoked/);
      const unknown = await askAbout('01:02:03');
      assert.match(unknown, /Response verify OK/);
      assert.match(unknown, /: unknown/);
    });
  }
}

async function must(path: string, fields: Record<string, unknown>): Promise<Reply> {
  const reply = await call('POST', path, fields);
  assert.ok(reply.status < 300, `${path}: ${reply.text}`);
  return reply;
}

const constrained = makeAuthority('Root', {
  usage: ['CertSign', 'CRLSign'],
  extensions: [directoryConstraints([directoryName([['O', 'Acme']])])],
});
writeFileSync(join(folder, 'constrained.pem'), constrained.pem);

async function newConstrainedMount(mount: string, pem_bundle: string): Promise<void> {
  await must(`sys/mounts/${mount}`, { type: 'pki', config: { max_lease_ttl: '87600h' } });
  if (pem_bundle !== '') await must(`${mount}/config/ca`, { pem_bundle });
  await must(`${mount}/config/crl`, { ocsp_delegated_responder: true });
}

const askOf = (mount: string, issuer: string): Promise<string> =>
  ask(
    ...['-issuer', issuer, '-serial', '0x1234', '-url', `${url}/v1/${mount}/ocsp`, '-resp_text'],
    ...['-CAfile', 'constrained.pem', '-verify_other', issuer],
  );

test('OpenSSL takes what a responder answers beneath directory names that are permitted, also by one who is not known', async () => {
  await newConstrainedMount('above', constrained.pem + constrained.keyPem);
  await newConstrainedMount('beneath', '');
  const fields = { common_name: 'Sub', organization: 'Acme', key_type: 'ec' };
  const asking = await must('beneath/intermediate/generate/internal', fields);
  const csr = asking.textAt('data.csr');
  const signed = await must('above/root/sign-intermediate', { ...fields, csr, ttl: '100h' });
  const certificate = signed.textAt('data.certificate');
  writeFileSync(join(folder, 'beneath.pem'), certificate);
  await must('beneath/intermediate/set-signed', { certificate });
  const responder = /Responder Id: O = Acme, CN = Sub, CN = OCSP Responder [0-9a-f-]{36}/;
  for (const known of ['', constrained.pem]) {
    if (known !== '') await must('beneath/issuers/import/cert', { pem_bundle: known });
    const said = await askOf('beneath', 'beneath.pem');
    assert.match(said, /Response verify OK/);
    assert.match(said, responder);
  }
});

test('an authority that permits no name of a responder answers by itself, as OpenSSL takes it', async () => {
  await newConstrainedMount('itself', constrained.pem + constrained.keyPem);
  const said = await askOf('itself', 'constrained.pem');
  assert.match(said, /Response verify OK/);
  assert.match(said, /Responder Id: CN = Root\n/);
});

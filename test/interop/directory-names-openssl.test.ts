/** OpenSSL judges directory names under constraints on them: what is let pass, and what is refused, made by hand. */

import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { after, test } from 'node:test';
import { encodePem } from '../../src/core/pem.ts';
import {
  assembleSigned,
  encodeTbsCertificate,
  parseCertificate,
} from '../../src/x509/certificate.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  type Extension,
  findExtension,
  subjectKeyIdentifier,
} from '../../src/x509/extensions.ts';
import { keyUsage } from '../../src/x509/key-usages.ts';
import { keyIdentifier, publicKeyInfo } from '../../src/x509/keys.ts';
import { EXTENSION_OID } from '../../src/x509/oids.ts';
import {
  DIRECTORY_NAME_CASES,
  directoryAltNames,
  directoryConstraints,
  directoryName,
} from '../support/directory-names.ts';
import { makeCsr } from '../support/leaves.ts';
import { makeAuthority, pkcs8Of } from '../support/made-authorities.ts';
import { withOpenssl } from '../support/openssl.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const key: KeyObject = generateKeyPairSync('ed25519').privateKey;
const subjectPublicKeyInfo = publicKeyInfo(key);
const ROOT = directoryName([['CN', 'Root']]);

/** Root and leaves have one key. */
function makePem(subject: Uint8Array, extensions: readonly (Extension | undefined)[]): string {
  const tbs = encodeTbsCertificate({
    serialNumber: Uint8Array.of(subject === ROOT ? 1 : 2),
    signatureAlgorithm: 'PureEd25519',
    issuer: ROOT,
    notBefore: 0,
    notAfter: 4_000_000_000,
    subject,
    subjectPublicKeyInfo,
    extensions: [
      ...extensions.flatMap((extension) => extension ?? []),
      subjectKeyIdentifier(keyIdentifier(subjectPublicKeyInfo)),
      authorityKeyIdentifier(keyIdentifier(subjectPublicKeyInfo)),
    ],
  });
  const der = assembleSigned(tbs, 'PureEd25519', sign(null, tbs, key));
  return encodePem('CERTIFICATE', der, { trailingNewline: true });
}

const makeRoot = (constraints: Extension): string =>
  makePem(ROOT, [keyUsage(['CertSign', 'CRLSign']), basicConstraints({ ca: true }), constraints]);

/** What `openssl verify` says of each of them. */
function verifyEach(root: string, leaves: readonly string[], between = ''): string[] {
  const said: string[] = [];
  withOpenssl(({ run, write }) => {
    write('root.pem', root);
    write('between.pem', between);
    for (const leaf of leaves) {
      write('leaf.pem', leaf);
      const untrusted = between === '' ? [] : ['-untrusted', 'between.pem'];
      const { text } = run(
        'verify',
        '-x509_strict',
        '-CAfile',
        'root.pem',
        ...untrusted,
        'leaf.pem',
      );
      said.push(text);
    }
  });
  return said;
}

const OK = /^leaf\.pem: OK$/m;
const VIOLATION = /permitted subtree violation|excluded subtree violation/;

for (const {
  what,
  permitted = [],
  excluded = [],
  named,
  allowed,
  openssl,
} of DIRECTORY_NAME_CASES) {
  const believed = openssl ?? allowed;
  test(`of directory names OpenSSL ${believed ? 'believes' : 'refuses'} ${what}`, () => {
    const usage = keyUsage(['DigitalSignature']);
    const leaves = [
      makePem(named, [usage]),
      makePem(directoryName(), [usage, directoryAltNames([named])]),
    ];
    const root = makeRoot(directoryConstraints(permitted, excluded));
    for (const said of verifyEach(root, leaves)) assert.match(said, believed ? OK : VIOLATION);
  });
}

const { call } = await startTestServer({ after });

async function must(path: string, fields: Record<string, unknown>): Promise<Reply> {
  const reply = await call('POST', path, fields);
  assert.ok(reply.status === 200 || reply.status === 204, `${path}: ${reply.text}`);
  return reply;
}

const ACME = directoryName([['O', 'Acme']]);
const EXCLUDED = directoryName([['O', 'Acme']], [['OU', 'Secret']]);
const CSR = makeCsr({ subject: { organization: ['acme'], common_name: 'sub' } });
const FOREIGN_CSR = makeCsr({ subject: { organization: ['Else'], common_name: 'sub' } });

/** What is asked of an imported authority: what it lets in, and beside it the nearest that it does not. */
const ASKED: [path: string, allowed: Record<string, unknown>, refused: Record<string, unknown>][] =
  [
    ['issue/acme', { common_name: 'w.test' }, { common_name: 'w.test', role: 'else' }],
    ['issue/acme', { common_name: 'w.test' }, { common_name: 'w.test', role: 'secret' }],
    [
      'sign/acme',
      { csr: CSR, common_name: 'w.test' },
      { csr: CSR, common_name: 'w.test', role: 'else' },
    ],
    ['sign-verbatim', { csr: CSR }, { csr: FOREIGN_CSR }],
    [
      'issuer/default/sign-intermediate',
      { csr: CSR, common_name: 'sub', organization: 'ACME' },
      { csr: CSR, common_name: 'sub', organization: 'Acmee' },
    ],
    [
      'issuer/default/sign-intermediate',
      { csr: CSR, use_csr_values: true },
      { csr: FOREIGN_CSR, use_csr_values: true },
    ],
  ];
for (const [at, [path, allowed, refused]] of ASKED.entries()) {
  test(`beneath an imported authority OpenSSL and we agree on the subject: ${path} (${at})`, async () => {
    const ca = `ca${at}`;
    const root = makeRoot(directoryConstraints([ACME], [EXCLUDED]));
    await must(`sys/mounts/${ca}`, { type: 'pki', config: { max_lease_ttl: '87600h' } });
    await must(`${ca}/config/ca`, { pem_bundle: root + pkcs8Of(key) });
    const role = { allow_any_name: true, key_type: 'ec' };
    await must(`${ca}/roles/acme`, { ...role, organization: ' ACME ' });
    await must(`${ca}/roles/else`, { ...role, organization: 'Else' });
    await must(`${ca}/roles/secret`, { ...role, organization: 'Acme', ou: 'SECRET' });
    const ask = ({ role: other, ...fields }: Record<string, unknown>) => {
      const place = typeof other === 'string' ? path.replace('acme', other) : path;
      return call('POST', `${ca}/${place}`, { ttl: '1h', ...fields });
    };
    const inside = await ask(allowed);
    assert.equal(inside.status, 200, inside.text);
    const outside = await ask(refused);
    assert.equal(outside.status, 400, outside.text);
    assert.match(outside.text, /the issuer's name constraints refuse it: subject /);
    // Made all the same, it is what OpenSSL does not believe either.
    const relaxed = { disable_name_constraint_checks: true };
    assert.equal((await call('PATCH', `${ca}/issuer/default`, relaxed)).status, 200);
    const made = await ask(refused);
    assert.equal(made.status, 200, made.text);
    const pems = [inside, made].map((reply) => `${reply.textAt('data.certificate')}\n`);
    const [good = '', bad = ''] = verifyEach(root, pems);
    assert.match(good, OK);
    assert.match(bad, VIOLATION);
  });
}

test('an authority whose own name it does not permit certifies its new key, beneath which OpenSSL and we agree', async () => {
  const { pem: root, keyPem } = makeAuthority('Root', {
    key,
    extensions: [
      directoryConstraints([ACME], [EXCLUDED]),
      subjectKeyIdentifier(keyIdentifier(subjectPublicKeyInfo)),
    ],
    usage: ['CertSign', 'CRLSign'],
  });
  await must('sys/mounts/rollover', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  await must('rollover/config/ca', { pem_bundle: root + keyPem });
  const role = { allow_any_name: true, key_type: 'ec', ttl: '1h' };
  await must('rollover/roles/acme', { ...role, organization: 'ACME' });
  await must('rollover/roles/else', { ...role, organization: 'Else' });
  const certify = async (common_name: string): Promise<Reply> => {
    const fields = { common_name, key_type: 'ec' };
    const asking = await must('rollover/intermediate/generate/internal', fields);
    const csr = asking.textAt('data.csr');
    const signed = { csr, common_name, ttl: '100h' };
    return call('POST', 'rollover/root/sign-intermediate', signed);
  };
  assert.equal((await certify('root')).status, 400, 'another name than its own');
  const crossed = await certify('Root');
  assert.equal(crossed.status, 200, crossed.text);
  const certificate = `${crossed.textAt('data.certificate')}\n`;
  const imported = await must('rollover/intermediate/set-signed', { certificate });
  const [id] = imported.field('data.imported_issuers') as string[];
  const ask = (name: string) =>
    call('POST', `rollover/issuer/${id}/issue/${name}`, { common_name: 'w.test' });
  const inside = await ask('acme');
  assert.equal(inside.status, 200, inside.text);
  assert.equal((await ask('else')).status, 400, 'the old one constrains what the new key signs');
  const relaxed = { disable_name_constraint_checks: true };
  assert.equal((await call('PATCH', `rollover/issuer/${id}`, relaxed)).status, 200);
  const outside = await ask('else');
  const pems = [inside, outside].map((reply) => `${reply.textAt('data.certificate')}\n`);
  const [good = '', bad = ''] = verifyEach(root, pems, certificate);
  assert.match(good, OK);
  assert.match(bad, VIOLATION);
});

test('constraints on directory names hold on through another authority that signs them', async () => {
  await must('sys/mounts/over', { type: 'pki', config: { max_lease_ttl: '876000h' } });
  const over = await must('over/root/generate/internal', {
    common_name: 'Over',
    key_type: 'ec',
    ttl: '876000h',
  });
  const constraints = directoryConstraints([ACME], [EXCLUDED]);
  const own = makeRoot(constraints);
  const crossed = await must('over/root/sign-self-issued', { certificate: own });
  const pem = crossed.textAt('data.certificate');
  const { extensions } = parseCertificate(
    Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64'),
  );
  assert.deepEqual(
    Buffer.from(findExtension(extensions, EXTENSION_OID.nameConstraints)?.value ?? []),
    Buffer.from(constraints.value),
  );
  const usage = keyUsage(['DigitalSignature']);
  const leaves = ['Acme', 'Else'].map((O) => makePem(directoryName([['O', O]]), [usage]));
  const [good = '', bad = ''] = verifyEach(over.textAt('data.certificate'), leaves, `${pem}\n`);
  assert.match(good, OK);
  assert.match(bad, VIOLATION);
});

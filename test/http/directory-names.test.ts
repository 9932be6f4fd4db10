/** Subjects and other directory names beneath an imported authority that constrains them, on every path that signs. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { type Certificate, parseCertificate } from '../../src/x509/certificate.ts';
import { basicConstraints, findExtension } from '../../src/x509/extensions.ts';
import { nameText } from '../../src/x509/names.ts';
import { EXTENSION_OID } from '../../src/x509/oids.ts';
import {
  directoryAltNames,
  directoryConstraints,
  directoryName,
} from '../support/directory-names.ts';
import { makeCsr } from '../support/leaves.ts';
import { makeAuthority } from '../support/made-authorities.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
type Fields = Record<string, unknown>;

async function must(path: string, fields: Fields): Promise<Reply> {
  const reply = await call('POST', path, fields);
  assert.ok(reply.status < 300, `${path}: ${reply.text}`);
  return reply;
}

const ACME = directoryName([['O', 'Acme']]);
const SECRET = directoryName([['O', 'Acme']], [['OU', 'Secret']]);
const SIBLING = directoryName([['CN', 'Sibling']]);
const CONSTRAINTS = directoryConstraints([ACME, SIBLING], [SECRET]);
const authority = makeAuthority('Root', {
  extensions: [CONSTRAINTS],
  usage: ['CertSign', 'CRLSign'],
});

before(async () => {
  await must('sys/mounts/ca', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  await must('ca/config/ca', { pem_bundle: authority.pem + authority.keyPem });
  const role = { allow_any_name: true, key_type: 'ec', require_cn: false, ttl: '1h' };
  await must('ca/roles/acme', { ...role, organization: 'ACME' });
  await must('ca/roles/else', { ...role, organization: 'Else' });
  await must('ca/roles/secret', { ...role, organization: 'Acme', ou: 'secret' });
  await must('ca/roles/bare', role);
  const program = (organization: string) => ({
    expression: `ValidationOutput{key_type: "ec", template: CertTemplate{NotAfter: now + duration("1h"), Subject: PKIX.Name{Organization: ["${organization}"]}}}`,
  });
  await must('ca/cel/roles/acme', { cel_program: program('acme') });
  await must('ca/cel/roles/else', { cel_program: program('else') });
});

const certificateOf = (reply: Reply): Certificate =>
  parseCertificate(parsePem(reply.textAt('data.certificate'))[0]?.der ?? new Uint8Array());

const subject = { organization: ['acme'], common_name: 'sub' };
const csr = makeCsr({ subject });
const foreign = makeCsr({ subject: { ...subject, organization: ['Acmee'] } });
const named = (...names: Uint8Array[]): string =>
  makeCsr({ subject, extensions: [directoryAltNames(names)] });
const within = directoryName([['O', 'ACME']], [['CN', 'x']]);
const [sibling, other] = [makeAuthority('Sibling').pem, makeAuthority('Other').pem];

const asked: [path: string, fields: Fields, refused: RegExp | undefined][] = [
  ['issue/acme', { common_name: 'w.test' }, undefined],
  ['issue/else', { common_name: 'w.test' }, /subject \\"CN=w\.test,O=Else\\" is not permitted/],
  ['issue/secret', { common_name: 'w.test' }, /is excluded by constraint \\"OU=Secret,O=Acme\\"/],
  ['issue/bare', { common_name: 'w.test' }, /subject \\"CN=w\.test\\" is not permitted/],
  ['issue/bare', { alt_names: 'w.test' }, undefined],
  ['sign/acme', { common_name: 'w.test', csr }, undefined],
  ['sign/else', { common_name: 'w.test', csr }, /subject /],
  ['cel/issue/acme', {}, undefined],
  ['cel/issue/else', {}, /subject \\"O=else\\" is not permitted/],
  ['sign-verbatim', { csr }, undefined],
  ['sign-verbatim', { csr: foreign }, /subject \\"CN=sub,O=Acmee\\" is not permitted/],
  ['sign-verbatim', { csr: makeCsr(), user_ids: 'u1' }, /subject \\"UID=u1\\" is not permitted/],
  ['sign-verbatim', { csr: named(ACME, within) }, undefined],
  [
    'sign-verbatim',
    { csr: named(ACME, directoryName([['CN', 'x']])) },
    /directory name \\"CN=x\\" is not permitted/,
  ],
  ['sign-verbatim', { csr: named(ACME, SECRET) }, /directory name .* is excluded/],
  ['root/sign-intermediate', { csr, common_name: 'sub', organization: 'Acme' }, undefined],
  ['root/sign-intermediate', { csr, common_name: 'sub' }, /subject \\"CN=sub\\" is not permitted/],
  ['root/sign-intermediate', { csr, use_csr_values: true }, undefined],
  ['root/sign-intermediate', { csr: foreign, use_csr_values: true }, /subject /],
  ['root/sign-intermediate', { csr: named(within), use_csr_values: true }, undefined],
  ['root/sign-intermediate', { csr: named(SECRET), use_csr_values: true }, /directory name /],
  ['root/sign-self-issued', { certificate: sibling }, undefined],
  ['root/sign-self-issued', { certificate: other }, /subject \\"CN=Other\\" is not permitted/],
];
for (const [path, fields, refused] of asked) {
  const { csr: _, certificate: __, ...told } = fields;
  const says = refused ? `refused: ${refused.source}` : 'granted';
  test(`beneath constraints on directory names ${path} ${JSON.stringify(told)} is ${says}`, async () => {
    const answer = await call('POST', `ca/${path}`, fields);
    assert.equal(answer.status, refused ? 400 : 200, answer.text);
    if (refused) {
      assert.match(answer.text, /the issuer's name constraints refuse it: /);
      assert.match(answer.text, refused);
    }
  });
}

test('what the authorities above constrain holds beneath another one between', async () => {
  const fields = { common_name: 'low', organization: 'Acme', key_type: 'ec' };
  const request = await must('ca/intermediate/generate/internal', fields);
  const signed = await must('ca/root/sign-intermediate', {
    ...fields,
    csr: request.textAt('data.csr'),
    ttl: '100h',
  });
  const imported = await must('ca/intermediate/set-signed', {
    certificate: signed.textAt('data.certificate'),
  });
  const [low] = imported.field('data.imported_issuers') as string[];
  const inside = await call('POST', `ca/issuer/${low}/issue/acme`, { common_name: 'w.test' });
  assert.equal(inside.status, 200, inside.text);
  const outside = await call('POST', `ca/issuer/${low}/issue/else`, { common_name: 'w.test' });
  assert.equal(outside.status, 400, outside.text);
  assert.match(outside.text, /the issuer's name constraints refuse it: subject /);
});

test('an export is signed by a key whose name is let pass, or by none', async () => {
  const fields = { common_name: 'export', organization: 'Acme', key_type: 'ec' };
  const request = await must('ca/intermediate/generate/internal', fields);
  const csr = request.textAt('data.csr');
  const signed = await must('ca/root/sign-intermediate', { ...fields, csr, ttl: '100h' });
  const certificate = signed.textAt('data.certificate');
  const imported = await must('ca/intermediate/set-signed', { certificate });
  const [low] = imported.field('data.imported_issuers') as string[];
  const subjectBy = async (issuer_ref: string | undefined): Promise<string> => {
    const answer = await call('GET', `ca/certs/export/jsonl?issuer_ref=${issuer_ref}`);
    assert.equal(answer.status, 200, answer.text);
    const { export: told } = JSON.parse(answer.text.trim().split('\n').at(-1) ?? '');
    return nameText(parseCertificate(Buffer.from(told.certificate, 'base64')).subjectName);
  };
  assert.equal(await subjectBy(low), 'CN=Certificate export,CN=export,O=Acme');
  const refused = await call('GET', 'ca/certs/export/jsonl');
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /no room for \\"CN=Certificate export\\"/);
  const relax = (disable_name_constraint_checks: boolean) =>
    call('PATCH', 'ca/issuer/default', { disable_name_constraint_checks });
  await relax(true);
  assert.equal(await subjectBy('default'), 'CN=Certificate export');
  await relax(false);
});

test('constraints on directory names stay, byte for byte, in what another authority signs again', async () => {
  await must('sys/mounts/over', { type: 'pki', config: { max_lease_ttl: '876000h' } });
  await must('over/root/generate/internal', { common_name: 'Over', key_type: 'ec' });
  const again = await must('over/root/sign-self-issued', { certificate: authority.pem });
  const asking = makeCsr({
    subject: { common_name: 'Root' },
    extensions: [basicConstraints({ ca: true }), CONSTRAINTS],
  });
  const crossed = await must('over/root/sign-intermediate', { csr: asking, use_csr_values: true });
  for (const certificate of [certificateOf(again), certificateOf(crossed)]) {
    assert.equal(nameText(certificate.subjectName), 'CN=Root');
    const kept = findExtension(certificate.extensions, EXTENSION_OID.nameConstraints);
    assert.deepEqual(Buffer.from(kept?.value ?? []), Buffer.from(CONSTRAINTS.value));
    assert.equal(kept?.critical, true);
  }
});

test('an authority whose constraints have a directory name that is none is not taken', async () => {
  const { pem, keyPem } = makeAuthority('Broken', {
    extensions: [directoryConstraints([Uint8Array.of(0x0c, 1, 0x61)])],
  });
  const refused = await call('POST', 'ca/config/ca', { pem_bundle: pem + keyPem });
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /Error parsing issuer 0/);
});

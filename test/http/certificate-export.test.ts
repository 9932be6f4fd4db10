/** All certificates of a mount in one answer, and who vouches for it. */

import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { after, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { isSignedBy, parseCertificate } from '../../src/x509/certificate.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
await call('POST', 'sys/mounts/pki', { type: 'pki' });
const root = await call('POST', 'pki/root/generate/internal', {
  common_name: 'Root',
  key_type: 'ec',
  issuer_name: 'one',
});
const ca = parseCertificate(parsePem(root.textAt('data.certificate'))[0]?.der ?? new Uint8Array());
await call('POST', 'pki/roles/any', {
  allow_any_name: true,
  enforce_hostnames: false,
  key_type: 'ec',
  ttl: '1h',
});
const NAMES = ['a.example', '=1+1', 'b, "c"', '# d'];
const serials = [root.textAt('data.serial_number')];
for (const common_name of NAMES) {
  const issued = await call('POST', 'pki/issue/any', { common_name });
  assert.equal(issued.status, 200, issued.text);
  serials.push(issued.textAt('data.serial_number'));
}
await call('POST', 'pki/revoke', { serial_number: serials[1] });

interface Trailer {
  export: Record<
    'sha256' | 'created' | 'algorithm' | 'signature' | 'certificate' | 'issuing_ca',
    string
  > & { count: number };
}

/** Lines before the last, and what the last says of them. */
function open(text: string, comment: string): { signed: string; lines: string[]; last: Trailer } {
  assert.ok(text.endsWith('\n'));
  const at = text.lastIndexOf('\n', text.length - 2) + 1;
  const last = text.slice(at);
  assert.ok(last.startsWith(comment));
  const signed = text.slice(0, at);
  return {
    signed,
    lines: signed.split('\n').slice(0, -1),
    last: JSON.parse(last.slice(comment.length)),
  };
}

/** What anybody does who was given an export and the CA's certificate. */
function isVouchedFor(signed: string, { export: told }: Trailer): boolean {
  const certificate = parseCertificate(Buffer.from(told.certificate, 'base64'));
  const key = createPublicKey({
    key: Buffer.from(certificate.subjectPublicKeyInfo),
    format: 'der',
    type: 'spki',
  });
  return (
    isSignedBy(certificate, ca.subjectPublicKeyInfo) &&
    Buffer.from(told.issuing_ca, 'base64').equals(ca.raw) &&
    createHash('sha256').update(signed).digest('hex') === told.sha256 &&
    verify('sha256', Buffer.from(signed), key, Buffer.from(told.signature, 'base64'))
  );
}

test('JSON lines tell every stored certificate, and who vouches for them', async () => {
  const answer = await call('GET', 'pki/certs/export/jsonl');
  assert.equal(answer.headers.get('content-type'), 'application/jsonl');
  const { signed, lines, last } = open(answer.text, '');
  const told = lines.map((line): Record<string, string> => JSON.parse(line));
  assert.deepEqual(told.map(({ serial_number }) => serial_number).sort(), [...serials].sort());
  assert.equal(last.export.count, serials.length);
  assert.ok(isVouchedFor(signed, last));
  const first = told.find(({ common_name }) => common_name === 'a.example');
  assert.ok(first);
  assert.equal(first.role, 'any');
  assert.equal(first.issuer_id, root.textAt('data.issuer_id'));
  assert.match(first.revocation_time ?? '', /^20\d\d-.*Z$/);
  const parsed = parseCertificate(Buffer.from(first.certificate ?? '', 'base64'));
  assert.equal(parsed.serial, first.serial_number);
  assert.equal(told.filter(({ revocation_time }) => revocation_time === '').length, NAMES.length);
});

test('a changed, missing or added line is found', async () => {
  const { signed, lines, last } = open((await call('GET', 'pki/certs/export/jsonl')).text, '');
  assert.ok(isVouchedFor(signed, last));
  assert.ok(!isVouchedFor(signed.replace('a.example', 'b.example'), last));
  assert.ok(!isVouchedFor(`${lines.slice(1).join('\n')}\n`, last));
  assert.ok(!isVouchedFor(`${signed}{}\n`, last));
});

test('CSV has a head, quotes where it must, and nothing that a spreadsheet would run', async () => {
  const answer = await call('GET', 'pki/certs/export/csv?issuer_ref=one');
  assert.match(answer.headers.get('content-type') ?? '', /^text\/csv/);
  const { signed, lines, last } = open(answer.text, '# ');
  assert.equal(
    lines[0],
    'serial_number,common_name,issuer_id,role,not_before,not_after,revocation_time,certificate',
  );
  assert.equal(lines.length, serials.length + 1);
  assert.ok(isVouchedFor(signed, last));
  assert.ok(signed.includes(",'=1+1,"));
  assert.ok(signed.includes(',"b, ""c""",'));
  assert.ok(signed.includes(",'# d,"));
});

const REFUSED: [why: string, paths: Record<string, string[]>, query: string, status: number][] = [
  ['only the path', { 'pki/certs/export/*': ['read'] }, '', 200],
  ['not the path', { 'pki/certs': ['list'] }, '', 403],
  [
    'the list of certificates is denied',
    { 'pki/certs/export/*': ['read'], 'pki/certs': ['deny'] },
    '',
    403,
  ],
  ...['pki/certs/detailed', 'pki/certs/unified-revoked', 'pki/certs/export/csv'].map(
    (path): (typeof REFUSED)[number] => [
      `${path} is denied, which tells the same`,
      { 'pki/certs/export/*': ['read'], [path]: ['deny'] },
      '',
      403,
    ],
  ),
  [
    'the issuer is denied',
    { 'pki/certs/export/*': ['read'], 'pki/issuer/one': ['deny'] },
    '?issuer_ref=one',
    403,
  ],
];
for (const [at, [why, paths, query, status]] of REFUSED.entries()) {
  test(`with a token: ${why}, it is ${status}`, async () => {
    const policy = Object.entries(paths)
      .map(
        ([path, capabilities]) =>
          `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`,
      )
      .join('\n');
    await call('PUT', `sys/policies/acl/p${at}`, { policy });
    const made = await call('POST', 'auth/token/create', { policies: [`p${at}`] });
    const token = made.textAt('auth.client_token');
    const answer = await call('GET', `pki/certs/export/jsonl${query}`, undefined, { token });
    assert.equal(answer.status, status, answer.text);
  });
}

test('without an issuer that can sign nobody vouches, and nothing is told', async () => {
  await call('POST', 'sys/mounts/bare', { type: 'pki' });
  const none = await call('GET', 'bare/certs/export/csv');
  assert.equal(none.status, 500);
  assert.match(none.text, /no default issuer currently configured|could not fetch the CA/);
  const unknown = await call('GET', 'pki/certs/export/csv?issuer_ref=two');
  assert.equal(unknown.status, 500);
});

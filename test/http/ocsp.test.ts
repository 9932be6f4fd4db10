/** OCSP, asked of a server. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { type Certificate, parseCertificate } from '../../src/x509/certificate.ts';
import { children, type DerValue, readDer } from '../../src/x509/der-reader.ts';
import type { OcspHash } from '../../src/x509/ocsp.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { TEST_THREADS } from '../support/threads.ts';

const { call } = await startTestServer({ after });

const certificateOf = (pem: string): Certificate =>
  parseCertificate(parsePem(pem)[0]?.der ?? new Uint8Array());

let ca: Certificate;
let other: Certificate;
before(async () => {
  ca = await newMount('ca');
  other = await newMount('other');
});

async function newMount(mount: string, key_type = 'ec'): Promise<Certificate> {
  await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
  const root = await call('POST', `${mount}/root/generate/internal`, {
    common_name: `Root of ${mount}`,
    key_type,
  });
  await call('POST', `${mount}/roles/any`, { allow_any_name: true, key_type: 'ec', max_ttl: '1h' });
  return certificateOf(root.textAt('data.certificate'));
}

async function issue(mount: string): Promise<{ serial_number: string; serial: Uint8Array }> {
  const issued = await call('POST', `${mount}/issue/any`, { common_name: 'a.example' });
  assert.equal(issued.status, 200, issued.text);
  const { serialNumber } = certificateOf(issued.textAt('data.certificate'));
  return { serial_number: issued.textAt('data.serial_number'), serial: serialNumber };
}

interface Question {
  hash?: OcspHash;
  nonce?: Uint8Array;
}
function ask(mount: string, issuer: Certificate, serialNumber: Uint8Array, more: Question = {}) {
  const { subject, subjectPublicKeyInfo } = issuer;
  const der = encodeOcspRequest({
    issuer: subject,
    subjectPublicKeyInfo,
    serialNumber,
    hash: 'sha1',
    ...more,
  });
  return call('POST', `${mount}/ocsp`, der, { token: '' });
}

/** Asks so often at the same time that every thread that answers is among those asked. */
function askAll(mount: string, issuer: Certificate, serialNumber: Uint8Array): Promise<Reply[]> {
  const times = TEST_THREADS > 1 ? 40 : 2;
  return Promise.all(Array.from({ length: times }, () => ask(mount, issuer, serialNumber)));
}

const formsOf = (replies: readonly Reply[]): Set<string> =>
  new Set(replies.map(({ bytes }) => Buffer.from(bytes).toString('hex')));

/** responseData (RFC 6960 §4.2.1). */
function responseData(answer: Reply): DerValue {
  const explicit = children(readDer(answer.bytes))[1];
  const bytes = explicit && children(explicit)[0];
  const octets = bytes && children(bytes)[1];
  const [data] = octets ? children(readDer(octets.content)) : [];
  assert.ok(data);
  return data;
}

function single(answer: Reply): DerValue[] {
  const responses = children(responseData(answer)).find(({ tag }) => tag === 0x30 || false);
  // responderID is tagged, so the first SEQUENCE is the list of responses.
  const [one] = responses ? children(responses) : [];
  assert.ok(one);
  return children(one);
}

const NEVER_ISSUED = Uint8Array.of(1, 2, 3, 4);

function refused(answer: Reply, status: number, responseStatus: number): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get('content-type'), 'application/ocsp-response');
  assert.deepEqual([...answer.bytes], [0x30, 3, 0x0a, 1, responseStatus]);
}
const MALFORMED = 1;
const UNAUTHORIZED = 6;

test('a serial number that was never issued is good, and so is one that was', async () => {
  assert.equal(readOcspVerdict((await ask('ca', ca, NEVER_ISSUED)).bytes), 'good');
  const { serial } = await issue('ca');
  assert.equal(readOcspVerdict((await ask('ca', ca, serial)).bytes), 'good');
});

test('of another CA nothing is known, which the default issuer says', async () => {
  const answer = await ask('ca', other, NEVER_ISSUED);
  assert.equal(answer.status, 200);
  assert.equal(readOcspVerdict(answer.bytes), 'unknown');
  // responderID byName, explicitly tagged.
  const [responder] = children(responseData(answer));
  assert.deepEqual(Buffer.from(responder?.content ?? []), Buffer.from(ca.subject));
});

test('without an issuer, or without one that may sign answers, the request is unauthorized', async () => {
  await call('POST', 'sys/mounts/bare', { type: 'pki' });
  refused(await ask('bare', ca, NEVER_ISSUED), 401, UNAUTHORIZED);
  const own = await newMount('mute');
  assert.equal((await ask('mute', own, NEVER_ISSUED)).status, 200);
  await call('PATCH', 'mute/issuer/default', { usage: 'read-only,crl-signing' });
  refused(await ask('mute', own, NEVER_ISSUED), 401, UNAUTHORIZED);
  refused(await ask('mute', ca, NEVER_ISSUED), 401, UNAUTHORIZED);
});

test('only under an endpoint that takes it so is a rest of a path read as it came', async () => {
  refused(await call('GET', 'ca/ocsp//AAAA', undefined, { token: '' }), 400, MALFORMED);
  refused(await call('GET', 'ca/ocsp/AAAA?list=true', undefined, { token: '' }), 400, MALFORMED);
  await call('POST', 'cubbyhole/ocsp/a/b', { c: 'd' });
  assert.equal((await call('GET', 'cubbyhole/ocsp//a')).status, 400);
  const listed = await call('GET', 'cubbyhole/ocsp/a?list=true');
  assert.deepEqual(listed.field('data.keys'), ['b']);
});

test('what is no request, or too long for one, is malformed, by GET and by POST', async () => {
  for (const path of ['%21%21', 'AAAA', 'a'.repeat(3000)]) {
    refused(await call('GET', `ca/ocsp/${path}`, undefined, { token: '' }), 400, MALFORMED);
  }
  for (const path of ['ocsp', 'ocsp/']) {
    refused(await call('GET', `ca/${path}`, undefined, { token: '' }), 400, MALFORMED);
  }
  for (const body of [
    new Uint8Array(0),
    Uint8Array.of(0x30, 0),
    new Uint8Array(3072).fill(0x30),
    new Uint8Array(100_000).fill(0x30),
  ]) {
    refused(await call('POST', 'ca/ocsp', body, { token: '' }), 400, MALFORMED);
  }
  const whole = encodeOcspRequest({
    issuer: ca.subject,
    subjectPublicKeyInfo: ca.subjectPublicKeyInfo,
    serialNumber: NEVER_ISSUED,
    hash: 'sha1',
  });
  refused(await call('POST', 'ca/ocsp', whole.subarray(0, -1), { token: '' }), 400, MALFORMED);
});

test('turned off it answers unauthorized, whatever is asked', async () => {
  const own = await newMount('off');
  await call('POST', 'off/config/crl', { ocsp_disable: true });
  refused(await ask('off', own, NEVER_ISSUED), 401, UNAUTHORIZED);
  refused(await call('GET', 'off/ocsp/AAAA', undefined, { token: '' }), 401, UNAUTHORIZED);
  await call('POST', 'off/config/crl', { ocsp_disable: false });
  assert.equal((await ask('off', own, NEVER_ISSUED)).status, 200);
});

test('an answer may be kept for ocsp_expiry; with 0 it does not say until when', async () => {
  const own = await newMount('brief');
  const nextUpdate = async (): Promise<DerValue | undefined> =>
    single(await ask('brief', own, NEVER_ISSUED)).find(({ tag }) => tag === 0xa0);
  assert.ok(await nextUpdate());
  await call('POST', 'brief/config/crl', { ocsp_expiry: '0s' });
  assert.equal(await nextUpdate(), undefined);
});

for (const hash of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
  test(`a question by ${hash} is answered by ${hash}`, async () => {
    const { serial, serial_number } = await issue('ca');
    await call('POST', 'ca/revoke', { serial_number });
    const answer = await ask('ca', ca, serial, { hash });
    assert.equal(answer.status, 200);
    assert.equal(typeof readOcspVerdict(answer.bytes), 'object');
    const asked = encodeOcspRequest({
      issuer: ca.subject,
      subjectPublicKeyInfo: ca.subjectPublicKeyInfo,
      serialNumber: serial,
      hash,
    });
    const [certId] = single(answer);
    assert.ok(certId && Buffer.from(asked).includes(Buffer.from(certId.raw)), 'the same CertID');
  });
}

test('a revocation is told at once, although no list is built for it', async () => {
  const own = await newMount('lazy');
  await call('POST', 'lazy/config/crl', { auto_rebuild: true });
  await call('GET', 'lazy/crl');
  const { serial, serial_number } = await issue('lazy');
  assert.equal(readOcspVerdict((await ask('lazy', own, serial)).bytes), 'good');
  const revoked = await call('POST', 'lazy/revoke', { serial_number });
  const verdict = readOcspVerdict((await ask('lazy', own, serial)).bytes);
  assert.deepEqual(verdict, { revoked_at: revoked.field('data.revocation_time') });
});

test('a serial number revoked by one issuer of a mount is unknown of another of them', async () => {
  const first = await newMount('two');
  const second = await call('POST', 'two/issuers/generate/root/internal', {
    common_name: 'Second',
    key_type: 'ec',
  });
  const other = certificateOf(second.textAt('data.certificate'));
  const { serial, serial_number } = await issue('two');
  await call('POST', 'two/revoke', { serial_number });
  assert.equal(typeof readOcspVerdict((await ask('two', first, serial)).bytes), 'object');
  assert.equal(readOcspVerdict((await ask('two', other, serial)).bytes), 'unknown');
  assert.equal(readOcspVerdict((await ask('two', other, NEVER_ISSUED)).bytes), 'good');
});

for (const key_type of ['rsa', 'ed25519']) {
  test(`a CA with a key of type ${key_type} answers too, and gives the nonce back`, async () => {
    const own = await newMount(`of-${key_type}`, key_type);
    const nonce = new Uint8Array(16).fill(7);
    const answer = await ask(`of-${key_type}`, own, NEVER_ISSUED, { nonce });
    assert.equal(readOcspVerdict(answer.bytes), 'good');
    assert.ok(Buffer.from(answer.bytes).includes(Buffer.from(nonce)));
    const without = await ask(`of-${key_type}`, own, NEVER_ISSUED);
    assert.ok(!Buffer.from(without.bytes).includes(Buffer.from(nonce)));
  });
}

test('a signed answer is given again for a moment, but never past a revocation', async () => {
  const own = await newMount('kept');
  const { serial, serial_number } = await issue('kept');
  const another = await issue('kept');
  const first = await askAll('kept', own, serial);
  assert.ok(first.every(({ bytes }) => readOcspVerdict(bytes) === 'good'));
  const again = await askAll('kept', own, serial);
  assert.ok(formsOf(again).isSubsetOf(formsOf(first)));
  assert.ok(formsOf(again).size <= TEST_THREADS, 'each thread keeps one');
  await askAll('kept', own, another.serial);
  await call('POST', 'kept/revoke', { serial_number: another.serial_number });
  const unconcerned = await askAll('kept', own, serial);
  assert.ok(formsOf(unconcerned).isSubsetOf(formsOf(again)), 'it is not concerned');
  const concerned = await askAll('kept', own, another.serial);
  assert.ok(concerned.every(({ bytes }) => readOcspVerdict(bytes) !== 'good'));
  await call('POST', 'kept/revoke', { serial_number });
  const revoked = await askAll('kept', own, serial);
  assert.ok(revoked.every(({ bytes }) => readOcspVerdict(bytes) !== 'good'));
  assert.ok(formsOf(await askAll('kept', own, serial)).isSubsetOf(formsOf(revoked)));
  await call('PATCH', 'kept/issuer/default', { usage: 'read-only,crl-signing' });
  for (const reply of await askAll('kept', own, serial)) refused(reply, 401, UNAUTHORIZED);
});

test('where an issuer may not sign answers its twin does, and nobody when neither may', async () => {
  const own = await newMount('twins');
  const { serial, serial_number } = await issue('twins');
  const key_ref = (await call('GET', 'twins/issuer/default')).textAt('data.key_id');
  const made = await call('POST', 'twins/issuers/generate/root/existing', {
    common_name: 'Root of twins',
    key_ref,
    issuer_name: 'twin',
  });
  assert.equal(made.status, 200, made.text);
  await call('PATCH', 'twins/issuer/default', { usage: 'read-only,issuing-certificates' });
  assert.equal(readOcspVerdict((await ask('twins', own, serial)).bytes), 'good');
  await call('POST', 'twins/revoke', { serial_number });
  assert.equal(typeof readOcspVerdict((await ask('twins', own, serial)).bytes), 'object');
  await call('PATCH', 'twins/issuer/twin', { usage: 'read-only' });
  refused(await ask('twins', own, serial), 401, UNAUTHORIZED);
});

test('with a nonce every answer is signed for its request', async () => {
  const own = await newMount('fresh');
  const nonce = Uint8Array.of(0x04, 4, 1, 2, 3, 4);
  const first = await ask('fresh', own, NEVER_ISSUED, { nonce });
  const second = await ask('fresh', own, NEVER_ISSUED, { nonce });
  assert.equal(readOcspVerdict(first.bytes), 'good');
  assert.notDeepEqual(second.bytes, first.bytes);
});

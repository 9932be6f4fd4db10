/** Who answers OCSP, of what, and for how long: the settings of `config/crl` that say so. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { parsePem } from '../../src/core/pem.ts';
import { type Certificate, isSignedBy, parseCertificate } from '../../src/x509/certificate.ts';
import { children, readDer } from '../../src/x509/der-reader.ts';
import { nameText } from '../../src/x509/names.ts';
import { directoryConstraints, directoryName } from '../support/directory-names.ts';
import { makeAuthority, newKey } from '../support/made-authorities.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import { type Reply, startTestServer } from '../support/server.ts';

let now = Date.now();
const warned: string[] = [];
const log = pino({ level: 'warn' }, { write: (line) => void warned.push(line) });
const { call, url } = await startTestServer({ after }, { now: () => now, jobs: [], log });

const certificateOf = (pem: string): Certificate =>
  parseCertificate(parsePem(pem)[0]?.der ?? new Uint8Array());

async function newMount(mount: string, settings: object, root: object = {}): Promise<Certificate> {
  await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
  const made = await call('POST', `${mount}/root/generate/internal`, {
    common_name: `Root of ${mount}`,
    key_type: 'ec',
    ttl: '700h',
    ...root,
  });
  await call('POST', `${mount}/roles/any`, { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  const set = await call('POST', `${mount}/config/crl`, settings);
  assert.equal(set.status, 200, set.text);
  return certificateOf(made.textAt('data.certificate'));
}

async function issue(mount: string, role = 'any') {
  const issued = await call('POST', `${mount}/issue/${role}`, { common_name: 'a.example' });
  assert.equal(issued.status, 200, issued.text);
  const { serialNumber } = certificateOf(issued.textAt('data.certificate'));
  return { serial: serialNumber, serial_number: issued.textAt('data.serial_number') };
}

const request = (issuer: Certificate, serialNumber: Uint8Array, nonce?: Uint8Array): Uint8Array =>
  encodeOcspRequest({
    issuer: issuer.subject,
    subjectPublicKeyInfo: issuer.subjectPublicKeyInfo,
    serialNumber,
    hash: 'sha1',
    ...(nonce ? { nonce } : {}),
  });
const ask = (mount: string, issuer: Certificate, serial: Uint8Array): Promise<Reply> =>
  call('POST', `${mount}/ocsp`, request(issuer, serial), { token: '' });

/** The certificate that comes with an answer (RFC 6960 §4.2.1). */
function responderOf({ bytes }: Reply): Certificate | undefined {
  const explicit = children(readDer(bytes))[1];
  const inner = explicit && children(explicit)[0];
  const octets = inner && children(inner)[1];
  const certs = octets && children(readDer(octets.content))[3];
  const [list] = certs ? children(certs) : [];
  const [first] = list ? children(list) : [];
  return first && parseCertificate(first.raw);
}

const NEVER_ISSUED = Uint8Array.of(1, 2, 3, 4);

test('a delegated responder has a short certificate of the issuer, for OCSP alone', async () => {
  const ca = await newMount('delegated', { ocsp_delegated_responder: true });
  const { serial, serial_number } = await issue('delegated');
  const answer = await ask('delegated', ca, serial);
  assert.equal(readOcspVerdict(answer.bytes), 'good');
  const responder = responderOf(answer);
  assert.ok(responder);
  assert.ok(isSignedBy(responder, ca.subjectPublicKeyInfo));
  assert.deepEqual(responder.keyUsage, ['DigitalSignature']);
  assert.equal(responder.isCa, false);
  assert.ok(responder.notAfter - now / 1000 <= 7 * 86_400 + 1);
  const noCheck = responder.extensions.find(({ oid }) => oid === '1.3.6.1.5.5.7.48.1.5');
  assert.deepEqual([...(noCheck?.value ?? [])], [5, 0]);
  const usages = responder.extensions.find(({ oid }) => oid === '2.5.29.37');
  assert.equal(Buffer.from(usages?.value ?? []).toString('hex'), '300a06082b06010505070309');
  // It is the same one for the next answer, and a revocation is told at once by it, too.
  await call('POST', 'delegated/revoke', { serial_number });
  const revoked = await ask('delegated', ca, serial);
  assert.equal(typeof readOcspVerdict(revoked.bytes), 'object');
  assert.equal(responderOf(revoked)?.serial, responder.serial);
  // It was not made by anybody's request for a certificate.
  assert.ok(!(await call('LIST', 'delegated/certs')).text.includes(responder.serial));
});

test('an issuer answers by itself unless told otherwise', async () => {
  const ca = await newMount('itself', {});
  assert.equal(responderOf(await ask('itself', ca, NEVER_ISSUED)), undefined);
});

test('a responder renews itself before its certificate ends, and no answer outlives it', async () => {
  const ca = await newMount('renewed', { ocsp_delegated_responder: true, ocsp_expiry: '24h' });
  const first = responderOf(await ask('renewed', ca, NEVER_ISSUED));
  const began = now;
  try {
    now = began + 4 * 86_400_000;
    assert.equal(responderOf(await ask('renewed', ca, NEVER_ISSUED))?.serial, first?.serial);
    now = began + 5 * 86_400_000;
    const serials = new Set<string | undefined>();
    for (let at = 0; at < 100 && serials.size < 2; at++) {
      now += 11_000;
      serials.add(responderOf(await ask('renewed', ca, NEVER_ISSUED))?.serial);
    }
    assert.equal(serials.size, 2, 'another one answers after a moment');
    now = began + 60 * 86_400_000;
    const late = responderOf(await ask('renewed', ca, NEVER_ISSUED));
    assert.equal(late, undefined, 'the issuer has ended, and answers by itself');
  } finally {
    now = began;
  }
});

test('with another issuer under the same path there is another responder', async () => {
  const first = await newMount('changed', { ocsp_delegated_responder: true });
  const before = responderOf(await ask('changed', first, NEVER_ISSUED));
  assert.ok(before && isSignedBy(before, first.subjectPublicKeyInfo));
  await call('DELETE', 'changed/root');
  const made = await call('POST', 'changed/root/generate/internal', {
    common_name: 'Another',
    key_type: 'ec',
  });
  const second = certificateOf(made.textAt('data.certificate'));
  const after = responderOf(await ask('changed', second, NEVER_ISSUED));
  assert.ok(after && isSignedBy(after, second.subjectPublicKeyInfo));
});

test('a responder that turns out to be excluded by an authority above makes room for another', async () => {
  const [key, subKey] = [newKey(), newKey()];
  const sub = makeAuthority('Sub', { by: { name: 'Top', key }, key: subKey });
  await call('POST', 'sys/mounts/excluded', { type: 'pki' });
  const taken = await call('POST', 'excluded/config/ca', { pem_bundle: sub.pem + sub.keyPem });
  const [id] = taken.field('data.imported_issuers') as string[];
  await call('POST', 'excluded/config/crl', { ocsp_delegated_responder: true });
  const own = `OCSP Responder ${id}`;
  const nameOf = async (): Promise<string> => {
    const responder = responderOf(await ask('excluded', sub.certificate, NEVER_ISSUED));
    return responder ? nameText(responder.subjectName) : 'itself';
  };
  assert.equal(await nameOf(), `CN=${own},CN=Sub`);
  const above = async (...excluded: Uint8Array[]): Promise<void> => {
    const extensions = [directoryConstraints([], excluded)];
    const { pem } = makeAuthority('Top', { key, extensions });
    const reply = await call('POST', 'excluded/issuers/import/cert', { pem_bundle: pem });
    assert.equal(reply.status, 200, reply.text);
  };
  await above(directoryName([['CN', 'Sub']], [['CN', `${own} `]], [['CN', 'more']]));
  assert.equal(await nameOf(), `CN=${own},CN=Sub`, 'what is beneath it is excluded');
  const issuers = (await call('LIST', 'excluded/issuers')).field('data.keys') as string[];
  for (const other of issuers) if (other !== id) await call('DELETE', `excluded/issuer/${other}`);
  await above(directoryName([['CN', 'Sub']], [['CN', `${own.toUpperCase()} `]]));
  assert.equal(await nameOf(), `CN=${own}`);
});

test('that an issuer answers by itself since no responder would be taken is logged once, until it changes', async () => {
  const every = directoryConstraints([], [directoryName()]);
  const plain = directoryConstraints([], [directoryName([['O', 'Other']])]);
  const told = () => warned.filter((line) => line.includes('no responder')).length;
  for (const [mount, extension, expected] of [
    ['barred', every, 1],
    ['allowed', plain, 0],
  ] as const) {
    const authority = makeAuthority('Constrained', { extensions: [extension] });
    await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
    const pem_bundle = authority.pem + authority.keyPem;
    const taken = await call('POST', `${mount}/config/ca`, { pem_bundle });
    const [id = ''] = taken.field('data.imported_issuers') as string[];
    await call('POST', `${mount}/config/crl`, { ocsp_delegated_responder: false });
    const before = told();
    await ask(mount, authority.certificate, NEVER_ISSUED);
    assert.equal(told(), before, 'nobody asked for a responder');
    await call('POST', `${mount}/config/crl`, { ocsp_delegated_responder: true });
    for (const serial of [NEVER_ISSUED, Uint8Array.of(7), Uint8Array.of(8)]) {
      const answer = await ask(mount, authority.certificate, serial);
      assert.equal(responderOf(answer) === undefined, expected === 1);
    }
    assert.equal(told() - before, expected);
    assert.ok(expected === 0 || warned.at(-1)?.includes(id));
  }
});

test('an authority whose certificate lets it sign no others answers by itself', async () => {
  for (const [mount, usage, isDelegated] of [
    ['lists', ['CRLSign', 'DigitalSignature'], false],
    ['issuing', ['CertSign', 'CRLSign'], true],
  ] as const) {
    const authority = makeAuthority('No issuer', { usage });
    await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
    await call('POST', `${mount}/config/ca`, { pem_bundle: authority.pem + authority.keyPem });
    await call('POST', `${mount}/config/crl`, { ocsp_delegated_responder: true });
    const answer = await ask(mount, authority.certificate, NEVER_ISSUED);
    assert.equal(readOcspVerdict(answer.bytes), 'good');
    assert.equal(responderOf(answer) !== undefined, isDelegated);
  }
});

test('what was never issued is unknown where the mount says so, and what was is good', async () => {
  const ca = await newMount('strict', { ocsp_unissued_status: 'unknown' });
  const { serial, serial_number } = await issue('strict');
  assert.equal(readOcspVerdict((await ask('strict', ca, serial)).bytes), 'good');
  assert.equal(readOcspVerdict((await ask('strict', ca, NEVER_ISSUED)).bytes), 'unknown');
  assert.equal(readOcspVerdict((await ask('strict', ca, ca.serialNumber)).bytes), 'good');
  await call('POST', 'strict/revoke', { serial_number });
  assert.equal(typeof readOcspVerdict((await ask('strict', ca, serial)).bytes), 'object');
  // Of a certificate that is kept nowhere nothing is known.
  await call('POST', 'strict/roles/unstored', {
    allow_any_name: true,
    key_type: 'ec',
    no_store: true,
    ttl: '1h',
  });
  const unstored = await issue('strict', 'unstored');
  assert.equal(readOcspVerdict((await ask('strict', ca, unstored.serial)).bytes), 'unknown');
  await call('POST', 'strict/config/crl', { ocsp_unissued_status: 'good' });
  assert.equal(readOcspVerdict((await ask('strict', ca, NEVER_ISSUED)).bytes), 'good');
});

test('a word that is no status is refused by its name', async () => {
  const refused = await call('POST', 'strict/config/crl', { ocsp_unissued_status: 'revoked' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /ocsp_unissued_status/);
});

const get = (mount: string, der: Uint8Array): Promise<Response> =>
  fetch(`${url}/v1/${mount}/ocsp/${encodeURIComponent(Buffer.from(der).toString('base64'))}`);

test('an answer to a GET may be kept on its way until its nextUpdate', async () => {
  const ca = await newMount('cached', { ocsp_expiry: '1h' });
  const answer = await get('cached', request(ca, NEVER_ISSUED));
  const seconds = Math.floor(now / 1000);
  const date = (at: number): string => new Date(at * 1000).toUTCString();
  assert.deepEqual(
    ['cache-control', 'last-modified', 'expires'].map((name) => answer.headers.get(name)),
    ['max-age=3600, public, no-transform, must-revalidate', date(seconds), date(seconds + 3600)],
  );
  const tag = answer.headers.get('etag');
  assert.match(tag ?? '', /^"[\w-]{43}"$/);
  assert.equal((await get('cached', request(ca, NEVER_ISSUED))).headers.get('etag'), tag);
});

const UNKEPT: [why: string, ask: (ca: Certificate) => Promise<Response>][] = [
  ['a nonce', (ca) => get('unkept', request(ca, NEVER_ISSUED, Uint8Array.of(4, 4, 1, 2, 3, 4)))],
  [
    'a POST',
    (ca) =>
      fetch(`${url}/v1/unkept/ocsp`, {
        method: 'POST',
        body: Buffer.from(request(ca, NEVER_ISSUED)),
      }),
  ],
  ['a malformed request', () => get('unkept', Uint8Array.of(1, 2, 3))],
];
const unkept = await newMount('unkept', {});
for (const [why, asking] of UNKEPT) {
  test(`${why} is answered for nobody else`, async () => {
    const answer = await asking(unkept);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(answer.headers.get('etag'), null);
  });
}

test('an answer without nextUpdate is for nobody else', async () => {
  const ca = await newMount('endless', { ocsp_expiry: '0' });
  const answer = await get('endless', request(ca, NEVER_ISSUED));
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
});

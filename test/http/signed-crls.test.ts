/** CRLs that are signed as they are asked for. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { type Crl, isCrlSignedBy, parseCrl } from '../support/crl.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

type Fields = Record<string, unknown>;

const { call, running } = await startTestServer({ after });
let ca: ReturnType<typeof parseCertificate>;
before(async () => {
  for (const mount of ['pki', 'other']) {
    await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
    const root = { common_name: 'R', key_type: 'ec', issuer_name: 'first' };
    const made = await call('POST', `${mount}/root/generate/internal`, root);
    if (mount === 'pki') ca = parseCertificate(derOf(made.textAt('data.certificate')));
  }
});

const derOf = (pem: string): Uint8Array => parsePem(pem)[0]?.der ?? new Uint8Array();

const sign = (fields: Fields, mount = 'pki'): Promise<Reply> =>
  call('POST', `${mount}/issuer/first/sign-revocation-list`, { crl_number: 1, ...fields });
const resign = (fields: Fields): Promise<Reply> =>
  call('POST', 'pki/issuer/first/resign-crls', { crl_number: 9, ...fields });

/** The CRL of an answer, which the issuer has signed. */
function crlOf(answer: Reply): Crl {
  assert.equal(answer.status, 200, answer.text);
  const crl = parseCrl(derOf(answer.textAt('data.crl')));
  assert.ok(isCrlSignedBy(crl, ca.subjectPublicKeyInfo));
  return crl;
}

const entriesOf = (crl: Crl): [string, number][] =>
  [...crl.entries()].map(({ serialNumber, revocationTime }) => [
    formatSerial(serialNumber),
    revocationTime,
  ]);

test('a list is signed with the entries that are named, whatever they are called', async () => {
  const spellings = ['0a:0b', '0c.0d', '0e-0f', '1a 1b', 'ff01'];
  const revoked_certs = spellings.map((serial_number, at) => ({
    serial_number,
    revocation_time: at === 0 ? '2030-01-31T12:00:00Z' : 1_700_000_000 + at,
  }));
  const crl = crlOf(await sign({ crl_number: 7, revoked_certs, next_update: '1h' }));
  assert.deepEqual(entriesOf(crl), [
    ['0a:0b', Date.parse('2030-01-31T12:00:00Z') / 1000],
    ['0c:0d', 1_700_000_001],
    ['0e:0f', 1_700_000_002],
    ['1a:1b', 1_700_000_003],
    ['ff:01', 1_700_000_004],
  ]);
  assert.equal(crl.crlNumber, 7n);
  assert.equal(crl.deltaBase, undefined);
  assert.equal((crl.nextUpdate ?? 0) - crl.thisUpdate, 3600);
  const asText = JSON.stringify(revoked_certs);
  assert.deepEqual(entriesOf(crlOf(await sign({ revoked_certs: asText }))), entriesOf(crl));
});

test('extensions of entries and of the list are as they were sent', async () => {
  const extension = { id: '2.5.29.24', critical: 'true', value: 'BQA=' };
  const revoked_certs = [{ serial_number: '01', revocation_time: 1, extensions: [extension] }];
  const extensions = [{ id: '1.2.3.4', value: 'aGVsbG8=' }];
  const crl = crlOf(await sign({ revoked_certs, extensions }));
  const [entry] = crl.entries();
  assert.deepEqual(
    entry?.extensions?.map(({ oid, critical }) => [oid, critical]),
    [['2.5.29.24', true]],
  );
  const own = crl.extensions.find(({ oid }) => oid === '1.2.3.4');
  assert.equal(Buffer.from(own?.value ?? []).toString(), 'hello');
});

test('a base number of 0 or more makes a delta; as DER the list is base64; and nothing is stored', async () => {
  const before = (await call('GET', 'pki/crl')).bytes;
  const answer = await sign({ delta_crl_base_number: 0, format: 'der' });
  const crl = parseCrl(Buffer.from(answer.textAt('data.crl'), 'base64'));
  assert.equal(crl.deltaBase, 0n);
  const pem = await sign({});
  assert.ok(pem.textAt('data.crl').endsWith('-----END X509 CRL-----\n'));
  assert.deepEqual((await call('GET', 'pki/crl')).bytes, before);
  assert.equal((await call('LIST', 'pki/certs/revoked')).status, 404);
});

const entry = { serial_number: '01', revocation_time: 1 };
const refused: [why: string, fields: Fields, says: RegExp][] = [
  ['a negative number', { crl_number: -1 }, /crl_number/],
  ['no number', { crl_number: undefined }, /crl_number/],
  ['a base below -1', { delta_crl_base_number: -2 }, /delta_crl_base_number/],
  ['no time', { next_update: '0' }, /next_update/],
  ['a negative time', { next_update: '-1h' }, /next_update/],
  ['no duration', { next_update: 'soon' }, /next_update/],
  ['another format', { format: 'p7b' }, /format/],
];
test('numbers and times that cannot be are refused by both', async () => {
  for (const [why, fields, says] of refused) {
    for (const ask of [sign, resign]) {
      const answer = await ask({ crls: [], ...fields });
      assert.equal(answer.status, 400, `${why}: ${answer.text}`);
      assert.match(answer.text, says, why);
    }
  }
});

const extensionOf = (id: string, more: Fields = {}) => ({ id, value: 'BQA=', ...more });
const refusedEntries: [why: string, fields: Fields, says: RegExp][] = [
  ['the number of the list', { extensions: [extensionOf('2.5.29.20')] }, /is reserved/],
  ['the key of the issuer', { extensions: [extensionOf('2.5.29.35')] }, /is reserved/],
  ['what makes it a delta', { extensions: [extensionOf('2.5.29.27')] }, /is reserved/],
  ['one twice', { extensions: [extensionOf('1.2.3'), extensionOf('1.2.3')] }, /twice/],
  ['no OID', { extensions: [extensionOf('1.2.x')] }, /object identifier/],
  ['an OID that cannot be', { extensions: [extensionOf('1.40.1')] }, /object identifier/],
  ['no base64', { extensions: [extensionOf('1.2.3', { value: '*' })] }, /base64/],
  ['no flag', { extensions: [extensionOf('1.2.3', { critical: 'maybe' })] }, /critical/],
  ['a serial twice', { revoked_certs: [entry, { ...entry, serial_number: '0001' }] }, /twice/],
  ['no serial', { revoked_certs: [{ revocation_time: 1 }] }, /serial_number/],
  [
    'a serial that is none',
    { revoked_certs: [{ ...entry, serial_number: 'xy' }] },
    /serial_number/,
  ],
  ['no time', { revoked_certs: [{ serial_number: '01' }] }, /revocation_time/],
  [
    'a time that is none',
    { revoked_certs: [{ ...entry, revocation_time: 'x' }] },
    /revocation_time/,
  ],
  ['a time too late', { revoked_certs: [{ ...entry, revocation_time: 1e12 }] }, /revocation_time/],
  ['no list', { revoked_certs: 'x' }, /revoked_certs/],
  ['no maps', { revoked_certs: ['x'] }, /revoked_certs/],
  [
    'an extension of an entry twice',
    { revoked_certs: [{ ...entry, extensions: [extensionOf('1.2.3'), extensionOf('1.2.3')] }] },
    /twice/,
  ],
];
test('entries and extensions that cannot be are refused', async () => {
  for (const [why, fields, says] of refusedEntries) {
    const answer = await sign(fields);
    assert.equal(answer.status, 400, `${why}: ${answer.text}`);
    assert.match(answer.text, says, why);
  }
});

const many = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    serial_number: `01${at.toString(16).padStart(6, '0')}`,
    revocation_time: at,
  }));

/** What the last record says that its request came to. */
async function lastOutcome(): Promise<Record<string, unknown>> {
  await writeRecords(running);
  const rows = await listRecordsAfter(running.app.db, { node: 'local', seq: 0, limit: 10_000 });
  return JSON.parse(rows.at(-1)?.record ?? '{}').response;
}

test('a list has as many entries as are declared, and its record says how many', async () => {
  for (const [revoked_certs, count] of [
    [JSON.stringify(many(5000)), 5000],
    [many(4990), 4990],
    [[], 0],
  ] as const) {
    const crl = crlOf(await sign({ revoked_certs }));
    assert.equal([...crl.entries()].length, count);
    assert.equal((await lastOutcome()).entries, count);
  }
  const refused = await sign({ revoked_certs: JSON.stringify(many(5001)) });
  assert.equal(refused.status, 400, refused.text);
  const empty = await sign({ revoked_certs: Array.from({ length: 5001 }, () => ({})) });
  assert.match(empty.text, /at most 5,000 maps/);
  const one = await sign({ revoked_certs: many(3) });
  crlOf(await resign({ crls: one.textAt('data.crl') }));
  assert.equal((await lastOutcome()).entries, 3);
});

test('several lists become one: the earliest time of each serial number, without their extensions', async () => {
  const extensions = [extensionOf('1.2.3')];
  const early = await sign({
    revoked_certs: [
      { ...entry, revocation_time: 100, extensions },
      { serial_number: '02', revocation_time: 50 },
    ],
    extensions,
  });
  const late = await sign({
    revoked_certs: [
      { serial_number: '02', revocation_time: 70 },
      { serial_number: '03', revocation_time: 1 },
    ],
  });
  const texts = [early.textAt('data.crl'), late.textAt('data.crl')];
  for (const crls of [texts, [...texts].reverse(), texts.join('')]) {
    const answer = await resign({ crls, delta_crl_base_number: 3 });
    const crl = crlOf(answer);
    assert.deepEqual(entriesOf(crl).sort(), [
      ['01', 100],
      ['02', 50],
      ['03', 1],
    ]);
    assert.equal(crl.crlNumber, 9n);
    assert.equal(crl.deltaBase, 3n);
    assert.equal(
      [...crl.entries()].some((one) => one.extensions),
      false,
    );
    assert.equal(crl.extensions.length, 3);
    assert.match(answer.text, /Duplicate serial/);
  }
  const alike = await resign({ crls: [texts[0], texts[0]] });
  assert.equal(alike.field('warnings'), null);
});

test('an entry that takes another one back is left out, which a warning says', async () => {
  const back = { id: '2.5.29.21', value: 'CgEI' };
  const list = await sign({ revoked_certs: [{ ...entry, extensions: [back] }] });
  const answer = await resign({ crls: [list.textAt('data.crl')] });
  assert.deepEqual(entriesOf(crlOf(answer)), []);
  assert.match(answer.text, /removeFromCRL/);
});

test('a list that somebody else has signed is named by its place', async () => {
  const own = (await sign({})).textAt('data.crl');
  const others = (await sign({}, 'other')).textAt('data.crl');
  const cases: [crls: unknown, says: RegExp][] = [
    [[own, others], /CRL index: 1 was not signed by requested issuer/],
    [[others], /CRL index: 0 was not signed by requested issuer/],
    [['x'], /CRL index: 0 has no PEM data/],
    [[own.replaceAll('X509 CRL', 'CERTIFICATE')], /CRL index: 0/],
    [[own.replace('\nMI', '\nAA')], /CRL index: 0 could not be parsed/],
    [[], /at least one CRL/],
    [{}, /crls/],
  ];
  for (const [crls, says] of cases) {
    const answer = await resign({ crls });
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, says);
  }
});

test('an issuer that may not sign CRLs, or is unknown, signs none', async () => {
  const crl = (await sign({}, 'other')).textAt('data.crl');
  await call('PATCH', 'other/issuer/first', { usage: 'read-only,issuing-certificates' });
  for (const path of ['sign-revocation-list', 'resign-crls']) {
    const body = { crl_number: 1, crls: [crl] };
    const answer = await call('POST', `other/issuer/first/${path}`, body);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /crl-signing/);
    assert.equal((await call('POST', `other/issuer/nobody/${path}`, body)).status, 500);
    const stranger = await call('POST', `other/issuer/first/${path}`, body, { token: '' });
    assert.equal(stranger.status, 403);
  }
});

test('an issuer whose signatures are long signs such lists as well', async () => {
  for (const key_type of ['mldsa', 'slhdsa-sha2-f']) {
    const made = await call('POST', 'pki/root/generate/internal', { common_name: 'PQ', key_type });
    const { subjectPublicKeyInfo } = parseCertificate(derOf(made.textAt('data.certificate')));
    const issuer = `pki/issuer/${made.textAt('data.issuer_id')}`;
    const revoked_certs = [{ serial_number: '01:02', revocation_time: 1_700_000_000 }];
    const body = { crl_number: 1, revoked_certs };
    const signed = await call('POST', `${issuer}/sign-revocation-list`, body);
    assert.equal(signed.status, 200, signed.text);
    const crls = [signed.textAt('data.crl')];
    const again = await call('POST', `${issuer}/resign-crls`, { crl_number: 2, crls });
    assert.equal(again.status, 200, again.text);
    const crl = parseCrl(derOf(again.textAt('data.crl')));
    assert.ok(isCrlSignedBy(crl, subjectPublicKeyInfo));
    assert.deepEqual(entriesOf(crl), [['01:02', 1_700_000_000]]);
  }
});

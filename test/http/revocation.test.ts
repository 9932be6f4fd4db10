/** Revocation and CRLs, asked of a server. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { type Crl, isCrlSignedBy, parseCrl } from '../support/crl.ts';
import { type Reply, startTestServer } from '../support/server.ts';

let ahead_ms = 0;
const { call } = await startTestServer({ after }, { now: () => Date.now() + ahead_ms });

type Fields = Record<string, unknown>;

let mounts = 0;
/** A mount of its own with a root, and a role that lets everything in. */
async function newMount(root: Fields | undefined = {}): Promise<string> {
  const mount = `ca${++mounts}`;
  await call('POST', `sys/mounts/${mount}`, { type: 'pki', config: { max_lease_ttl: '87600h' } });
  if (root) await newRoot(mount, root);
  const role = { allow_any_name: true, key_type: 'ec', max_ttl: '720h' };
  await call('POST', `${mount}/roles/any`, role);
  return mount;
}

async function newRoot(mount: string, fields: Fields): Promise<Reply> {
  const body = { common_name: 'R', key_type: 'ec', ttl: '8760h', ...fields };
  const answer = await call('POST', `${mount}/root/generate/internal`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

async function issue(mount: string, fields: Fields = {}): Promise<Reply> {
  const answer = await call('POST', `${mount}/issue/any`, { common_name: 'a.example', ...fields });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

const serialOf = (issued: Reply): string => issued.textAt('data.serial_number');

async function readList(mount: string, path = 'crl'): Promise<Crl> {
  const answer = await call('GET', `${mount}/${path}`, undefined, { token: '' });
  assert.equal(answer.status, 200, answer.text);
  return parseCrl(answer.bytes);
}

const serialsOf = (crl: Crl): string[] =>
  [...crl.entries()].map(({ serialNumber }) => formatSerial(serialNumber));

const revoke = (mount: string, body: Fields): Promise<Reply> =>
  call('POST', `${mount}/revoke`, body);

test('a revoked certificate is on the CRL at once, without a reason', async () => {
  const mount = await newMount();
  assert.deepEqual(serialsOf(await readList(mount)), []);
  const serial_number = serialOf(await issue(mount));
  const answer = await revoke(mount, { serial_number });
  const [entry] = (await readList(mount)).entries();
  assert.equal(entry && formatSerial(entry.serialNumber), serial_number);
  assert.equal(entry?.revocationTime, answer.field('data.revocation_time'));
  assert.equal(entry?.reason, undefined);
  assert.equal(answer.field('data.state'), 'revoked');
});

test('the CRL is the same in every form and under every address', async () => {
  const mount = await newMount();
  await revoke(mount, { serial_number: serialOf(await issue(mount)) });
  const der = Buffer.from((await readList(mount)).raw);
  for (const path of ['cert/crl/raw', 'issuer/default/crl/der']) {
    assert.deepEqual(Buffer.from((await readList(mount, path)).raw), der, path);
  }
  const types: [path: string, type: string][] = [
    ['crl', 'application/pkix-crl'],
    ['crl/pem', 'application/x-pem-file'],
    ['cert/crl/raw/pem', 'application/x-pem-file'],
    ['issuer/default/crl/pem', 'application/x-pem-file'],
    ['issuer/default/crl', 'application/json'],
    ['cert/crl', 'application/json'],
  ];
  for (const [path, type] of types) {
    const answer = await call('GET', `${mount}/${path}`, undefined, { token: '' });
    assert.equal(answer.headers.get('content-type'), type, path);
    assert.equal(Number(answer.headers.get('content-length')), answer.bytes.length, path);
    const text = answer.textAt('data.crl') || answer.textAt('data.certificate') || answer.text;
    if (path !== 'crl') assert.deepEqual(Buffer.from(parsePem(text)[0]?.der ?? []), der, path);
    const head = await call('HEAD', `${mount}/${path}`, undefined, { token: '' });
    assert.equal(head.status, 200, path);
  }
  const pem = await call('GET', `${mount}/crl/pem`, undefined, { token: '' });
  assert.ok(pem.text.endsWith('-----END X509 CRL-----'));
  const json = await call('GET', `${mount}/issuer/default/crl`, undefined, { token: '' });
  assert.ok(json.textAt('data.crl').endsWith('-----END X509 CRL-----\n'));
});

test('with auto_rebuild a revocation waits for the next CRL, and the CRL is renewed in its grace period', async () => {
  const mount = await newMount();
  await call('POST', `${mount}/config/crl`, { auto_rebuild: true });
  assert.deepEqual(serialsOf(await readList(mount)), []);
  const serial_number = serialOf(await issue(mount, { ttl: '700h' }));
  await revoke(mount, { serial_number });
  assert.deepEqual(serialsOf(await readList(mount)), []);
  ahead_ms += 59 * 3_600_000;
  assert.deepEqual(serialsOf(await readList(mount)), []);
  ahead_ms += 2 * 3_600_000;
  assert.deepEqual(serialsOf(await readList(mount)), [serial_number]);
  const second = serialOf(await issue(mount));
  await revoke(mount, { serial_number: second });
  assert.equal((await call('GET', `${mount}/crl/rotate`)).field('data.success'), true);
  assert.equal(serialsOf(await readList(mount)).length, 2);
});

test('revoked twice, a certificate keeps its first time; any spelling of the serial number is the same', async () => {
  const mount = await newMount();
  const issued = await issue(mount);
  const serial = serialOf(issued);
  const first = await revoke(mount, { serial_number: serial });
  ahead_ms += 5000;
  const again = [
    { serial_number: serial },
    { serial_number: serial.toUpperCase().replaceAll(':', '-') },
    { certificate: issued.textAt('data.certificate') },
  ];
  for (const body of again) {
    const answer = await revoke(mount, body);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.field('data'), first.field('data'));
  }
  assert.equal(serialsOf(await readList(mount)).length, 1);
});

test('which certificate is meant is said once: neither nothing, nor twice, nor by nothing known', async () => {
  const mount = await newMount();
  const issued = await issue(mount);
  const serial_number = serialOf(issued);
  const certificate = issued.textAt('data.certificate');
  const other = (await issue(await newMount())).textAt('data.certificate');
  const key = issued.textAt('data.private_key');
  const bodies: [why: string, path: string, body: Fields, says: RegExp][] = [
    ['nothing', 'revoke', {}, /serial number or certificate to revoke must be provided/],
    ['both', 'revoke', { serial_number, certificate }, /not both/],
    ['an empty serial', 'revoke', { serial_number: '' }, /serial number must be provided/],
    [
      'an unknown serial',
      'revoke',
      { serial_number: '01:02' },
      /certificate with serial 01:02 not found/,
    ],
    ['no serial', 'revoke', { serial_number: 'no' }, /serial/],
    ['a path', 'revoke', { certificate: './cert.pem' }, /too short|path/],
    ['no PEM', 'revoke', { certificate: 'x'.repeat(100) }, /PEM/],
    ['of another CA', 'revoke', { certificate: other }, /unable to verify signature/],
    ['no key', 'revoke-with-key', { serial_number }, /private_key/],
    ['a short key', 'revoke-with-key', { serial_number, private_key: 'x' }, /private_key/],
    [
      'both, with a key',
      'revoke-with-key',
      { serial_number, certificate, private_key: key },
      /not both/,
    ],
  ];
  for (const [why, path, body, says] of bodies) {
    const answer = await call('POST', `${mount}/${path}`, body);
    assert.equal(answer.status, 400, `${why}: ${answer.text}`);
    assert.match(answer.text, says, why);
  }
  assert.deepEqual(serialsOf(await readList(mount)), []);
});

test('an issuer does not put itself on its own CRL, by serial number or by certificate', async () => {
  const mount = await newMount();
  const ca = await call('GET', `${mount}/cert/ca`);
  const certificate = ca.textAt('data.certificate');
  const { serial } = parseCertificate(parsePem(certificate)[0]?.der ?? new Uint8Array());
  for (const body of [{ serial_number: serial }, { certificate }]) {
    const answer = await revoke(mount, body);
    assert.equal(answer.status, 400);
    assert.match(answer.text, /adding issuer \(id: .*\) to its own CRL is not allowed/);
  }
});

test('an expired certificate is not revoked, which a warning says; one that ends later is', async () => {
  const mount = await newMount();
  const expired = serialOf(await issue(mount, { ttl: '60s' }));
  const valid = serialOf(await issue(mount, { ttl: '120s' }));
  ahead_ms += 60_000;
  const answer = await revoke(mount, { serial_number: expired });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.field('data'), null);
  assert.match(answer.text, /already expired; refusing to add to CRL/);
  assert.equal((await revoke(mount, { serial_number: valid })).field('data.state'), 'revoked');
  assert.deepEqual(serialsOf(await readList(mount)), [valid]);
  const read = await call('GET', `${mount}/cert/${expired}`);
  assert.equal(read.field('data.revocation_time'), 0);
});

test('whoever has the key may revoke, by serial number or certificate; another key may not', async () => {
  const mount = await newMount();
  for (const by of ['serial_number', 'certificate']) {
    const issued = await issue(mount);
    const other = await issue(mount);
    const body = { [by]: issued.textAt(`data.${by}`) };
    const private_key = issued.textAt('data.private_key');
    const wrong = { ...body, private_key: other.textAt('data.private_key') };
    assert.equal((await call('POST', `${mount}/revoke-with-key`, wrong)).status, 400);
    const garbled = { ...body, private_key: private_key.replaceAll('M', 'N') };
    assert.equal((await call('POST', `${mount}/revoke-with-key`, garbled)).status, 400);
    const right = await call('POST', `${mount}/revoke-with-key`, { ...body, private_key });
    assert.equal(right.field('data.state'), 'revoked', right.text);
  }
  assert.equal(serialsOf(await readList(mount)).length, 2);
});

const refusedSettings: [why: string, body: Fields, says: RegExp][] = [
  [
    'grace as long as expiry',
    { auto_rebuild: true, auto_rebuild_grace_period: '72h' },
    /strictly shorter than CRL expiry/,
  ],
  ['a negative ocsp_expiry', { ocsp_expiry: '-1' }, /greater than or equal to 0/],
  ['deltas without auto_rebuild', { enable_delta: true }, /auto rebuilding is disabled/],
  [
    'interval as long as expiry',
    { auto_rebuild: true, enable_delta: true, delta_rebuild_interval: '72h' },
    /strictly shorter than CRL expiry/,
  ],
  ['an interval of nothing', { delta_rebuild_interval: '0s' }, /must be at least one second/],
  ['a negative interval', { delta_rebuild_interval: '-1s' }, /must be at least one second/],
  ['a negative grace', { auto_rebuild_grace_period: '-1s' }, /must not be negative/],
  ['no duration', { expiry: 'not a duration' }, /given expiry could not be decoded/],
  ['a unified CRL without auto_rebuild', { unified_crl: true }, /auto rebuilding is disabled/],
  [
    'other clusters without auto_rebuild',
    { cross_cluster_revocation: true },
    /auto rebuilding is disabled/,
  ],
  [
    'a unified CRL on existing paths alone',
    { auto_rebuild: true, unified_crl_on_existing_paths: true },
    /without first enabling unified_crl/,
  ],
];
test('settings that cannot be are refused and change nothing', async () => {
  const mount = await newMount();
  const before = (await call('GET', `${mount}/config/crl`)).field('data');
  for (const [why, body, says] of refusedSettings) {
    const answer = await call('POST', `${mount}/config/crl`, { ...body, disable: true });
    assert.equal(answer.status, 400, `${why}: ${answer.text}`);
    assert.match(answer.text, says, why);
  }
  assert.deepEqual((await call('GET', `${mount}/config/crl`)).field('data'), before);
  const least = { auto_rebuild_grace_period: '0s', delta_rebuild_interval: '1s' };
  assert.equal((await call('POST', `${mount}/config/crl`, least)).status, 200);
  const nearest = { auto_rebuild: true, auto_rebuild_grace_period: '71h59m', ocsp_expiry: '0' };
  const accepted = await call('POST', `${mount}/config/crl`, nearest);
  assert.equal(accepted.status, 200, accepted.text);
  assert.equal(accepted.field('data.auto_rebuild_grace_period'), '71h59m');
});

test('a disabled CRL is empty and signed; turned on again it has what was revoked meanwhile', async () => {
  const mount = await newMount();
  await revoke(mount, { serial_number: serialOf(await issue(mount)) });
  assert.equal(serialsOf(await readList(mount)).length, 1);
  await call('POST', `${mount}/config/crl`, { disable: true });
  const empty = await readList(mount);
  assert.deepEqual(serialsOf(empty), []);
  const [ca] = parsePem((await call('GET', `${mount}/ca/pem`)).text);
  const { subjectPublicKeyInfo } = parseCertificate(ca?.der ?? new Uint8Array());
  assert.ok(isCrlSignedBy(empty, subjectPublicKeyInfo));
  await revoke(mount, { serial_number: serialOf(await issue(mount)) });
  assert.deepEqual((await readList(mount)).crlNumber, empty.crlNumber);
  await call('POST', `${mount}/config/crl`, { disable: false });
  assert.equal(serialsOf(await readList(mount)).length, 2);
});

test('the number grows with every CRL, under every setting', async () => {
  const mount = await newMount();
  const numbers: bigint[] = [];
  const note = async (): Promise<void> => {
    numbers.push((await readList(mount)).crlNumber ?? 0n);
  };
  await note();
  for (const step of ['rotate', 'rotate', 'revoke', 'disable', 'enable', 'rotate']) {
    if (step === 'rotate') await call('GET', `${mount}/crl/rotate`);
    else if (step === 'revoke')
      await revoke(mount, { serial_number: serialOf(await issue(mount)) });
    else await call('POST', `${mount}/config/crl`, { disable: step === 'disable' });
    await note();
  }
  for (let at = 1; at < numbers.length; at++) {
    assert.ok((numbers[at] ?? 0n) > (numbers[at - 1] ?? 0n), numbers.join());
  }
});

test('issuers with one name and key have one CRL, signed by whichever may', async () => {
  const mount = await newMount({ issuer_name: 'a' });
  const key = await call('GET', `${mount}/issuer/a`);
  const twin = await call('POST', `${mount}/issuers/generate/root/existing`, {
    common_name: 'R',
    key_ref: key.textAt('data.key_id'),
    issuer_name: 'b',
  });
  assert.equal(twin.status, 200, twin.text);
  await newRoot(mount, { common_name: 'Other', issuer_name: 'c' });
  const serial_number = serialOf(await issue(mount));
  await revoke(mount, { serial_number });
  const [a, b, c] = [
    await readList(mount, 'issuer/a/crl/der'),
    await readList(mount, 'issuer/b/crl/der'),
    await readList(mount, 'issuer/c/crl/der'),
  ];
  assert.deepEqual(Buffer.from(a.raw), Buffer.from(b.raw));
  assert.deepEqual(serialsOf(a), [serial_number]);
  assert.deepEqual(serialsOf(c), []);
  await call('PATCH', `${mount}/issuer/a`, { usage: 'read-only,issuing-certificates' });
  await revoke(mount, { serial_number: serialOf(await issue(mount)) });
  const still = await readList(mount, 'issuer/a/crl/der');
  assert.equal(serialsOf(still).length, 2);
  const pem = twin.textAt('data.certificate');
  const { subjectPublicKeyInfo } = parseCertificate(parsePem(pem)[0]?.der ?? new Uint8Array());
  assert.ok(isCrlSignedBy(still, subjectPublicKeyInfo));
  await call('PATCH', `${mount}/issuer/b`, { usage: 'read-only' });
  await revoke(mount, { serial_number: serialOf(await issue(mount)) });
  const old = await readList(mount, 'issuer/b/crl/der');
  assert.deepEqual(
    Buffer.from(old.raw),
    Buffer.from(still.raw),
    'nobody may sign: the old CRL stays',
  );
  const rotated = await call('GET', `${mount}/crl/rotate`);
  assert.equal(rotated.field('data.success'), true);
  assert.match(rotated.text, /lacked an issuer with CRL Signing KeyUsage/);
});

test('a mount without an issuer has no CRL', async () => {
  const mount = await newMount(undefined);
  assert.ok(mount);
  await call('POST', 'sys/mounts/bare', { type: 'pki' });
  for (const path of ['crl', 'crl/pem', 'cert/crl/raw', 'cert/crl/raw/pem']) {
    const answer = await call('GET', `bare/${path}`, undefined, { token: '' });
    assert.equal(answer.status, 204, path);
    assert.equal(answer.text, '');
  }
  assert.equal((await call('GET', 'bare/cert/crl')).status, 500);
  assert.equal((await call('GET', 'bare/issuer/default/crl')).status, 500);
  assert.equal((await call('LIST', 'bare/certs/revoked')).status, 404);
});

test('max_crl_entries is 100000, or what was set; 0 and less than -1 stand for the default', async () => {
  const mount = await newMount();
  const settings: [set: number, kept: number][] = [
    [-1, -1],
    [7, 7],
    [0, 100_000],
    [-2, 100_000],
  ];
  assert.equal((await call('GET', `${mount}/config/crl`)).field('data.max_crl_entries'), 100_000);
  for (const [max_crl_entries, kept] of settings) {
    const answer = await call('POST', `${mount}/config/crl`, { max_crl_entries });
    assert.equal(answer.field('data.max_crl_entries'), kept);
  }
});

test('beyond max_crl_entries the last CRL stays in force, and the revocation stands, with a warning', async () => {
  const mount = await newMount();
  await call('POST', `${mount}/config/crl`, { max_crl_entries: 1 });
  await revoke(mount, { serial_number: serialOf(await issue(mount)) });
  const last = await readList(mount);
  assert.equal(serialsOf(last).length, 1);
  const serial_number = serialOf(await issue(mount));
  for (const _ of ['first', 'again']) {
    const answer = await revoke(mount, { serial_number });
    assert.equal(answer.field('data.state'), 'revoked');
    assert.match(answer.text, /more than max_crl_entries \(1\) entries, and the last one stays/);
  }
  assert.deepEqual((await readList(mount)).raw, last.raw);
  const refused = await call('GET', `${mount}/crl/rotate`);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /max_crl_entries \(1\)/);
  const metrics = await call('GET', 'sys/metrics?format=prometheus');
  assert.match(metrics.text, /gatehouse_crls_too_long 1\n/);
  await call('POST', `${mount}/config/crl`, { max_crl_entries: 2 });
  assert.equal(serialsOf(await readList(mount)).length, 2);
  const healed = await call('GET', 'sys/metrics?format=prometheus');
  assert.match(healed.text, /gatehouse_crls_too_long 0\n/);
});

test('with auto_rebuild whoever revokes too many is warned before the CRL is built', async () => {
  const mount = await newMount();
  await call('POST', `${mount}/config/crl`, { max_crl_entries: 2, auto_rebuild: true });
  await readList(mount);
  for (const isWarned of [false, false, true]) {
    const answer = await revoke(mount, { serial_number: serialOf(await issue(mount)) });
    assert.equal(/max_crl_entries/.test(answer.text), isWarned, answer.text);
  }
  await newRoot(mount, { issuer_name: 'other' });
  await call('POST', `${mount}/roles/other`, { allow_any_name: true, issuer_ref: 'other' });
  const elsewhere = await call('POST', `${mount}/issue/other`, { common_name: 'a.example' });
  const answer = await revoke(mount, { serial_number: serialOf(elsewhere) });
  assert.equal(answer.field('warnings'), null, 'the list of another issuer has room');
});

test('an entry leaves the CRL once its certificate has run out and one later CRL has shown it', async () => {
  const mount = await newMount();
  const short = serialOf(await issue(mount, { ttl: '1h' }));
  const long = serialOf(await issue(mount, { ttl: '700h' }));
  for (const serial_number of [short, long]) await revoke(mount, { serial_number });
  const both = [short, long].sort();
  assert.deepEqual(serialsOf(await readList(mount)).sort(), both);
  ahead_ms += 2 * 3_600_000;
  assert.deepEqual(serialsOf(await readList(mount)).sort(), both, 'the same list');
  const third = serialOf(await issue(mount, { ttl: '700h' }));
  await revoke(mount, { serial_number: third });
  assert.deepEqual(
    serialsOf(await readList(mount)).sort(),
    [...both, third].sort(),
    'the later one',
  );
  await call('GET', `${mount}/crl/rotate`);
  assert.deepEqual(serialsOf(await readList(mount)).sort(), [long, third].sort());
  const read = await call('GET', `${mount}/cert/${short}`);
  assert.notEqual(read.field('data.revocation_time'), 0, 'it stays revoked');
});

test('LIST certs/revoked has every revoked serial number, in order, page by page', async () => {
  const mount = await newMount();
  const serials: string[] = [];
  for (let count = 0; count < 3; count++) {
    const serial_number = serialOf(await issue(mount));
    await revoke(mount, { serial_number });
    serials.push(serial_number);
  }
  await issue(mount);
  serials.sort();
  const keys = async (query = ''): Promise<unknown> =>
    (await call('LIST', `${mount}/certs/revoked${query}`)).field('data.keys');
  assert.deepEqual(await keys(), serials);
  assert.deepEqual(await keys('?limit=2'), serials.slice(0, 2));
  assert.deepEqual(await keys(`?after=${serials[1]}`), serials.slice(2));
});

test('a certificate that was never stored is revoked by itself, and is then known', async () => {
  const mount = await newMount();
  await call('POST', `${mount}/roles/any`, {
    allow_any_name: true,
    key_type: 'ec',
    no_store: true,
  });
  const issued = await issue(mount);
  const serial_number = serialOf(issued);
  assert.equal((await revoke(mount, { serial_number })).status, 400);
  const answer = await revoke(mount, { certificate: issued.textAt('data.certificate') });
  assert.equal(answer.field('data.state'), 'revoked', answer.text);
  assert.deepEqual(serialsOf(await readList(mount)), [serial_number]);
  const read = await call('GET', `${mount}/cert/${serial_number}`);
  assert.equal(read.field('data.revocation_time'), answer.field('data.revocation_time'));
});

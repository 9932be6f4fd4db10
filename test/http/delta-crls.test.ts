/** Delta CRLs, asked of a server. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseDistributionPoints } from '../../src/x509/extension-urls.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { type Crl, parseCrl } from '../support/crl.ts';
import { startTestServer } from '../support/server.ts';
import { newCrlMount } from '../support/serving-mounts.ts';

let ahead_ms = 0;
const { call } = await startTestServer({ after }, { now: () => Date.now() + ahead_ms, jobs: [] });

const DELTAS = { auto_rebuild: true, enable_delta: true };

let mounts = 0;
async function newMount(config: Record<string, unknown> = DELTAS): Promise<string> {
  const mount = `ca${++mounts}`;
  await newCrlMount(call, mount);
  const set = await call('POST', `${mount}/config/crl`, config);
  assert.equal(set.status, 200, set.text);
  return mount;
}

async function revokeOne(mount: string): Promise<string> {
  const issued = await call('POST', `${mount}/issue/any`, { common_name: 'a.example' });
  const serial_number = issued.textAt('data.serial_number');
  assert.equal((await call('POST', `${mount}/revoke`, { serial_number })).status, 200);
  return serial_number;
}

async function read(mount: string, path: string): Promise<Crl> {
  const answer = await call('GET', `${mount}/${path}`, undefined, { token: '' });
  assert.equal(answer.status, 200, answer.text);
  return parseCrl(answer.bytes);
}

const serialsOf = (crl: Crl): string[] =>
  [...crl.entries()].map(({ serialNumber }) => formatSerial(serialNumber)).sort();

const PATHS: [path: string, media_type: string][] = [
  ['crl/delta', 'application/pkix-crl'],
  ['crl/delta/pem', 'application/x-pem-file'],
  ['cert/delta-crl', 'application/json'],
  ['cert/delta-crl/raw', 'application/pkix-crl'],
  ['cert/delta-crl/raw/pem', 'application/x-pem-file'],
  ['issuer/first/crl/delta', 'application/json'],
  ['issuer/first/crl/delta/der', 'application/pkix-crl'],
  ['issuer/first/crl/delta/pem', 'application/x-pem-file'],
];

test('a delta CRL is the same in every form and under every address, without a token', async () => {
  const mount = await newMount();
  await read(mount, 'crl');
  await revokeOne(mount);
  const der = Buffer.from((await read(mount, 'crl/delta')).raw);
  for (const [path, media_type] of PATHS) {
    const answer = await call('GET', `${mount}/${path}`, undefined, { token: 'hvs.nobody' });
    assert.equal(answer.headers.get('content-type'), media_type, path);
    const text = answer.textAt('data.crl') || answer.textAt('data.certificate') || answer.text;
    const bytes = media_type.endsWith('pkix-crl') ? answer.bytes : parsePem(text)[0]?.der;
    assert.deepEqual(Buffer.from(bytes ?? []), der, path);
  }
  const json = await call('GET', `${mount}/cert/delta-crl`);
  assert.equal(json.field('data.revocation_time'), 0);
});

test('a delta names its complete CRL critically, has what was revoked since, and is cleared by the next one', async () => {
  const mount = await newMount();
  const first = await revokeOne(mount);
  const complete = await read(mount, 'crl');
  assert.deepEqual(serialsOf(complete), [first]);
  const second = await revokeOne(mount);
  const delta = await read(mount, 'crl/delta');
  assert.deepEqual(serialsOf(delta), [second]);
  assert.equal(delta.deltaBase, complete.crlNumber);
  const indicator = delta.extensions.find(({ oid }) => oid === '2.5.29.27');
  assert.equal(indicator?.critical, true);
  assert.deepEqual(serialsOf(await read(mount, 'crl')), [first]);
  await call('GET', `${mount}/crl/rotate`);
  const next = await read(mount, 'crl');
  assert.deepEqual(serialsOf(next), [first, second].sort());
  const cleared = await read(mount, 'crl/delta');
  assert.deepEqual(serialsOf(cleared), []);
  assert.equal(cleared.deltaBase, next.crlNumber);
});

test('a delta stays as it is for delta_rebuild_interval, and without anything new beyond it', async () => {
  const mount = await newMount({ ...DELTAS, delta_rebuild_interval: '10m' });
  await read(mount, 'crl');
  const first = await revokeOne(mount);
  const delta = await read(mount, 'crl/delta');
  ahead_ms += 3_600_000;
  assert.equal((await read(mount, 'crl/delta')).crlNumber, delta.crlNumber);
  const second = await revokeOne(mount);
  const next = await read(mount, 'crl/delta');
  assert.deepEqual(serialsOf(next), [first, second].sort());
  const third = await revokeOne(mount);
  ahead_ms += 9 * 60_000;
  assert.equal((await read(mount, 'crl/delta')).crlNumber, next.crlNumber);
  ahead_ms += 61_000;
  assert.deepEqual(serialsOf(await read(mount, 'crl/delta')), [first, second, third].sort());
});

test('complete and delta CRLs share their numbers, which grow over both kinds of rotation', async () => {
  const mount = await newMount();
  const numbers: bigint[] = [];
  for (const path of [
    'rotate',
    'rotate-delta',
    'rotate-delta',
    'rotate',
    'rotate',
    'rotate-delta',
  ]) {
    const answer = await call('GET', `${mount}/crl/${path}`);
    assert.equal(answer.field('data.success'), true, answer.text);
    assert.equal(answer.field('warnings'), null);
    const crl = await read(mount, path === 'rotate' ? 'crl' : 'crl/delta');
    numbers.push(crl.crlNumber ?? 0n);
  }
  for (const [at, number] of numbers.entries()) {
    assert.ok(at === 0 || number > (numbers[at - 1] ?? 0n), numbers.join());
  }
});

test('rotate-delta shows at once what was revoked; while deltas are off it only warns', async () => {
  const mount = await newMount({});
  const off = await call('GET', `${mount}/crl/rotate-delta`);
  assert.equal(off.field('data.success'), true);
  assert.deepEqual(off.field('warnings'), [
    'requested rebuild of delta CRL when delta CRL is not enabled; this is a no-op',
  ]);
  await call('POST', `${mount}/config/crl`, DELTAS);
  await read(mount, 'crl/delta');
  const serial = await revokeOne(mount);
  assert.deepEqual(serialsOf(await read(mount, 'crl/delta')), []);
  await call('GET', `${mount}/crl/rotate-delta`);
  assert.deepEqual(serialsOf(await read(mount, 'crl/delta')), [serial]);
  assert.equal(
    (await call('GET', `${mount}/crl/rotate-delta`, undefined, { token: '' })).status,
    403,
  );
});

test('while deltas are off theirs is empty, and as old as the complete CRL', async () => {
  const mount = await newMount({ auto_rebuild: true });
  const complete = await read(mount, 'crl');
  ahead_ms += 60_000;
  await revokeOne(mount);
  const delta = await read(mount, 'crl/delta');
  assert.deepEqual(serialsOf(delta), []);
  assert.equal(delta.deltaBase, complete.crlNumber);
  assert.equal(delta.thisUpdate, complete.thisUpdate);
  assert.equal(delta.nextUpdate, complete.nextUpdate);
});

test('turning deltas on or off builds the complete CRL anew', async () => {
  const mount = await newMount({ auto_rebuild: true });
  const serial = await revokeOne(mount);
  const numbers = new Set([(await read(mount, 'crl')).crlNumber]);
  for (const enable_delta of [true, false, true]) {
    await call('POST', `${mount}/config/crl`, { enable_delta });
    const complete = await read(mount, 'crl');
    assert.deepEqual(serialsOf(complete), [serial]);
    assert.equal(numbers.has(complete.crlNumber), false);
    numbers.add(complete.crlNumber);
    assert.equal((await read(mount, 'crl/delta')).deltaBase, complete.crlNumber);
  }
});

test('a disabled CRL has an empty delta as well', async () => {
  const mount = await newMount({ ...DELTAS, disable: true });
  await read(mount, 'crl');
  await revokeOne(mount);
  await call('GET', `${mount}/crl/rotate-delta`);
  assert.deepEqual(serialsOf(await read(mount, 'crl/delta')), []);
});

test('while there are deltas the complete CRL says where, in freshestCRL', async () => {
  const mount = await newMount();
  const urls = ['http://a.example/delta', 'http://b.example/delta'];
  const freshest = async () => {
    const crl = await read(mount, 'crl');
    return crl.extensions.find(({ oid }) => oid === '2.5.29.46');
  };
  assert.equal(await freshest(), undefined);
  await call('POST', `${mount}/config/urls`, { delta_crl_distribution_points: urls });
  const extension = await freshest();
  assert.equal(extension?.critical, false);
  assert.deepEqual(parseDistributionPoints(extension?.value ?? new Uint8Array()), urls);
  assert.equal((await read(mount, 'crl/delta')).extensions.length, 3);
  await call('POST', `${mount}/config/crl`, { enable_delta: false });
  assert.equal(await freshest(), undefined);
});

test('a mount without an issuer has no delta CRL', async () => {
  await call('POST', 'sys/mounts/none', { type: 'pki' });
  const raw = await call('GET', 'none/crl/delta');
  assert.equal(raw.status, 204);
  assert.equal(raw.bytes.length, 0);
  const json = await call('GET', 'none/cert/delta-crl');
  assert.equal(json.status, 500);
  assert.match(json.text, /no default issuer currently configured/);
});

test('a delta has a date of its own; that of the complete CRL changes both', async () => {
  const mount = await newMount();
  await read(mount, 'crl');
  await read(mount, 'crl/delta');
  const dateOf = async (path: string): Promise<number> => {
    const answer = await call('GET', `${mount}/${path}`);
    return Date.parse(answer.headers.get('last-modified') ?? '');
  };
  const first = [await dateOf('crl'), await dateOf('crl/delta')];
  ahead_ms += 3_600_000;
  await revokeOne(mount);
  assert.ok((await dateOf('crl/delta')) > (first[1] ?? 0));
  assert.equal(await dateOf('crl'), first[0]);
  ahead_ms += 60_000;
  const since = new Date(Date.now() + ahead_ms).toUTCString();
  const headers = { 'if-modified-since': since };
  for (const [path] of PATHS) {
    const answer = await call('GET', `${mount}/${path}`, undefined, { headers });
    assert.equal(answer.status, 304, path);
  }
  ahead_ms += 3_600_000;
  await call('GET', `${mount}/crl/rotate`);
  for (const path of ['crl', 'crl/delta']) {
    const answer = await call('GET', `${mount}/${path}`, undefined, { headers });
    assert.equal(answer.status, 200, path);
  }
});

test('no CRL is for caches', async () => {
  const mount = await newMount();
  for (const path of ['crl', 'crl/pem', 'cert/crl', ...PATHS.map(([one]) => one)]) {
    const answer = await call('GET', `${mount}/${path}`);
    assert.equal(answer.headers.get('cache-control'), 'no-store', path);
    assert.equal(answer.headers.has('expires'), false, path);
  }
});

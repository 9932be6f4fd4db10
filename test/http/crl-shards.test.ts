/** CRLs for a part of the certificates each, asked of a server. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { nameShard, shardOf } from '../../src/pki/crl/shards.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import {
  issuingDistributionPoint,
  parseDistributionPoints,
} from '../../src/x509/extension-urls.ts';
import { findExtension } from '../../src/x509/extensions.ts';
import { EXTENSION_OID } from '../../src/x509/oids.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { type Crl, parseCrl } from '../support/crl.ts';
import { startTestServer } from '../support/server.ts';
import { newCrlMount } from '../support/serving-mounts.ts';

let ahead_ms = 0;
const { call } = await startTestServer({ after }, { now: () => Date.now() + ahead_ms });

const AT = 'http://crl.example/{{issuer_id}}/{{ crl_shard }}';

let mounts = 0;
/** @param config of its CRLs */
async function newMount(config: Record<string, unknown> = { crl_shards: 4 }): Promise<string> {
  const mount = `ca${++mounts}`;
  await newCrlMount(call, mount);
  await setUrls(mount, { crl_distribution_points: AT });
  await configure(mount, config);
  return mount;
}

async function setUrls(mount: string, urls: Record<string, unknown>): Promise<void> {
  const set = await call('POST', `${mount}/config/urls`, { enable_templating: true, ...urls });
  assert.equal(set.status, 200, set.text);
}

async function configure(mount: string, config: Record<string, unknown>): Promise<void> {
  const set = await call('POST', `${mount}/config/crl`, config);
  assert.equal(set.status, 200, set.text);
}

interface Issued {
  serial: string;
  certificate: string;
  urls: string[];
  hasFreshest: boolean;
}

function readIssued(certificate: string): Issued {
  const { serial, extensions } = parseCertificate(
    parsePem(certificate)[0]?.der ?? new Uint8Array(),
  );
  const points = findExtension(extensions, EXTENSION_OID.cRLDistributionPoints);
  return {
    serial,
    certificate,
    urls: points ? parseDistributionPoints(points.value) : [],
    hasFreshest: findExtension(extensions, EXTENSION_OID.freshestCRL) !== undefined,
  };
}

async function issue(mount: string, path = 'issue/any', body = {}): Promise<Issued> {
  const issued = await call('POST', `${mount}/${path}`, { common_name: 'a.example', ...body });
  assert.equal(issued.status, 200, issued.text);
  return readIssued(issued.textAt('data.certificate'));
}

async function revoke(mount: string, { serial }: Issued): Promise<void> {
  const revoked = await call('POST', `${mount}/revoke`, { serial_number: serial });
  assert.equal(revoked.status, 200, revoked.text);
}

const nameOf = ({ serial }: Issued, count = 4): string => nameShard(shardOf(serial, count));

/** One of another shard of four. */
async function issueApart(mount: string, from: Issued): Promise<Issued> {
  for (;;) {
    const other = await issue(mount);
    if (nameOf(other) !== nameOf(from)) return other;
  }
}

async function read(mount: string, path: string): Promise<Crl> {
  const answer = await call('GET', `${mount}/${path}`, undefined, { token: '' });
  assert.equal(answer.status, 200, `${path}: ${answer.text}`);
  return parseCrl(answer.bytes);
}

const readShard = (mount: string, of: Issued, count = 4): Promise<Crl> =>
  read(mount, `issuer/first/crl/shard/${nameOf(of, count)}/der`);

const serialsOf = (crl: Crl): string[] =>
  [...crl.entries()].map(({ serialNumber }) => formatSerial(serialNumber)).sort();

const pointOf = (crl: Crl) => findExtension(crl.extensions, EXTENSION_OID.issuingDistributionPoint);

test('a certificate names the shard it is on, and that CRL names the same URL critically', async () => {
  const mount = await newMount();
  const one = await issue(mount);
  const { data } = JSON.parse((await call('GET', `${mount}/issuer/first`)).text);
  const url = `http://crl.example/${data.issuer_id}/${nameOf(one)}`;
  assert.deepEqual(one.urls, [url]);
  const crl = await readShard(mount, one);
  assert.deepEqual(pointOf(crl), issuingDistributionPoint([url]));
  assert.equal(pointOf(crl)?.critical, true);
  assert.deepEqual(serialsOf(crl), []);
});

test('what is revoked is on its shard and on the complete CRL, and on no other shard', async () => {
  const mount = await newMount();
  const one = await issue(mount);
  const other = await issueApart(mount, one);
  await revoke(mount, one);
  assert.deepEqual(serialsOf(await readShard(mount, one)), [one.serial]);
  assert.deepEqual(serialsOf(await readShard(mount, other)), []);
  await revoke(mount, other);
  assert.deepEqual(serialsOf(await readShard(mount, one)), [one.serial]);
  assert.deepEqual(serialsOf(await readShard(mount, other)), [other.serial]);
  for (const path of [
    'crl',
    'issuer/first/crl/der',
    'crl/shard/all',
    'issuer/first/crl/shard/all/der',
  ]) {
    const complete = await read(mount, path);
    assert.deepEqual(serialsOf(complete), [one.serial, other.serial].sort(), path);
    assert.equal(pointOf(complete), undefined, path);
  }
});

test('a revocation has its own shard built anew and leaves the others as they are', async () => {
  const mount = await newMount();
  const one = await issue(mount);
  const other = await issueApart(mount, one);
  const before = await readShard(mount, one);
  const beside = await readShard(mount, other);
  await revoke(mount, one);
  const next = await readShard(mount, one);
  assert.ok((next.crlNumber ?? 0n) > (before.crlNumber ?? 0n));
  assert.deepEqual((await readShard(mount, other)).raw, beside.raw);
  await call('GET', `${mount}/crl/rotate`);
  const rotated = await readShard(mount, other);
  assert.ok((rotated.crlNumber ?? 0n) > (beside.crlNumber ?? 0n), 'rotated with all others');
});

const PATHS: [path: string, media_type: string][] = [
  ['crl/shard/#', 'application/pkix-crl'],
  ['crl/shard/#/pem', 'application/x-pem-file'],
  ['issuer/default/crl/shard/#', 'application/json'],
  ['issuer/first/crl/shard/#/der', 'application/pkix-crl'],
  ['issuer/first/crl/shard/#/pem', 'application/x-pem-file'],
];

test('a shard is the same in every form and under every address, without a token', async () => {
  const mount = await newMount();
  const one = await issue(mount);
  await revoke(mount, one);
  const der = Buffer.from((await readShard(mount, one)).raw);
  for (const [path, media_type] of PATHS) {
    const at = `${mount}/${path.replace('#', nameOf(one))}`;
    const answer = await call('GET', at, undefined, { token: 'hvs.nobody' });
    assert.equal(answer.headers.get('content-type'), media_type, path);
    const bytes = media_type.endsWith('pkix-crl')
      ? answer.bytes
      : parsePem(answer.textAt('data.crl') || answer.text)[0]?.der;
    assert.deepEqual(Buffer.from(bytes ?? []), der, path);
    const modified_ms = Date.parse(answer.headers.get('last-modified') ?? '');
    const headers = { 'if-modified-since': new Date(modified_ms + 60_000).toUTCString() };
    assert.equal((await call('GET', at, undefined, { headers })).status, 304, path);
  }
});

const NOWHERE = ['4-of-4', '0-of-1', '0-of-8', '0-of-2000', '3', 'none', '00-of-4', '0-OF-4'];

test('only shards that certificates name are there', async () => {
  const mount = await newMount();
  for (const path of ['crl/shard/0-of-4', 'issuer/first/crl/shard/0-of-4']) {
    assert.equal((await call('GET', `${mount}/${path}`)).status, 404, 'none is issued yet');
  }
  await issue(mount);
  assert.equal((await call('GET', `${mount}/crl/shard/0-of-4`)).status, 200);
  for (const name of NOWHERE) {
    assert.equal((await call('GET', `${mount}/crl/shard/${name}`)).status, 404, name);
    assert.equal((await call('GET', `${mount}/issuer/first/crl/shard/${name}`)).status, 404, name);
  }
});

test('another number of shards, none, and other URLs leave the certificates that exist where they are', async () => {
  const mount = await newMount();
  const early = await issue(mount);
  await configure(mount, { crl_shards: 9 });
  const second = await issue(mount);
  await setUrls(mount, { crl_distribution_points: 'https://new.example/{{crl_shard}}' });
  const moved = await issue(mount);
  await configure(mount, { crl_shards: 0 });
  const unsharded = await issue(mount);
  assert.deepEqual(unsharded.urls, ['https://new.example/all']);
  await setUrls(mount, { crl_distribution_points: 'https://new.example/crl' });
  for (const one of [early, second, moved, unsharded]) await revoke(mount, one);
  for (const [one, count] of [
    [early, 4],
    [second, 9],
    [moved, 9],
  ] as const) {
    const crl = await readShard(mount, one, count);
    assert.ok(serialsOf(crl).includes(one.serial));
    const point = pointOf(crl);
    const names = Buffer.from(point?.value ?? []).toString('latin1');
    assert.ok(names.includes(one.urls[0] ?? '-'), `${names} has ${one.urls}`);
  }
  const complete = serialsOf(await read(mount, 'crl'));
  assert.deepEqual(complete, [early, second, moved, unsharded].map(({ serial }) => serial).sort());
});

test('shards are served until their last certificate has ended, by the job as well', async () => {
  const mount = await newMount({ crl_shards: 2, expiry: '24h' });
  const one = await issue(mount);
  const long = await issue(mount, 'issue/any', { ttl: '710h' });
  await configure(mount, { crl_shards: 0 });
  ahead_ms += 709 * 3_600_000;
  assert.equal((await call('GET', `${mount}/crl/shard/${nameOf(long, 2)}`)).status, 200);
  ahead_ms += 300 * 3_600_000;
  for (const ended of [one, long]) {
    assert.equal((await call('GET', `${mount}/crl/shard/${nameOf(ended, 2)}`)).status, 404);
  }
  assert.equal((await call('GET', `${mount}/crl/rotate`)).status, 200);
});

test('certificates of every kind are told their shard: signed, verbatim, of CAs', async () => {
  const mount = await newMount();
  const csr = (
    await call('POST', `${mount}/intermediate/generate/internal`, {
      common_name: 'I',
      key_type: 'ec',
    })
  ).textAt('data.csr');
  for (const path of [
    'sign/any',
    'sign-verbatim',
    'root/sign-intermediate',
    'issuer/first/sign/any',
  ]) {
    const body = { csr, ttl: '10h' };
    const one = await issue(mount, path, body);
    assert.ok(one.urls[0]?.endsWith(`/${nameOf(one)}`), `${path}: ${one.urls}`);
    await revoke(mount, one);
    assert.ok(serialsOf(await readShard(mount, one)).includes(one.serial), path);
  }
  const root = await call('POST', `${mount}/root/generate/internal`, {
    common_name: 'S',
    key_type: 'ec',
  });
  assert.deepEqual(readIssued(root.textAt('data.certificate')).urls, []);
});

test('an authority of the mount that is revoked is on its shard', async () => {
  const mount = await newMount();
  const made = { common_name: 'I', key_type: 'ec' };
  const csr = await call('POST', `${mount}/intermediate/generate/internal`, made);
  const body = { csr: csr.textAt('data.csr'), common_name: 'I', ttl: '10h' };
  const ca = await issue(mount, 'root/sign-intermediate', body);
  const other = await issueApart(mount, ca);
  await revoke(mount, other);
  assert.deepEqual(serialsOf(await readShard(mount, ca)), []);
  const set = await call('POST', `${mount}/intermediate/set-signed`, {
    certificate: ca.certificate,
  });
  const [id] = set.field('data.imported_issuers') as string[];
  const beside = await readShard(mount, other);
  assert.equal((await call('POST', `${mount}/issuer/${id}/revoke`)).status, 200);
  assert.deepEqual(serialsOf(await readShard(mount, ca)), [ca.serial]);
  assert.deepEqual((await readShard(mount, other)).raw, beside.raw, 'no other is built for it');
});

test('what was issued without being stored is revoked on its shard', async () => {
  const mount = await newMount();
  await call('POST', `${mount}/roles/gone`, {
    allow_any_name: true,
    key_type: 'ec',
    no_store: true,
  });
  const one = await issue(mount, 'issue/gone');
  await configure(mount, { crl_shards: 0 });
  const revoked = await call('POST', `${mount}/revoke`, { certificate: one.certificate });
  assert.equal(revoked.status, 200, revoked.text);
  assert.deepEqual(serialsOf(await readShard(mount, one)), [one.serial]);
});

test('a shard and its certificates have no delta', async () => {
  const mount = await newMount({ crl_shards: 4, auto_rebuild: true, enable_delta: true });
  await setUrls(mount, { delta_crl_distribution_points: 'http://crl.example/delta' });
  const one = await issue(mount);
  assert.equal(one.hasFreshest, false);
  const shard = await readShard(mount, one);
  assert.equal(findExtension(shard.extensions, EXTENSION_OID.freshestCRL), undefined);
  const complete = await read(mount, 'crl');
  assert.ok(findExtension(complete.extensions, EXTENSION_OID.freshestCRL));
  await configure(mount, { crl_shards: 0 });
  assert.equal((await issue(mount)).hasFreshest, true);
});

const BAD: [set: Record<string, unknown>, why: RegExp][] = [
  [{ crl_shards: -1 }, /crl_shards must be from 0 to 1024/],
  [{ crl_shards: 1025 }, /crl_shards must be from 0 to 1024/],
];

test('crl_shards is bounded, needs its template in the URLs, and keeps it there', async () => {
  const mount = await newMount({ crl_shards: 0 });
  for (const [set, why] of BAD) {
    const refused = await call('POST', `${mount}/config/crl`, set);
    assert.equal(refused.status, 400);
    assert.match(refused.text, why);
  }
  const lacking = /crl_shards needs \{\{crl_shard\}\} in every URL/;
  for (const urls of [
    { crl_distribution_points: 'http://crl.example/crl' },
    { crl_distribution_points: [AT, 'http://crl.example/crl'] },
    { crl_distribution_points: [] },
  ]) {
    await setUrls(mount, urls);
    const refused = await call('POST', `${mount}/config/crl`, { crl_shards: 4 });
    assert.equal(refused.status, 400);
    assert.match(refused.text, lacking);
    await configure(mount, { crl_shards: 1 });
  }
  await setUrls(mount, { crl_distribution_points: AT });
  await configure(mount, { crl_shards: 4 });
  const kept = await call('POST', `${mount}/config/urls`, {
    crl_distribution_points: 'http://a.example',
  });
  assert.equal(kept.status, 400);
  assert.match(kept.text, lacking);
  await setUrls(mount, { crl_distribution_points: 'http://b.example/{{crl_shard}}' });
  const elsewhere = await call('POST', `${mount}/config/urls`, {
    ocsp_servers: 'http://b.example/{{crl_shard}}',
  });
  assert.equal(elsewhere.status, 400, 'a responder has no shards');
});

test('an issuer with URLs of its own has shards where these name them', async () => {
  const mount = await newMount();
  const own = {
    issuer_name: 'first',
    crl_distribution_points: 'http://own.example/crl',
    enable_aia_url_templating: true,
  };
  assert.equal((await call('POST', `${mount}/issuer/first`, own)).status, 200);
  assert.deepEqual((await issue(mount)).urls, ['http://own.example/crl']);
  await call('POST', `${mount}/issuer/first`, {
    ...own,
    crl_distribution_points: 'http://own.example/{{crl_shard}}',
  });
  const one = await issue(mount);
  assert.deepEqual(one.urls, [`http://own.example/${nameOf(one)}`]);
  assert.deepEqual(pointOf(await readShard(mount, one)), issuingDistributionPoint(one.urls));
});

test('certificates that are issued at once for the first time all have their shards', async () => {
  const mount = await newMount();
  const all = await Promise.all(Array.from({ length: 20 }, () => issue(mount)));
  for (const one of all) assert.ok(one.urls[0]?.endsWith(`/${nameOf(one)}`));
  assert.deepEqual(serialsOf(await readShard(mount, all[0] as Issued)), []);
});

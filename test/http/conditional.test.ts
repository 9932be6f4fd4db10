/** Conditional reads of certificates and CRLs. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Reply, startTestServer } from '../support/server.ts';

let ahead_ms = 0;
const { call } = await startTestServer({ after }, { now: () => Date.now() + ahead_ms });

let mounts = 0;
async function newMount(tune: Record<string, unknown>): Promise<string> {
  const mount = `ca${++mounts}`;
  await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
  const tuned = await call('POST', `sys/mounts/${mount}/tune`, tune);
  assert.equal(tuned.status, 204, tuned.text);
  const root = { common_name: 'R', key_type: 'ec', issuer_name: 'first' };
  const made = await call('POST', `${mount}/root/generate/internal`, root);
  assert.equal(made.status, 200, made.text);
  await call('POST', `${mount}/roles/any`, { allow_any_name: true, key_type: 'ec', max_ttl: '1h' });
  return mount;
}

const BOTH = {
  passthrough_request_headers: ['If-Modified-Since'],
  allowed_response_headers: ['Last-Modified'],
};

/** @param after_s how long after the server's present time, in seconds */
function readSince(path: string, after_s: number): Promise<Reply> {
  const since = new Date(Date.now() + ahead_ms + after_s * 1000).toUTCString();
  return call('GET', path, undefined, { headers: { 'if-modified-since': since } });
}

const CA_PATHS = [
  'ca',
  'ca/pem',
  'cert/ca',
  'cert/ca/raw',
  'cert/ca/raw/pem',
  'issuer/first/json',
  'issuer/first/der',
  'issuer/first/pem',
];
const CRL_PATHS = [
  'crl',
  'crl/pem',
  'cert/crl',
  'cert/crl/raw',
  'cert/crl/raw/pem',
  'issuer/first/crl',
  'issuer/first/crl/der',
  'issuer/first/crl/pem',
];

test('what has not changed since is answered with 304 and no body, everything else whole', async () => {
  const mount = await newMount(BOTH);
  await call('GET', `${mount}/crl`);
  for (const path of [...CA_PATHS, ...CRL_PATHS]) {
    const unchanged = await readSince(`${mount}/${path}`, 60);
    assert.equal(unchanged.status, 304, path);
    assert.equal(unchanged.bytes.length, 0, path);
    assert.ok(Date.parse(unchanged.headers.get('last-modified') ?? ''), path);
    assert.equal((await readSince(`${mount}/${path}`, -3600)).status, 200, path);
    assert.equal((await call('GET', `${mount}/${path}`)).status, 200, path);
  }
});

test('who asks by a date while a change may still be on its way is answered whole', async () => {
  const mount = await newMount(BOTH);
  for (const path of ['ca', 'crl', 'issuer/first/der', 'issuer/first/crl/der']) {
    if (path.includes('crl')) await call('GET', `${mount}/crl/rotate`);
    const answer = await call('GET', `${mount}/${path}`);
    const modified_ms = Date.parse(answer.headers.get('last-modified') ?? '');
    for (const [after_s, status] of [
      [-1, 200],
      [0, 200],
      [2, 200],
      [29, 200],
      [32, 304],
    ] as const) {
      const since = new Date(modified_ms + after_s * 1000).toUTCString();
      const headers = { 'if-modified-since': since };
      const again = await call('GET', `${mount}/${path}`, undefined, { headers });
      assert.equal(again.status, status, `${path} ${after_s}`);
    }
  }
});

test('a date that is none, and reads that have no date of their own, are answered whole', async () => {
  const mount = await newMount(BOTH);
  for (const path of ['ca', 'crl', 'cert/ca']) {
    const headers = { 'if-modified-since': 'yesterday' };
    assert.equal((await call('GET', `${mount}/${path}`, undefined, { headers })).status, 200, path);
  }
  assert.equal((await readSince(`${mount}/issuer/first`, 60)).status, 200);
});

test('chains and certificates are dated, too', async () => {
  const mount = await newMount(BOTH);
  const issued = await call('POST', `${mount}/issue/any`, { common_name: 'a.example' });
  const serial_number = issued.textAt('data.serial_number');
  const ofLeaf = ['', '/raw', '/raw/pem'].map((form) => `${mount}/cert/${serial_number}${form}`);
  const chains = [`${mount}/ca_chain`, `${mount}/cert/ca_chain`];
  for (const path of [...ofLeaf, ...chains]) {
    assert.equal((await readSince(path, 60)).status, 304, path);
    assert.equal((await readSince(path, -3600)).status, 200, path);
  }
  assert.equal((await readSince(`${mount}/cert/00:01`, 60)).status, 404);
  assert.equal((await readSince(`${mount}/cert/00:01/raw`, 60)).status, 204);
  ahead_ms += 120_000;
  const before_ms = ahead_ms;
  ahead_ms += 60_000;
  await call('POST', `${mount}/revoke`, { serial_number });
  for (const path of [...ofLeaf, ...chains]) {
    const since = (before_ms - ahead_ms) / 1000;
    assert.equal((await readSince(path, since)).status, ofLeaf.includes(path) ? 200 : 304, path);
  }
  const other = { common_name: 'S', key_type: 'ec', issuer_name: 'second' };
  await call('POST', `${mount}/issuers/generate/root/internal`, other);
  await call('POST', `${mount}/config/issuers`, { default: 'second' });
  for (const path of chains) {
    assert.equal((await readSince(path, (before_ms - ahead_ms) / 1000)).status, 200, path);
  }
});

const tunings: [why: string, tune: Record<string, unknown>, status: number, told: boolean][] = [
  ['as a mount is at first', {}, 200, false],
  ['the request header passes', { passthrough_request_headers: ['if-modified-since'] }, 304, false],
  ['the response header passes', { allowed_response_headers: 'last-modified' }, 200, true],
  ['both pass', BOTH, 304, true],
];
for (const [why, tune, status, told] of tunings) {
  test(`conditional reads are for mounts that are tuned for them: ${why}`, async () => {
    const mount = await newMount(tune);
    await call('GET', `${mount}/crl`);
    for (const path of ['ca', 'crl', 'cert/ca']) {
      const answer = await readSince(`${mount}/${path}`, 60);
      assert.equal(answer.status, status, path);
      assert.equal(answer.headers.has('last-modified'), told, path);
    }
  });
}

const NOTHING: string[] = [];
const changes: [what: string, change: (mount: string) => Promise<Reply>, changed: string[]][] = [
  [
    'another name of the issuer',
    (mount) => call('PATCH', `${mount}/issuer/first`, { issuer_name: 'renamed' }),
    ['ca', 'crl', 'issuer/second/crl/der'],
  ],
  [
    'another usage of the issuer',
    (mount) =>
      call('PATCH', `${mount}/issuer/first`, { usage: 'read-only,crl-signing,ocsp-signing' }),
    NOTHING,
  ],
  [
    'another default issuer',
    (mount) => call('POST', `${mount}/config/issuers`, { default: 'second' }),
    ['ca', 'crl', 'issuer/second/der', 'issuer/second/crl/der'],
  ],
  [
    'the same default issuer again',
    (mount) => call('POST', `${mount}/config/issuers`, { default: 'first' }),
    NOTHING,
  ],
  [
    'a CRL built anew',
    (mount) => call('GET', `${mount}/crl/rotate`),
    ['crl', 'issuer/second/crl/der'],
  ],
  [
    'a revocation, by the CRL that follows it',
    async (mount) => {
      const issued = await call('POST', `${mount}/issue/any`, { common_name: 'a.example' });
      const serial_number = issued.textAt('data.serial_number');
      return call('POST', `${mount}/revoke`, { serial_number });
    },
    ['crl', 'issuer/second/crl/der'],
  ],
];
for (const [what, change, changed] of changes) {
  test(`${what} changes ${changed.length === 0 ? 'no date' : `the dates of ${changed.join(', ')}`}`, async () => {
    const mount = await newMount(BOTH);
    const second = { common_name: 'S', key_type: 'ec', issuer_name: 'second' };
    await call('POST', `${mount}/issuers/generate/root/internal`, second);
    const paths = ['ca', 'crl', 'issuer/second/der', 'issuer/second/crl/der'];
    for (const path of paths) await call('GET', `${mount}/${path}`);
    ahead_ms += 120_000;
    const before_ms = ahead_ms;
    for (const path of paths) assert.equal((await readSince(`${mount}/${path}`, -30)).status, 304);
    ahead_ms += 60_000;
    const answer = await change(mount);
    assert.equal(answer.status, 200, answer.text);
    // The CRL that follows is built by whoever reads it first.
    await call('GET', `${mount}/crl`);
    for (const path of paths) {
      const since = (before_ms - ahead_ms) / 1000;
      const expected = changed.includes(path) ? 200 : 304;
      assert.equal((await readSince(`${mount}/${path}`, since)).status, expected, path);
    }
  });
}

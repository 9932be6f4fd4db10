import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { ROOMS } from '../../core/rooms.ts';
import { parseCertificate } from '../../x509/certificate.ts';
import { DEFAULT_SETTINGS, type Issuer, type IssuerSettings } from './issuer.ts';
import type { Key } from './key.ts';
import {
  MOST_BYTES,
  MOST_ISSUERS,
  MOST_KEYS,
  requireRoomForIssuer,
  requireRoomForKey,
  requireRoomForSettings,
  weighMountState,
} from './room.ts';
import { type MountState, NO_DEFAULTS } from './state.ts';
import { readUrlSettings } from './urls.ts';

/** An issuer whose certificate has so many bytes; nothing else of it is looked at. */
function issuerOf(length: number, settings: IssuerSettings = DEFAULT_SETTINGS): Issuer {
  return {
    id: '',
    name: '',
    key_id: '',
    certificate: { ...CERTIFICATE, raw: new Uint8Array(length) },
    settings,
    revoked_at_ms: undefined,
    revocation_reason: 0,
    modified_at_ms: 0,
    created_at_ms: 0,
    version: 0,
    chain: [],
    signed_by: '',
  };
}

// Self-signed by OpenSSL for this test: CN=a, P-256.
const CERTIFICATE = parseCertificate(
  Buffer.from(
    'MIIBbTCCAROgAwIBAgIUPkbrcVKkaSFuLgOD7/9bjcWoXQYwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBYTAeFw0yNjExMjIxMDUzMDRaFw0zNjExMTkxMDUzMDRaMAwxCjAIBgNVBAMMAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQn+BdZo+Hej9F5UCMTpMRNV/RyRIIP3qsc/QkCxQNsGaETo0PsyuZq/xpIB7q5lQwxRuX1Sx5ZSNiGX9sqF6Geo1MwUTAdBgNVHQ4EFgQUgACAeterJ2Pxy+IVs6VAvgVBIaAwHwYDVR0jBBgwFoAUgACAeterJ2Pxy+IVs6VAvgVBIaAwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBaeGhHAGIPF4JsDoyseTMpld885Tv3nhox7+ryrocxlgIhAMWXnP0zvqn0krENHm8zr/fvGKEUtP+hqp3YznK+T5R1',
    'base64',
  ),
);

const KEY: Key = { id: '', name: '', key_type: 'ec', key_bits: 256, public_key: new Uint8Array() };

function stateOf(held: { issuers: Issuer[]; keys?: number }): MountState {
  const keys = Array.from({ length: held.keys ?? 0 }, (_, at): [string, Key] => [`${at}`, KEY]);
  return {
    defaults: NO_DEFAULTS,
    issuers: new Map(held.issuers.map((issuer, at) => [`${at}`, issuer])),
    keys: new Map(keys),
    urls: readUrlSettings(undefined),
    cluster: { path: '', aia_path: '' },
    crl_shards: 0,
    former: new Map(),
  };
}

const many = (count: number, length: number): Issuer[] =>
  Array.from({ length: count }, () => issuerOf(length));

/** Settings whose URLs have so many bytes. */
const withUrls = (length: number): IssuerSettings => ({
  ...DEFAULT_SETTINGS,
  ocsp_servers: length === 0 ? [] : ['x'.repeat(length - '[""]'.length)],
});

const newIssuer = (length: number, settings = DEFAULT_SETTINGS) => ({
  certificate: new Uint8Array(length),
  settings,
});

const ISSUERS: [count: number, each: number, next: number, urls: number, takes: boolean][] = [
  [0, 0, MOST_BYTES, 0, true],
  [0, 0, MOST_BYTES + 1, 0, false],
  [MOST_ISSUERS - 1, 1000, 1000, 0, true],
  [MOST_ISSUERS, 1000, 1000, 0, false],
  [1, MOST_BYTES - 1000, 1000, 0, true],
  [1, MOST_BYTES - 1000, 1001, 0, false],
  [1, MOST_BYTES - 1000, 900, 100, true],
  [1, MOST_BYTES - 1000, 900, 101, false],
];
for (const [count, each, next, urls, takes] of ISSUERS) {
  test(`a mount with ${count} issuers of ${each} bytes ${takes ? 'takes' : 'refuses'} one of ${next} and ${urls}`, () => {
    const mountState = stateOf({ issuers: many(count, each) });
    const ask = () => requireRoomForIssuer(mountState, newIssuer(next, withUrls(urls)));
    if (takes) ask();
    else assert.throws(ask, (error) => error instanceof Failure && error.kind === 'invalid');
  });
}

const FULL = MOST_BYTES - 1000;
const CHANGES: [others: number, before: number, after: number, takes: boolean, why: string][] = [
  [FULL, 500, 1000, true, 'up to the last byte'],
  [FULL, 500, 1001, false, 'beyond'],
  [FULL + 5000, 1001, 1000, true, 'less, of what was stored before'],
  [FULL + 5000, 1000, 1000, true, 'the same'],
  [FULL + 5000, 1000, 1001, false, 'more'],
];
for (const [others, before, after, takes, why] of CHANGES) {
  test(`URLs of an issuer beside ${others} bytes ${takes ? 'may' : 'may not'} become ${after} of ${before}: ${why}`, () => {
    const issuer = issuerOf(0, withUrls(before));
    const mountState = stateOf({ issuers: [issuerOf(others), issuer] });
    const ask = () => requireRoomForSettings(mountState, issuer, withUrls(after));
    if (takes) ask();
    else assert.throws(ask, /certificates, URLs and chains of the mount's issuers would have/);
  });
}

test('flags of an issuer are changed in a mount that has more than it may', () => {
  const issuer = issuerOf(0, withUrls(10));
  const mountState = stateOf({ issuers: [issuerOf(2 * MOST_BYTES), issuer] });
  const next: IssuerSettings = { ...withUrls(10), leaf_not_after_behavior: 'always_enforce_err' };
  requireRoomForSettings(mountState, issuer, next);
});

test('a mount takes keys up to their number', () => {
  requireRoomForKey(stateOf({ issuers: [], keys: MOST_KEYS - 1 }));
  assert.throws(
    () => requireRoomForKey(stateOf({ issuers: [], keys: MOST_KEYS })),
    /the mount has 1000 keys, and may have at most 1000/,
  );
});

test('a mount that is full is kept: it takes less than a quarter of the room', () => {
  const each = MOST_BYTES / MOST_ISSUERS;
  const full = stateOf({ issuers: many(MOST_ISSUERS, each), keys: MOST_KEYS });
  const former = new Map(Array.from({ length: 1000 }, (_, at) => [`${at}`, '']));
  assert.ok(weighMountState({ ...full, former }) < ROOMS.pki_mount_states / 4 - 1024 * 1024);
});

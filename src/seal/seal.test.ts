import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../core/failure.ts';
import { chooseShareCounts, type InitRequest, rejectPgpKeys } from './initialisation.ts';
import {
  judgeShare,
  makeShares,
  openRootKey,
  recoveryHash,
  type SealKind,
  wrapRootKey,
} from './seal.ts';

const bytes = (value: number, length = 32) => new Uint8Array(length).fill(value);

const accepted: [kind: SealKind, request: InitRequest, shares: number | undefined][] = [
  ['shamir', { secret_shares: 5, secret_threshold: 3 }, 5],
  ['shamir', { secret_shares: 1, secret_threshold: 1 }, 1],
  ['shamir', { secret_shares: 2, secret_threshold: 2 }, 2],
  ['shamir', { secret_shares: 255, secret_threshold: 255 }, 255],
  ['shamir', { secret_shares: 3, secret_threshold: 2, recovery_shares: 0 }, 3],
  ['keyfile', { recovery_shares: 5, recovery_threshold: 3 }, 5],
  ['keyfile', {}, undefined],
  ['keyfile', { recovery_shares: 0, recovery_threshold: 0, secret_shares: 0 }, undefined],
];
for (const [kind, request, shares] of accepted) {
  test(`${kind} takes ${JSON.stringify(request)}`, () => {
    assert.equal(chooseShareCounts(kind, request)?.shares, shares);
  });
}

const refused: [kind: SealKind, request: InitRequest, because: RegExp][] = [
  ['shamir', {}, /secret_shares must be at least one/],
  ['shamir', { secret_threshold: 1 }, /secret_shares must be at least one/],
  ['shamir', { secret_shares: -1, secret_threshold: 1 }, /secret_shares must be at least one/],
  ['shamir', { secret_shares: 5 }, /secret_threshold must be at least one/],
  ['shamir', { secret_shares: 5, secret_threshold: -1 }, /secret_threshold must be at least one/],
  ['shamir', { secret_shares: 3, secret_threshold: 4 }, /cannot be larger than secret_shares/],
  ['shamir', { secret_shares: 2, secret_threshold: 1 }, /must be greater than one for multiple/],
  ['shamir', { secret_shares: 256, secret_threshold: 3 }, /secret_shares must be at most 255/],
  [
    'shamir',
    { secret_shares: 5, secret_threshold: 3, recovery_shares: 1 },
    /recovery_shares,recovery_threshold not applicable to seal type shamir/,
  ],
  ['keyfile', { recovery_shares: 5 }, /recovery_threshold must be at least one/],
  ['keyfile', { recovery_threshold: 2 }, /recovery_shares must be at least one/],
  ['keyfile', { recovery_shares: 2, recovery_threshold: 1 }, /greater than one for multiple/],
  [
    'keyfile',
    { secret_shares: 5, secret_threshold: 3 },
    /secret_shares,secret_threshold not applicable to seal type keyfile/,
  ],
];
for (const [kind, request, because] of refused) {
  test(`${kind} refuses ${JSON.stringify(request)}: ${because.source}`, () => {
    assert.throws(
      () => chooseShareCounts(kind, request),
      (thrown) =>
        thrown instanceof Failure && thrown.kind === 'invalid' && because.test(thrown.message),
    );
  });
}

test('keys to encrypt shares to are refused by name; empty ones are none', () => {
  rejectPgpKeys({ pgp_keys: undefined, recovery_pgp_keys: [], root_token_pgp_key: '' });
  assert.throws(() => rejectPgpKeys({ pgp_keys: ['mQEN'] }), /^Failure: pgp_keys is not supported/);
  assert.throws(() => rejectPgpKeys({ root_token_pgp_key: 'mQEN' }), /root_token_pgp_key/);
});

test('a root key opens with the seal key that wrapped it, and with no other', () => {
  const sealed = wrapRootKey({ seal_key: bytes(1), root_key: bytes(2), nonce: bytes(3, 12) });
  assert.deepEqual(openRootKey(bytes(1), sealed), Buffer.from(bytes(2)));
  assert.equal(openRootKey(bytes(4), sealed), undefined);
  assert.equal(openRootKey(bytes(1, 16), sealed), undefined);
  const changed = Uint8Array.from(sealed);
  changed[20] = (changed[20] ?? 0) ^ 1;
  assert.equal(openRootKey(bytes(1), changed), undefined);
});

test('the only share of a key is a copy of it, which may be wiped', () => {
  const key = bytes(9);
  const [share] = makeShares(key, { shares: 1, threshold: 1 }, new Uint8Array());
  assert.deepEqual(share, key);
  share?.fill(0);
  assert.deepEqual(key, bytes(9));
});

test('a share has one byte more than the key, but the only one', () => {
  assert.equal(judgeShare(bytes(1, 33), 2), undefined);
  assert.match(judgeShare(bytes(1, 32), 2) ?? '', /33 bytes/);
  assert.match(judgeShare(bytes(1, 34), 2) ?? '', /33 bytes/);
  assert.equal(judgeShare(bytes(1, 32), 1), undefined);
  assert.match(judgeShare(bytes(1, 33), 1) ?? '', /32 bytes/);
});

test('what is kept of a recovery key tells it from others and is not the key', () => {
  assert.notDeepEqual(recoveryHash(bytes(1)), recoveryHash(bytes(2)));
  assert.notDeepEqual(recoveryHash(bytes(1)), Buffer.from(bytes(1)));
});

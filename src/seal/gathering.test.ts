import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addShare, gatheredKey, isComplete, startGathering, wipeGathering } from './gathering.ts';
import { splitSecret } from './shamir.ts';

const secret = Uint8Array.from({ length: 32 }, (_, index) => index * 7 + 1);
const shares = splitSecret({
  secret,
  shares: 3,
  threshold: 2,
  randomness: Uint8Array.from({ length: 32 }, (_, index) => index * 13 + 5),
});
const [first = secret, second = secret, third = secret] = shares;

test('a gathering is complete with as many shares as are required, and not with one less', () => {
  const one = addShare(startGathering('n', 2), first);
  assert.equal(isComplete(one), false);
  const two = addShare(one, third);
  assert.equal(isComplete(two), true);
  assert.deepEqual(gatheredKey(two), secret);
});

test('a share given twice counts once', () => {
  const one = addShare(addShare(startGathering('n', 2), first), Uint8Array.from(first));
  assert.equal(one.shares.length, 1);
  assert.equal(isComplete(one), false);
});

test('another value under the same number counts, and makes no key', () => {
  const forged = Uint8Array.from(first);
  forged[0] = (forged[0] ?? 0) ^ 1;
  const two = addShare(addShare(startGathering('n', 2), first), forged);
  assert.equal(isComplete(two), true);
  assert.equal(gatheredKey(two), undefined);
});

test('the only share of a key is the key', () => {
  const one = addShare(startGathering('n', 1), secret);
  assert.equal(isComplete(one), true);
  assert.deepEqual(gatheredKey(one), secret);
});

test('wiping overwrites every share, and a key that was taken before stays', () => {
  const mine = Uint8Array.from(second);
  const one = addShare(startGathering('n', 1), mine);
  const key = gatheredKey(one);
  wipeGathering(one);
  assert.ok(mine.every((byte) => byte === 0));
  assert.deepEqual(key, second);
});

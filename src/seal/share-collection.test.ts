import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitSecret } from './shamir.ts';
import {
  addShare,
  collectedKey,
  isAbandoned,
  isComplete,
  startCollection,
  wipeCollection,
} from './share-collection.ts';

const secret = Uint8Array.from({ length: 32 }, (_, index) => index * 7 + 1);
const shares = splitSecret({
  secret,
  shares: 3,
  threshold: 2,
  randomness: Uint8Array.from({ length: 32 }, (_, index) => index * 13 + 5),
});
const start = (threshold: number) => startCollection('n', { threshold, generation: 1 }, 0);
const [first = secret, second = secret, third = secret] = shares;

test('a collection is complete with as many shares as are required, and not with one less', () => {
  const one = addShare(start(2), first, 1);
  assert.equal(isComplete(one), false);
  const two = addShare(one, third, 2);
  assert.equal(isComplete(two), true);
  assert.deepEqual(collectedKey(two), secret);
});

test('a share given twice counts once', () => {
  const one = addShare(addShare(start(2), first, 1), Uint8Array.from(first), 2);
  assert.equal(one.shares.length, 1);
  assert.equal(isComplete(one), false);
});

test('another value under the same number counts, and makes no key', () => {
  const forged = Uint8Array.from(first);
  forged[0] = (forged[0] ?? 0) ^ 1;
  const two = addShare(addShare(start(2), first, 1), forged, 2);
  assert.equal(isComplete(two), true);
  assert.equal(collectedKey(two), undefined);
});

test('the only share of a key is the key', () => {
  const one = addShare(start(1), secret, 1);
  assert.equal(isComplete(one), true);
  assert.deepEqual(collectedKey(one), secret);
});

test('wiping overwrites every share, and a key that was taken before stays', () => {
  const mine = Uint8Array.from(second);
  const one = addShare(start(1), mine, 1);
  const key = collectedKey(one);
  wipeCollection(one);
  assert.ok(mine.every((byte) => byte === 0));
  assert.deepEqual(key, second);
});

const HOUR = 3_600_000;
/** An attempt that was started at 0 and got its right shares at these times. */
const attempts: [given: number[], now: number, left: boolean, why: string][] = [
  [[], HOUR - 1, false, 'who started it may still be on the way'],
  [[], HOUR, true, 'nobody who holds a share wants it'],
  [[HOUR - 1], HOUR, false, 'a right share was given'],
  [[1], 24 * HOUR, false, 'others have a day for theirs'],
  [[1], 24 * HOUR + 1, true, 'a day without another share'],
  [[1, 2 * HOUR], 24 * HOUR + 1, false, 'another share came'],
];
for (const [given, now, left, why] of attempts) {
  test(`an attempt with ${given.length} shares, ${now} ms old: ${why}`, () => {
    let attempt = start(3);
    given.forEach((at, index) => {
      attempt = addShare(attempt, shares[index] ?? secret, at);
    });
    assert.equal(isAbandoned(attempt, now), left);
    // Earlier shares count where the attempt goes on with new ones.
    assert.equal(isAbandoned(start(3), HOUR, true), false);
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deriveShare, splitRandomness, splitSecret } from './shamir.ts';
import { deriveHashes, hashShares, isOneOf } from './share-hash.ts';

const bytes = (length: number, seed: number) =>
  Uint8Array.from({ length }, (_, index) => (index * 17 + seed) % 256);
const split = (counts: { shares: number; threshold: number }) =>
  splitSecret({
    secret: bytes(32, 1),
    ...counts,
    randomness: bytes(splitRandomness(32, counts.threshold), 9),
  });
const changed = (share: Uint8Array, at: number) =>
  share.map((byte, index) => (index === at ? byte ^ 1 : byte));

const three = split({ shares: 3, threshold: 2 });
const [first = bytes(33, 0), second = bytes(33, 0)] = three;
const others = splitSecret({
  secret: bytes(32, 1),
  shares: 3,
  threshold: 2,
  randomness: bytes(32, 10),
});

const rows: [share: Uint8Array, isOne: boolean, why: string][] = [
  [first, true, 'the first'],
  [three[2] ?? first, true, 'the last'],
  [changed(first, 0), false, 'one bit is wrong'],
  [changed(first, 31), false, 'the last byte is wrong'],
  [changed(first, 32), false, 'under another number'],
  [others[0] ?? first, false, 'of the same secret, split once more'],
  [first.subarray(0, 32), false, 'without its number'],
  [new Uint8Array(33), false, 'nothing but zeros'],
  [new Uint8Array(0), false, 'empty'],
];
for (const [share, isOne, why] of rows) {
  test(`a share is judged by itself: ${why}`, () => {
    assert.equal(isOneOf(hashShares(three), share), isOne);
    assert.equal(isOneOf(new Uint8Array(0), share), false);
  });
}

const counts = [
  { shares: 2, threshold: 2 },
  { shares: 5, threshold: 3 },
  { shares: 32, threshold: 32 },
];
for (const { shares, threshold } of counts) {
  test(`${threshold} of ${shares} shares tell the hashes of all of them, whichever they are`, () => {
    const all = split({ shares, threshold });
    const hashes = hashShares(all);
    assert.deepEqual(deriveHashes(all.slice(0, threshold), { shares, threshold }), hashes);
    assert.deepEqual(deriveHashes(all.slice(-threshold).reverse(), { shares, threshold }), hashes);
  });
}

test('the only share is hashed as it is, and so many that it would hold the server up are not derived', () => {
  const only = bytes(32, 3);
  assert.deepEqual(deriveHashes([only], { shares: 1, threshold: 1 }), hashShares([only]));
  const many = { shares: 33, threshold: 2 };
  assert.equal(deriveHashes(split(many).slice(0, 2), many), undefined);
});

test('any share can be worked out from enough others, and none from two with one number', () => {
  assert.deepEqual(deriveShare([first, second], 3), three[2]);
  assert.deepEqual(deriveShare([first, second], 1), first);
  assert.equal(deriveShare([first, first], 3), undefined);
});

test('no hash holds anything of its share', () => {
  const hashes = Buffer.from(hashShares(three));
  for (const share of three) {
    for (let at = 0; at + 4 <= share.length; at += 1) {
      assert.equal(hashes.includes(share.subarray(at, at + 4)), false);
    }
  }
});

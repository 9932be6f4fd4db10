import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ShareCounts } from './seal.ts';
import { deriveShare } from './shamir.ts';

const HASH_LENGTH = 32;
/** Of more than these no hashes are derived: the time for it grows with their number thrice. */
const MOST_DERIVED = 32;

/**
 * What is kept of the shares, one hash after another, so that each can be judged for itself and a
 * wrong one never stands among the right ones. A share has 32 random bytes: its hash gives it away
 * to nobody, and helps nobody who has others of them.
 */
export function hashShares(shares: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(shares.map(hashShare));
}

/** Whether a share is one of those that were hashed; in the same time whichever it is. */
export function isOneOf(hashes: Uint8Array, share: Uint8Array): boolean {
  const wanted = hashShare(share);
  let found = false;
  for (let at = 0; at + HASH_LENGTH <= hashes.length; at += HASH_LENGTH) {
    found = timingSafeEqual(hashes.subarray(at, at + HASH_LENGTH), wanted) || found;
  }
  return found;
}

/**
 * The hashes of all shares of a key, from as many as make it.
 *
 * @param shares the right ones: what they make was checked
 * @returns undefined for so many that it would hold the server up; a rekeying knows them all
 */
export function deriveHashes(
  shares: readonly Uint8Array[],
  counts: ShareCounts,
): Uint8Array | undefined {
  if (counts.threshold === 1) return hashShares(shares.slice(0, 1));
  if (counts.shares > MOST_DERIVED) return undefined;
  const all: Uint8Array[] = [];
  for (let x = 1; x <= counts.shares; x += 1) {
    const share = deriveShare(shares, x);
    if (share === undefined) return undefined;
    all.push(share);
  }
  const hashes = hashShares(all);
  for (const share of all) share.fill(0);
  return hashes;
}

function hashShare(share: Uint8Array): Uint8Array {
  return createHmac('sha256', share).update('gatehouse share').digest();
}

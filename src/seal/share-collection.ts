import { timingSafeEqual } from 'node:crypto';
import type { Seal } from './seal.ts';
import { combineShares } from './shamir.ts';

/** Shares that people have brought so far, until there are enough of them. */
export interface ShareCollection {
  /** Names the attempt, so that nobody adds a share to another one than they think. */
  nonce: string;
  required: number;
  /** Of the seal whose shares these are: after a rekeying, on any node, they are of no use. */
  generation: number;
  shares: readonly Uint8Array[];
  /** When it was started or last got a share, Unix milliseconds. */
  moved_at: number;
}

export function startCollection(
  nonce: string,
  seal: Pick<Seal, 'threshold' | 'generation'>,
  now: number,
): ShareCollection {
  const { threshold: required, generation } = seal;
  return { nonce, required, generation, shares: [], moved_at: now };
}

/** Adds a share. One that is there already is not counted again. */
export function addShare(
  collection: ShareCollection,
  share: Uint8Array,
  now: number,
): ShareCollection {
  const known = collection.shares.some(
    (other) => other.length === share.length && timingSafeEqual(other, share),
  );
  return known
    ? collection
    : { ...collection, shares: [...collection.shares, share], moved_at: now };
}

export function isComplete(collection: ShareCollection): boolean {
  return collection.shares.length >= collection.required;
}

/** One that nobody has given a right share leaves its place after an hour, any after a day. */
const WITHOUT_SHARES = 3_600_000;
const WITH_SHARES = 24 * WITHOUT_SHARES;

/**
 * Whether an attempt counts as abandoned: it makes room for another one, so that somebody without a share who starts
 * one, as anybody may, does not keep the place.
 *
 * @param is_proven whether right shares were given earlier on
 */
export function isAbandoned(collection: ShareCollection, now: number, is_proven = false): boolean {
  const isWanted = is_proven || collection.shares.length > 0;
  const patience = isWanted ? WITH_SHARES : WITHOUT_SHARES;
  return now - collection.moved_at >= patience;
}

/**
 * The key that the shares make. Whether it is the right one, only what it opens can tell.
 *
 * @returns undefined when they cannot be shares of one key
 */
export function collectedKey(collection: ShareCollection): Uint8Array | undefined {
  if (collection.required === 1) {
    const [only] = collection.shares;
    return only && Uint8Array.from(only);
  }
  const combined = combineShares(collection.shares);
  return 'secret' in combined ? combined.secret : undefined;
}

export function wipeCollection(collection: ShareCollection | undefined): void {
  for (const share of collection?.shares ?? []) share.fill(0);
}

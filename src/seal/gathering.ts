import { timingSafeEqual } from 'node:crypto';
import { combineShares } from './shamir.ts';

/** Shares that people have brought so far, until there are enough of them. */
export interface Gathering {
  /** Names the attempt, so that nobody adds a share to another one than they think. */
  nonce: string;
  required: number;
  shares: readonly Uint8Array[];
}

export function startGathering(nonce: string, required: number): Gathering {
  return { nonce, required, shares: [] };
}

/** Adds a share. One that is there already is not counted again. */
export function addShare(gathering: Gathering, share: Uint8Array): Gathering {
  const known = gathering.shares.some(
    (other) => other.length === share.length && timingSafeEqual(other, share),
  );
  return known ? gathering : { ...gathering, shares: [...gathering.shares, share] };
}

export function isComplete(gathering: Gathering): boolean {
  return gathering.shares.length >= gathering.required;
}

/**
 * The key that the shares make. Whether it is the right one, only what it opens can tell.
 *
 * @returns undefined when they cannot be shares of one key
 */
export function gatheredKey(gathering: Gathering): Uint8Array | undefined {
  if (gathering.required === 1) {
    const [only] = gathering.shares;
    return only && Uint8Array.from(only);
  }
  const combined = combineShares(gathering.shares);
  return 'secret' in combined ? combined.secret : undefined;
}

export function wipeGathering(gathering: Gathering | undefined): void {
  for (const share of gathering?.shares ?? []) share.fill(0);
}

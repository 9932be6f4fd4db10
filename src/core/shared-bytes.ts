import { siteOfParty } from './party.ts';

/** How many bytes may be kept in memory at the same time. */
export interface ByteLimits {
  total: number;
  /** Of them, for one site; see `siteOf`. */
  each: number;
}

/** What is kept for one asker. */
export interface Hold {
  /** @returns false when there is no room for so many more bytes */
  grow(bytes: number): boolean;
  /** Nobody takes these bytes away any more: work on them has begun. */
  settle(): void;
  /** Gives all of them back. */
  release(): void;
}

/** Somebody's bytes; `giveUp` is undefined once they are settled. */
interface Kept {
  party: string;
  bytes: number;
  giveUp: (() => void) | undefined;
}

/** What a site keeps. */
interface Share {
  site: string;
  bytes: number;
  /** By party. */
  parties: Map<string, number>;
  /** Those that can be given up; the oldest stands first. */
  open: Set<Kept>;
}

/** Of those that a site could give up first: so many are looked at. */
const LOOKS = 64;

/**
 * Bytes kept for others, counted together and by site. One too many takes the place of the oldest of the
 * site that has most, of a party of it that has much: what was begun first and is still not done is slowest.
 */
export class SharedBytes {
  readonly #limits: ByteLimits;
  readonly #shares = new Map<string, Share>();
  #held = 0;

  constructor(limits: ByteLimits) {
    this.#limits = limits;
  }

  /** All that is kept now. */
  get held(): number {
    return this.#held;
  }

  /**
   * Begins to keep bytes for a party.
   *
   * @param giveUp called when the bytes are needed for others; they are given back by then
   */
  hold(party: string, giveUp: () => void): Hold {
    const site = siteOfParty(party);
    const kept: Kept = { party, bytes: 0, giveUp };
    return {
      grow: (bytes) => this.#grow(site, kept, bytes),
      settle: () => {
        kept.giveUp = undefined;
        this.#shares.get(site)?.open.delete(kept);
      },
      release: () => this.#release(site, kept),
    };
  }

  #grow(site: string, kept: Kept, bytes: number): boolean {
    if (!this.#makeRoom(site, kept, bytes)) return false;
    let share = this.#shares.get(site);
    if (!share) {
      share = { site, bytes: 0, parties: new Map(), open: new Set() };
      this.#shares.set(site, share);
    }
    if (kept.giveUp) share.open.add(kept);
    kept.bytes += bytes;
    this.#count(share, kept.party, bytes);
    return true;
  }

  #release(site: string, kept: Kept): void {
    const share = this.#shares.get(site);
    if (!share) return;
    share.open.delete(kept);
    this.#count(share, kept.party, -kept.bytes);
    kept.bytes = 0;
    if (share.bytes === 0) this.#shares.delete(site);
  }

  #count(share: Share, party: string, bytes: number): void {
    this.#held += bytes;
    share.bytes += bytes;
    const own = (share.parties.get(party) ?? 0) + bytes;
    if (own > 0) share.parties.set(party, own);
    else share.parties.delete(party);
  }

  #makeRoom(site: string, own: Kept, bytes: number): boolean {
    const { total, each } = this.#limits;
    for (;;) {
      const ownShare = this.#shares.get(site);
      const ownBytes = ownShare?.bytes ?? 0;
      const isOverOwn = ownBytes + bytes > each;
      if (!isOverOwn && this.#held + bytes <= total) return true;
      const from = isOverOwn ? ownShare : this.#largest();
      // Nobody who keeps less than the asker gives way to them.
      if (!from || from.bytes < ownBytes) return false;
      const oldest = chooseOldest(from);
      if (!oldest || oldest === own) return false;
      if (from === ownShare && bytesOf(from, oldest) < bytesOf(from, own)) return false;
      const { giveUp } = oldest;
      this.#release(from.site, oldest);
      giveUp?.();
    }
  }

  #largest(): Share | undefined {
    let largest: Share | undefined;
    for (const share of this.#shares.values()) {
      if (share.bytes > (largest?.bytes ?? 0)) largest = share;
    }
    return largest;
  }
}

const bytesOf = ({ parties }: Share, { party }: Kept): number => parties.get(party) ?? 0;

/** Of the first that could be given up, one of the party that has most. */
function chooseOldest(share: Share): Kept | undefined {
  let chosen: Kept | undefined;
  let most = 0;
  let looks = 0;
  for (const kept of share.open) {
    const bytes = bytesOf(share, kept);
    if (bytes > most) [chosen, most] = [kept, bytes];
    looks += 1;
    if (looks === LOOKS || share.parties.size === 1) break;
  }
  return chosen;
}

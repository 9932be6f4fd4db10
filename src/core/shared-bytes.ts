/** How many bytes may be kept in memory at the same time. */
export interface ByteLimits {
  total: number;
  /** Of them, for one party. */
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
  bytes: number;
  giveUp: (() => void) | undefined;
}

interface Share {
  bytes: number;
  /** Those that can be given up; the oldest stands first. */
  open: Set<Kept>;
}

/**
 * Bytes kept for others, counted together and by party. One too many takes the place of the oldest of
 * the party that has most: what was begun first and is still not done is what is slowest.
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
    const kept: Kept = { bytes: 0, giveUp };
    return {
      grow: (bytes) => this.#grow(party, kept, bytes),
      settle: () => {
        kept.giveUp = undefined;
        this.#shares.get(party)?.open.delete(kept);
      },
      release: () => this.#release(party, kept),
    };
  }

  #grow(party: string, kept: Kept, bytes: number): boolean {
    if (!this.#makeRoom(party, kept, bytes)) return false;
    const share = this.#shares.get(party) ?? { bytes: 0, open: new Set() };
    this.#shares.set(party, share);
    if (kept.giveUp) share.open.add(kept);
    kept.bytes += bytes;
    share.bytes += bytes;
    this.#held += bytes;
    return true;
  }

  #release(party: string, kept: Kept): void {
    const share = this.#shares.get(party);
    if (!share) return;
    share.open.delete(kept);
    share.bytes -= kept.bytes;
    this.#held -= kept.bytes;
    kept.bytes = 0;
    if (share.bytes === 0) this.#shares.delete(party);
  }

  #makeRoom(party: string, own: Kept, bytes: number): boolean {
    const { total, each } = this.#limits;
    for (;;) {
      const ownBytes = this.#shares.get(party)?.bytes ?? 0;
      const isOverOwn = ownBytes + bytes > each;
      if (!isOverOwn && this.#held + bytes <= total) return true;
      const from = isOverOwn ? party : this.#largest();
      const share = this.#shares.get(from);
      // Nobody who keeps less than the asker gives way to them.
      if (!share || share.bytes < ownBytes) return false;
      const [oldest] = share.open;
      if (!oldest || oldest === own) return false;
      const { giveUp } = oldest;
      this.#release(from, oldest);
      giveUp?.();
    }
  }

  #largest(): string {
    let largest = '';
    let most = 0;
    for (const [party, { bytes }] of this.#shares) {
      if (bytes > most) [largest, most] = [party, bytes];
    }
    return largest;
  }
}

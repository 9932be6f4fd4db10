import { type ByteLimits, type Hold, SharedBytes } from './shared-bytes.ts';

/** Something that is held, and about how many bytes it takes. */
export interface Sized {
  of: object;
  bytes: number;
}

/** How many hold a thing, and where its bytes are counted. */
interface Held {
  holders: number;
  hold: Hold;
}

/**
 * Bytes of things that are held for others while something is done for them. What many hold at the same time is
 * there once and counts once, for whoever held it first.
 */
export class HeldTogether {
  readonly #bytes: SharedBytes;
  readonly #each: number;
  readonly #things = new Map<object, Held>();

  constructor(limits: ByteLimits) {
    this.#bytes = new SharedBytes(limits);
    this.#each = limits.each;
  }

  /** Bytes of all that is held now. */
  get held(): number {
    return this.#bytes.held;
  }

  /** @returns false when there is no room for it: it is not to be held then */
  hold(party: string, { of, bytes }: Sized): boolean {
    const known = this.#things.get(of);
    if (known) {
      known.holders += 1;
      return true;
    }
    const hold = this.#bytes.hold(party, () => {});
    // Work goes on with it: nobody takes it away. What is larger than all that a site may hold is held alone.
    hold.settle();
    if (!hold.grow(Math.min(bytes, this.#each))) return false;
    this.#things.set(of, { holders: 1, hold });
    return true;
  }

  release({ of }: Sized): void {
    const known = this.#things.get(of);
    if (!known) return;
    known.holders -= 1;
    if (known.holders > 0) return;
    this.#things.delete(of);
    known.hold.release();
  }
}

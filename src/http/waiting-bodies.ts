import { type ByteLimits, type Hold, SharedBytes } from '../core/fairness/shared-bytes.ts';

/** A body, and how many answers wait with it. */
interface Kept {
  hold: Hold;
  answers: number;
}

/**
 * Bodies of answers that wait. What many are answered with is kept once, and counts for who asked first until none of
 * them waits.
 */
export class WaitingBodies {
  readonly #bytes: SharedBytes;
  readonly #kept = new Map<object, Kept>();

  constructor(limits: ByteLimits) {
    this.#bytes = new SharedBytes(limits);
  }

  get held(): number {
    return this.#bytes.held;
  }

  /**
   * Keeps a body for one more answer.
   *
   * @param body of which the same may be kept already
   * @param giveUp called when the bytes are needed for others, unless more than this answer waits with them
   * @returns lets go of it; undefined where there is no room
   */
  keep(
    body: object,
    { party, bytes, giveUp }: { party: string; bytes: number; giveUp: () => void },
  ): (() => void) | undefined {
    const known = this.#kept.get(body);
    if (known) {
      // It would stay for the others.
      known.hold.settle();
      return this.#join(body, known);
    }
    const hold = this.#bytes.hold(party, () => {
      this.#kept.delete(body);
      giveUp();
    });
    if (!hold.grow(bytes)) return undefined;
    const kept = { hold, answers: 0 };
    this.#kept.set(body, kept);
    return this.#join(body, kept);
  }

  #join(body: object, kept: Kept): () => void {
    kept.answers += 1;
    return () => {
      kept.answers -= 1;
      if (kept.answers > 0) return;
      kept.hold.release();
      // Another may be there since, where this one was given up.
      if (this.#kept.get(body) === kept) this.#kept.delete(body);
    };
  }
}

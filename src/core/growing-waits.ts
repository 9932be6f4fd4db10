import { LastOf } from './kept.ts';

/** How long somebody waits at least and at most, in milliseconds. */
export interface Bounds {
  shortest?: number;
  longest?: number;
}

const LONGEST = 3_600_000;
/** Of all ids; who was noted longest ago is forgotten first, and does not wait. */
const MOST_BYTES = 16 << 20;
const ENTRY = 64;

/** Who was asked in vain waits as long again as that has gone on: those who may never answer are asked ever less. */
export class GrowingWaits {
  readonly #known = new LastOf<{ since: number; until: number }>(MOST_BYTES, () => ENTRY);
  readonly #shortest: number;
  readonly #longest: number;

  constructor({ shortest = 0, longest = LONGEST }: Bounds = {}) {
    this.#shortest = shortest;
    this.#longest = longest;
  }

  /** @param now milliseconds */
  isOver(id: string, now: number): boolean {
    return (this.#known.find(id)?.until ?? now) <= now;
  }

  /**
   * Notes that somebody was asked in vain.
   *
   * @param longest what this one waits at most, where that is less than all do
   */
  note(id: string, now: number, longest = this.#longest): void {
    const since = this.#known.find(id)?.since ?? now;
    const wait = Math.max(now - since, this.#shortest);
    this.#known.set(id, { since, until: now + Math.min(wait, longest, this.#longest) });
  }

  forget(id: string): void {
    this.#known.delete(id);
  }
}

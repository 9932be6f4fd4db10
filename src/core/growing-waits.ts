import { LastOf } from './kept.ts';

/** Milliseconds: nobody waits longer than that. */
const LONGEST = 3_600_000;
/** Of all ids; who was noted longest ago is forgotten first, and does not wait. */
const MOST_BYTES = 16 << 20;
const ENTRY = 64;

/** Who was asked in vain waits as long again as that has gone on: those who may never answer are asked ever less. */
export class GrowingWaits {
  readonly #known = new LastOf<{ since: number; until: number }>(MOST_BYTES, () => ENTRY);

  /** @param now milliseconds */
  isOver(id: string, now: number): boolean {
    return (this.#known.find(id)?.until ?? now) <= now;
  }

  /** Notes that somebody was asked in vain. */
  note(id: string, now: number): void {
    const since = this.#known.find(id)?.since ?? now;
    this.#known.set(id, { since, until: now + Math.min(now - since, LONGEST) });
  }

  forget(id: string): void {
    this.#known.delete(id);
  }
}

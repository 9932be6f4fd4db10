/** So many deaths within {@link WITHIN_MS} are too many. */
const MOST = 5;
const WITHIN_MS = 60_000;

/** Of threads, of late. */
export class Deaths {
  #at: number[] = [];

  /** Notes one. @returns whether they are too many */
  note(): boolean {
    const now = performance.now();
    this.#at = [...this.#at.filter((at) => at > now - WITHIN_MS), now];
    return this.#at.length >= MOST;
  }
}

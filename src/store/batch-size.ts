/** One transaction has no more statements than these, and fewer where they take long. */
const MOST = 4096;
const LEAST = 64;
/** Milliseconds that the statements of a batch may take: others wait for its end. */
const LONG_MS = 50;
/** By how much the shortest batch of late is longer with each that is longer. */
const FORGETTING = 1.02;

/**
 * How many statements the next batch may have, by how long the last ones took. What any batch takes, however small,
 * is no reason for smaller ones: the way to a database, or a slow disk.
 */
export class BatchSize {
  #statements = MOST;
  #shortest_ms = Number.POSITIVE_INFINITY;

  get statements(): number {
    return this.#statements;
  }

  /** @param sets that were in the batch; of one alone nothing can be left out */
  note(took_ms: number, sets: number): void {
    this.#shortest_ms = Math.min(took_ms, this.#shortest_ms * FORGETTING);
    const long = LONG_MS + 2 * this.#shortest_ms;
    if (took_ms > long && sets > 1) this.#statements = Math.max(LEAST, this.#statements / 2);
    else if (took_ms < long / 2) this.#statements = Math.min(MOST, this.#statements * 2);
  }
}

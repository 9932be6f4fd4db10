/** One transaction has no more statements than these, and fewer where they take long. */
const MOST = 4096;
const LEAST = 64;
/** Until it is known how long they take. */
const FIRST = 512;
/** Milliseconds that the statements of a batch may take: others wait for its end. */
const LONG_MS = 50;
/** By how much the shortest batch of late is longer with each that is longer. */
const FORGETTING = 1.02;
/** Milliseconds that the way to the database is taken to be at most. */
const FAR_MS = 200;

/**
 * How many statements the next batch may have, by how long the last ones took. What any batch takes, however small,
 * is no reason for smaller ones: the way to a database, or a slow disk.
 */
export class BatchSize {
  #statements = FIRST;
  #shortest_ms = FAR_MS;

  get statements(): number {
    return this.#statements;
  }

  /** @param batch how many sets it had, since of one alone nothing can be left out, and their statements */
  note(took_ms: number, batch: { sets: number; statements: number }): void {
    this.#shortest_ms = Math.min(took_ms, this.#shortest_ms * FORGETTING, FAR_MS);
    const long = LONG_MS + 2 * this.#shortest_ms;
    if (took_ms > long && batch.sets > 1) {
      this.#statements = Math.max(LEAST, this.#statements / 2);
    } else if (took_ms < long / 2 && batch.statements >= this.#statements / 2) {
      // Of a small one it is no news that it was short.
      this.#statements = Math.min(MOST, this.#statements * 2);
    }
  }
}

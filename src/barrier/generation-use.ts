/** Places of its numbers: how many values were sealed, and whether any may be. */
const SEALED = 0;
const BEGUN = 1;
const BYTES = 2 * BigInt64Array.BYTES_PER_ELEMENT;

/** That a generation of data keys is used, as another thread can be told it. */
export interface SharedUse {
  term: number;
  shared: SharedArrayBuffer;
}

/** What is sealed with a generation of data keys, by whatever thread of the process: its numbers are in memory of all. */
export class GenerationUse {
  readonly term: number;
  readonly #numbers: BigInt64Array<SharedArrayBuffer>;

  /** @param shared of another thread; absent: nothing is sealed with it yet */
  constructor({ term, shared }: { term: number; shared?: SharedArrayBuffer }) {
    this.term = term;
    this.#numbers = new BigInt64Array(shared ?? new SharedArrayBuffer(BYTES));
  }

  /** To be given to other threads. */
  get told(): SharedUse {
    return { term: this.term, shared: this.#numbers.buffer };
  }

  /** From here on values are sealed with it, on all threads at once: each has to have its key by then. */
  begin(): void {
    Atomics.store(this.#numbers, BEGUN, 1n);
  }

  get hasBegun(): boolean {
    return Atomics.load(this.#numbers, BEGUN) !== 0n;
  }

  /** Counts a value. */
  count(): void {
    Atomics.add(this.#numbers, SEALED, 1n);
  }

  /** Values that were sealed with it. */
  get sealed(): number {
    return Number(Atomics.load(this.#numbers, SEALED));
  }
}

/** Bytes of texts, a power of two. */
const ROOM = 1 << 20;
/** Places among the numbers before them: how many bytes were ever put, and taken, beyond 2^31 from below. */
const PUT = 0;
const TAKEN = 1;
const CALLED = 2;
const CLOSED = 3;
const HEAD_BYTES = 4 * Int32Array.BYTES_PER_ELEMENT;
/** What is put is as long as whole numbers; before it stands its length, or that the next one is at the beginning. */
const UNIT = Int32Array.BYTES_PER_ELEMENT;
const AT_BEGINNING = -1;

/**
 * Texts that one thread hands to another by memory that both have: what was put is there however the first one ends, and
 * is taken once.
 */
export class SharedTexts {
  /** To be given to the other thread. */
  readonly shared: SharedArrayBuffer;
  readonly #head: Int32Array;
  readonly #lengths: Int32Array;
  readonly #bytes: Buffer;

  /** @param shared of the other thread; absent: this is the first one */
  constructor(shared?: SharedArrayBuffer) {
    this.shared = shared ?? new SharedArrayBuffer(HEAD_BYTES + ROOM);
    this.#head = new Int32Array(this.shared, 0, HEAD_BYTES / UNIT);
    this.#lengths = new Int32Array(this.shared, HEAD_BYTES);
    this.#bytes = Buffer.from(this.shared, HEAD_BYTES);
  }

  /**
   * Puts a text. Only ever by one thread.
   *
   * @returns false where there is no room
   */
  put(text: string): boolean {
    const length = Buffer.byteLength(text);
    const put = Atomics.load(this.#head, PUT);
    const free = ROOM - ((put - Atomics.load(this.#head, TAKEN)) | 0);
    const needed = UNIT + Math.ceil(length / UNIT) * UNIT;
    let at = put & (ROOM - 1);
    const left = ROOM - at;
    // None goes on at the beginning.
    const skipped = needed > left ? left : 0;
    if (skipped + needed > free) return false;
    if (skipped > 0) {
      this.#lengths[at / UNIT] = AT_BEGINNING;
      at = 0;
    }
    this.#lengths[at / UNIT] = length;
    this.#bytes.write(text, at + UNIT, length);
    // Last: what is half written was never put.
    Atomics.store(this.#head, PUT, (put + skipped + needed) | 0);
    return true;
  }

  /** Takes what was put, in its order. Only ever by one thread. */
  take(): string[] {
    // Before it is looked: whoever puts more from here on calls again.
    Atomics.store(this.#head, CALLED, 0);
    const put = Atomics.load(this.#head, PUT);
    const texts: string[] = [];
    let taken = Atomics.load(this.#head, TAKEN);
    while (taken !== put) {
      const at = taken & (ROOM - 1);
      const length = this.#lengths[at / UNIT] ?? AT_BEGINNING;
      if (length === AT_BEGINNING) {
        taken = (taken + ROOM - at) | 0;
        continue;
      }
      texts.push(this.#bytes.toString('utf8', at + UNIT, at + UNIT + length));
      taken = (taken + UNIT + Math.ceil(length / UNIT) * UNIT) | 0;
    }
    Atomics.store(this.#head, TAKEN, taken);
    return texts;
  }

  /** Notes that who takes is to be called. @returns whether it was not noted since they last took */
  call(): boolean {
    return Atomics.exchange(this.#head, CALLED, 1) === 0;
  }

  /** Whether who takes has said that nothing more is to be put at present. */
  get isClosed(): boolean {
    return Atomics.load(this.#head, CLOSED) !== 0;
  }

  setClosed(isClosed: boolean): void {
    Atomics.store(this.#head, CLOSED, isClosed ? 1 : 0);
  }
}

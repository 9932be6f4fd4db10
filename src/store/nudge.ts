/** Tells somebody that there is something new: once, until they begin to look. */
export class Nudge {
  readonly #tell: () => void;
  #isTold = false;
  /** Something came that may be later than their look. */
  #isDue = false;

  constructor(tell: () => void) {
    this.#tell = tell;
  }

  /** There is something new. */
  raise(): void {
    if (this.#isTold) {
      this.#isDue = true;
      return;
    }
    this.#isTold = true;
    this.#tell();
  }

  /** They have been told, and look. */
  looked(): void {
    this.#isTold = false;
    if (!this.#isDue) return;
    this.#isDue = false;
    this.raise();
  }
}

/** Milliseconds of a turn of the event loop in which waiters for the same result are resumed. */
const TURN_MS = 5;

/**
 * Has those who waited for the same thing go on one after the other, in the order of coming, each with all that it goes
 * on to do until it waits again. Resolved together they would all go on in one turn of the event loop, however many
 * they are.
 */
export class GoingOn {
  #waiting: (() => void)[] = [];
  /** Those of them who came first, the first of all at the end: who has gone on is not held any more. */
  #first: (() => void)[] = [];
  #isUnderWay = false;
  #until = 0;

  /** Whether nobody waits any more. */
  get isEmpty(): boolean {
    return this.#first.length + this.#waiting.length === 0;
  }

  /** @param go has one of them go on; at once where nobody else does */
  add(go: () => void): void {
    this.#waiting.push(go);
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    this.#begin();
  }

  #begin(): void {
    this.#until = performance.now() + TURN_MS;
    this.#serve();
  }

  #serve(): void {
    if (this.#first.length === 0) {
      this.#first = this.#waiting.reverse();
      this.#waiting = [];
    }
    const go = this.#first.pop();
    // After the microtasks of what went on, and theirs: only then is it known how long it took.
    queueMicrotask(() => process.nextTick(() => this.#goOn()));
    go?.();
  }

  #goOn(): void {
    if (this.isEmpty) this.#isUnderWay = false;
    else if (performance.now() < this.#until) this.#serve();
    else setImmediate(() => this.#begin());
  }
}

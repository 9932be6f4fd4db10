import { ReadingLine } from './reading-line.ts';

/** Milliseconds of a turn of the event loop after which a read waits for the next one. */
const TURN_MS = 5;

/**
 * Has reads that are over at once give way. An `await` of such a read does not let the event loop
 * turn, so that a loop over pages would be one stretch, however many pages there are: once a turn
 * has lasted long, a read begins in a later one, when it is its request's turn.
 */
export class ReadingTurns {
  #until = 0;
  #isCounting = false;
  readonly #line = new ReadingLine();

  /** Whether the turn that is under way has lasted long since its first read. */
  get isOver(): boolean {
    const now = performance.now();
    if (!this.#isCounting) {
      this.#begin(now);
      return false;
    }
    return now > this.#until;
  }

  /** Resolves in a later turn. */
  next(): Promise<void> {
    return this.#line.wait();
  }

  #begin(now: number): void {
    this.#isCounting = true;
    this.#until = now + TURN_MS;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isCounting = false;
    if (this.#line.isEmpty) return;
    this.#begin(performance.now());
    this.#serve();
  }

  /** One after the other, each with all that it goes on to do until it waits: at least one a turn. */
  #serve(): void {
    this.#line.next();
    // After the microtasks of what went on, and theirs: only then is it known how long it took.
    queueMicrotask(() => process.nextTick(() => this.#goOn()));
  }

  #goOn(): void {
    if (!this.#line.isEmpty && performance.now() <= this.#until) this.#serve();
  }
}

import { AskingLine } from './asking-line.ts';
import { scarceHeap } from './scarce-heap.ts';

/** Milliseconds of a turn of the event loop after which work waits for the next one. */
const TURN_MS = 5;

/**
 * Has work in many pieces give way. An `await` of what is over at once, as a read of SQLite is, does not let
 * the event loop turn, so that a loop over pages would be one stretch, however many pages there are; and all
 * that wait for the next turn by themselves go on in it one behind the other, however many they are. Once a
 * turn has lasted long, a piece begins in a later one, when it is its request's turn.
 */
export class LoopTurns {
  #until = 0;
  #isCounting = false;
  readonly #line = new AskingLine();

  /** Whether the turn that is under way has lasted long since its first piece. */
  get isOver(): boolean {
    const now = performance.now();
    if (!this.#isCounting) {
      this.#begin(now);
      return false;
    }
    return now >= this.#until;
  }

  /** Resolves in a later turn. */
  async next(): Promise<void> {
    for (;;) {
      if (!this.#isCounting) this.#begin(performance.now());
      await this.#line.wait();
      const scarce = scarceHeap.pass();
      if (!scarce) return;
      await scarce;
    }
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
    const began = performance.now();
    const network = this.#line.next();
    // After the microtasks of what went on, and theirs: only then is it known how long it took.
    queueMicrotask(() =>
      process.nextTick(() => {
        if (network !== undefined) this.#line.charge(network, performance.now() - began);
        this.#goOn();
      }),
    );
  }

  #goOn(): void {
    if (!this.#line.isEmpty && performance.now() < this.#until) this.#serve();
  }
}

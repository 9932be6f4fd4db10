import { comesNobody, endOfTurn } from '../sockets/turn-length.ts';

/** Requests that are begun together at most. */
const MOST = 16;
/** So long, in milliseconds, may those take together until each of them waits; of slow ones there are fewer. */
const TOGETHER_MS = 2;

/** Requests that go on together. */
interface Group {
  readonly size: number;
  count: number;
  readonly begun: Promise<void>;
  begin(): void;
}

/**
 * Begins the requests of one turn of the event loop together at its end, some at a time, so that they go the same way
 * step by step beside each other. Each by itself, as it is read, goes all the way through some hundred kilobytes of
 * code of which the processor has forgotten the beginning when the next one comes: that takes up to twice as long.
 */
export class Beginnings {
  /** In the order of coming. */
  #groups: Group[] = [];
  #size = MOST;
  /** How long each of the last ones took until it waited, in milliseconds. */
  #each = 0;
  /** How many are to be begun. */
  #due = 0;
  #isDue = false;

  /**
   * Whether some have to wait for a later turn: nobody is to be read on meanwhile. To read takes a part of what a request
   * takes: one network would have hundreds here before the next one's first, and the turns among them are of reading.
   */
  isBehind = false;

  /** Does a request's work, in the context in which it is called. */
  begin<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return this.#join().begun.then(work);
  }

  #join(): Group {
    const now = performance.now();
    this.#due += 1;
    if (now + this.#due * this.#each > endOfTurn(now)) this.isBehind = true;
    const last = this.#groups.at(-1);
    if (last && last.count < last.size) {
      last.count += 1;
      return last;
    }
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const group = { size: comesNobody(now) ? this.#size : 1, count: 1, begun, begin };
    this.#groups.push(group);
    if (!this.#isDue) {
      this.#isDue = true;
      setImmediate(() => this.#serve(endOfTurn()));
    }
    return group;
  }

  #serve(until: number): void {
    const group = this.#groups.shift();
    if (!group) {
      this.#isDue = false;
      this.isBehind = false;
      return;
    }
    this.#due -= group.count;
    const began = performance.now();
    // After the microtasks of what was begun, and theirs: only then is it known how long it took.
    queueMicrotask(() =>
      process.nextTick(() => {
        const now = performance.now();
        this.#each = (now - began) / group.count;
        this.#size = Math.max(1, Math.min(MOST, Math.floor(TOGETHER_MS / this.#each)));
        this.isBehind = now > until && this.#groups.length > 0;
        if (this.isBehind) setImmediate(() => this.#serve(endOfTurn()));
        else this.#serve(until);
      }),
    );
    group.begin();
  }
}

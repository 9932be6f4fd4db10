import type { Batch, BatchResult } from './batch.ts';

/** Those who write, each with one batch at a time. */
export interface Front {
  /** Told the outcomes of its own batch. */
  done(result: BatchResult): void;
}

interface Arrival {
  front: Front;
  batch: Batch;
}

/**
 * Batches of several threads, which become one transaction where they wait at the same time: it waits for the disk once
 * for all of them. Of those who wait, whoever was come to longest ago goes first.
 */
export class Arrivals {
  readonly #run: (batch: Batch) => BatchResult | Promise<BatchResult>;
  #waiting: Arrival[] = [];
  #isRunning = false;
  #isScheduled = false;
  #fronts = 1;
  /** The run in which each was come to last. */
  readonly #served = new WeakMap<Front, number>();
  #runs = 0;

  /** @param run never throws, and is not called again before it has ended */
  constructor(run: (batch: Batch) => BatchResult | Promise<BatchResult>) {
    this.#run = run;
  }

  /** One more writes here. */
  join(): void {
    this.#fronts += 1;
  }

  leave(): void {
    this.#fronts -= 1;
  }

  add(front: Front, batch: Batch): void {
    this.#waiting.push({ front, batch });
    if (this.#isRunning || this.#isScheduled) return;
    if (this.#fronts === 1) {
      void this.#runAll();
      return;
    }
    // What the other threads have sent as well is read first.
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const arrivals = this.#takeAll();
      const [only] = arrivals;
      const all =
        arrivals.length === 1 && only ? only.batch : arrivals.flatMap(({ batch }) => batch);
      const running = this.#run(all);
      // Of what is done at once nobody waits for a promise.
      this.#share(arrivals, running instanceof Promise ? await running : running);
    }
    this.#isRunning = false;
  }

  #takeAll(): Arrival[] {
    const all = this.#waiting;
    this.#waiting = [];
    const servedIn = ({ front }: Arrival): number => this.#served.get(front) ?? 0;
    return all.length === 1 ? all : all.sort((one, other) => servedIn(one) - servedIn(other));
  }

  #share(arrivals: readonly Arrival[], { outcomes, left, config_version }: BatchResult): void {
    this.#runs += 1;
    let at = 0;
    for (const { front, batch } of arrivals) {
      const own = outcomes.slice(at, at + batch.length);
      at += batch.length;
      const missing = batch.length - own.length;
      if (own.length > 0) this.#served.set(front, this.#runs);
      front.done({
        outcomes: own,
        ...(left === undefined ? {} : { left: missing }),
        ...(config_version === undefined ? {} : { config_version }),
      });
    }
  }
}

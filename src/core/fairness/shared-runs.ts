import { doFor } from './asking.ts';
import { SHARED_PARTY } from './party.ts';

/**
 * Work that does all there is to do, whoever asks for it, one run at a time. Whoever asks while one is under way, which
 * may be past what they mean, shares the next one with all others that ask meanwhile. A run is not for one of those who
 * wait for it, and goes on as work that is shared.
 */
export class SharedRuns {
  #underWay: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** @param work is done for the first who asks for a run; how it ends is told to all who share it */
  run(work: () => Promise<void>): Promise<void> {
    if (this.#underWay) this.#next ??= this.#follow(this.#underWay, work);
    return this.#next ?? this.#begin(work);
  }

  async #follow(before: Promise<void>, work: () => Promise<void>): Promise<void> {
    // Its end is told to those who share it.
    await before.catch(() => {});
    this.#next = undefined;
    return this.#begin(work);
  }

  #begin(work: () => Promise<void>): Promise<void> {
    const run = doFor(SHARED_PARTY, async () => work()).finally(() => {
      this.#underWay = undefined;
    });
    this.#underWay = run;
    return run;
  }
}

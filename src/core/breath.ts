/** Work of more milliseconds than this lets others go first before it goes on. */
const LONG = 5;

/** For work in many small steps, which together may take long: others have their turn meanwhile. */
export class Breath {
  #since = performance.now();

  /** Whether it is time. Asked before `take` where steps take less than a microtask does. */
  get isDue(): boolean {
    return performance.now() - this.#since >= LONG;
  }

  /** To be called between two steps. */
  async take(): Promise<void> {
    if (!this.isDue) return;
    await new Promise(setImmediate);
    this.#since = performance.now();
  }
}

import { doShared } from './asking.ts';
import { AskingPlaces } from './asking-places.ts';

const newLine = () => ({ place: new AskingPlaces(1), present: 0 });

/**
 * Runs one piece of work of each key at a time; others with the same key wait. Turns go round networks, addresses
 * and requests, since some keys are used by everybody.
 */
export class Lines {
  /** By key, how many run or wait. */
  readonly #lines = new Map<string, ReturnType<typeof newLine>>();

  /**
   * Runs when nobody else runs by the same key any more, however that ended.
   *
   * @param run is told whether it had to wait: what was read before may be outdated then
   */
  async wait<Result>(key: string, run: (hasWaited: boolean) => Promise<Result>): Promise<Result> {
    const line = this.#lines.getOrInsertComputed(key, newLine);
    line.present += 1;
    try {
      const waits = !line.place.tryTake();
      if (waits) await line.place.wait();
      try {
        return await doShared(() => run(waits));
      } finally {
        line.place.giveBack();
      }
    } finally {
      line.present -= 1;
      if (line.present === 0) this.#lines.delete(key);
    }
  }

  /** Whether somebody runs by a key, or waits for it. */
  has(key: string): boolean {
    return this.#lines.has(key);
  }

  /** Keys by which somebody runs or waits. */
  get size(): number {
    return this.#lines.size;
  }
}

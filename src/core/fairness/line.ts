import { doShared } from './asking.ts';
import { AskingPlaces } from './asking-places.ts';

/**
 * Has those who come for one thing wait for each other; of each thing one runs at a time. Whose turn is next goes
 * round networks, addresses and requests: some things are everybody's.
 */
export class Lines {
  /** Who is at a thing, and how many come for it. */
  readonly #lines = new Map<string, { place: AskingPlaces; present: number }>();

  /**
   * Runs when nobody else is at the same thing any more, however that ended.
   *
   * @param run is told whether it had to wait: what was read of the thing before may be outdated then
   */
  async wait<Result>(thing: string, run: (hasWaited: boolean) => Promise<Result>): Promise<Result> {
    const none = { place: new AskingPlaces(1), present: 0 };
    const line = this.#lines.getOrInsert(thing, none);
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
      if (line.present === 0) this.#lines.delete(thing);
    }
  }

  /** Whether somebody is at a thing, or waits for it. */
  has(thing: string): boolean {
    return this.#lines.has(thing);
  }

  /** Things that somebody is at, or waits for. */
  get size(): number {
    return this.#lines.size;
  }
}

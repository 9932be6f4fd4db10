import { FewBySize } from './few-in-turn.ts';
import { Lines } from './line.ts';

/** In bytes, as far as they are known beforehand. */
const LONG = 16 << 10;
const LARGE = 128 << 10;

/**
 * Changes of stored things that are read and written whole. A longer one is changed in a place for few, because it is
 * held several times over until the change is durable; those who change the same one come one after the other, because
 * each would read it only to come too late. Whoever waits holds nothing of it.
 */
export class ChangesInTurn {
  readonly #places = new FewBySize();
  readonly #lines = new Lines();

  /**
   * @param key what tells it from others of its kind
   * @param bytes how long it is before the change, measured where it is stored; a short one waits for nobody
   * @param change reads it; it is told whether others may have changed it since it was measured, as it may have waited
   */
  async run<Result>(
    key: string,
    bytes: number,
    change: (mayHaveWaited: boolean) => Promise<Result>,
  ): Promise<Result> {
    if (bytes <= LONG) return change(false);
    // The line within the place: who waits for a place, behind much of their own perhaps, keeps nobody from the line.
    return this.#places.of(bytes > LARGE).run(() => this.#lines.wait(key, () => change(true)));
  }
}

import { FewBySize } from './few-in-turn.ts';
import { Lines } from './line.ts';

/** In bytes, as far as they are known beforehand. */
const LONG = 16 << 10;
const LARGE = 128 << 10;

/**
 * Changes of records that are read and written whole. Long ones are changed by few at once, because each is held
 * several times over until the change is durable; changes of the same record run one after the other, because all but
 * one would otherwise be refused. Whoever waits holds nothing of it.
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
    // The line is entered only with a place: waiting for a place must not keep others with the same key waiting.
    return this.#places.of(bytes > LARGE).run(() => this.#lines.wait(key, () => change(true)));
  }
}

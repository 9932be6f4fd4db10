import { BoundedMap } from '../bounded-map.ts';

/** So long is somebody known to be slow, in milliseconds. */
const KNOWN_MS = 30_000;
/** Of so many at most; who was slow longest ago is forgotten first. */
const MOST_KNOWN = 4096;

/** Who took long lately. */
export class SlowOnes {
  readonly #known = new BoundedMap<{ until: number; silent: boolean }>(MOST_KNOWN);

  find(key: string, now: number): { silent: boolean } | undefined {
    const known = this.#known.get(key);
    return known && known.until > now ? known : undefined;
  }

  note(key: string, now: number, silent: boolean): void {
    this.#known.set(key, { until: now + KNOWN_MS, silent });
  }
}

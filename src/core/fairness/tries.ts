import { BoundedMap } from '../bounded-map.ts';

/** Of so many that were asked in vain; who was so longest ago is forgotten first. */
const MOST_KNOWN = 65_536;

/** Failed attempts in order: they are tried again after all others, the oldest failure first. */
export class Tries {
  readonly #known = new BoundedMap<number>(MOST_KNOWN);
  #count = 0;

  /** Grows with each try; 0 for what was not asked in vain. */
  find(id: string): number {
    return this.#known.get(id) ?? 0;
  }

  note(id: string): void {
    this.#count += 1;
    this.#known.set(id, this.#count);
  }

  forget(id: string): void {
    this.#known.delete(id);
  }
}

/** Of those whose turns, or the like, are remembered. */
const MOST = 4_096;

/** A map of at most so many entries: what was set longest ago goes first. Where they differ in size, see `LastOf`. */
export class BoundedMap<Value> extends Map<string, Value> {
  readonly #most: number;

  constructor(most: number = MOST) {
    super();
    this.#most = most;
  }

  override set(key: string, value: Value): this {
    // A map hands out its keys in the order they were put in.
    this.delete(key);
    super.set(key, value);
    for (const oldest of this.keys()) {
      if (this.size <= this.#most) break;
      this.delete(oldest);
    }
    return this;
  }
}

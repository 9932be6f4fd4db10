/** Values by key that together weigh no more than some amount; beyond it all are forgotten. */
export class LastOf<Value> {
  readonly #values = new Map<string, Value>();
  readonly #most: number;
  readonly #weigh: (value: Value) => number;
  #weight = 0;

  constructor(most: number, weigh: (value: Value) => number) {
    this.#most = most;
    this.#weigh = weigh;
  }

  find(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    const before = this.#values.get(key);
    if (before !== undefined) this.#weight -= this.#weigh(before);
    this.#weight += this.#weigh(value);
    if (this.#weight > this.#most) {
      this.#values.clear();
      this.#weight = this.#weigh(value);
    }
    this.#values.set(key, value);
  }
}

/** Values that are loaded once while they are kept, at most so many by weight as {@link LastOf}. */
export class Kept<Value> {
  readonly #loaded: LastOf<Value>;
  readonly #loading = new Map<string, Promise<Value>>();

  constructor(most: number, weigh: (value: Value) => number) {
    this.#loaded = new LastOf(most, weigh);
  }

  /** Those who ask at the same time wait for one loading; a failed one is not kept. */
  async get(key: string, load: () => Promise<Value>): Promise<Value> {
    const known = this.#loaded.find(key);
    if (known !== undefined) return known;
    const begun = this.#loading.get(key);
    if (begun) return begun;
    const loading = load();
    this.#loading.set(key, loading);
    try {
      const value = await loading;
      this.#loaded.set(key, value);
      return value;
    } finally {
      this.#loading.delete(key);
    }
  }
}

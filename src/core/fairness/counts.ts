/** Sums by key, of which those that are nothing take no memory. */
export class Counts {
  readonly #sums = new Map<string, number>();

  get size(): number {
    return this.#sums.size;
  }

  get(key: string): number {
    return this.#sums.get(key) ?? 0;
  }

  add(key: string, by: number): void {
    const sum = this.get(key) + by;
    if (sum === 0) this.#sums.delete(key);
    else this.#sums.set(key, sum);
  }
}

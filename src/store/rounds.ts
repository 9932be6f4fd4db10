/** Items by name in the order of their turns, which go round and round. */
export class Rounds<Item> {
  readonly #first = new Map<string, Item>();
  readonly #rest = new Map<string, Item>();

  /** Whose turn is next. */
  get next(): Item | undefined {
    for (const [, item] of this.#first) return item;
    for (const [, item] of this.#rest) return item;
    return undefined;
  }

  /** It has had its turn, or is new. */
  toEnd(name: string, item: Item): void {
    this.delete(name);
    this.#rest.set(name, item);
  }

  /** It comes before all but those that were put here before. */
  toFront(name: string, item: Item): void {
    if (this.#first.has(name)) return;
    this.#rest.delete(name);
    this.#first.set(name, item);
  }

  delete(name: string): void {
    if (!this.#first.delete(name)) this.#rest.delete(name);
  }
}

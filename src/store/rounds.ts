/** Things by name in the order of their turns, which go round and round. */
export class Rounds<Thing> {
  readonly #first = new Map<string, Thing>();
  readonly #rest = new Map<string, Thing>();

  /** Whose turn is next. */
  get next(): Thing | undefined {
    for (const [, thing] of this.#first) return thing;
    for (const [, thing] of this.#rest) return thing;
    return undefined;
  }

  /** It has had its turn, or is new. */
  toEnd(name: string, thing: Thing): void {
    this.delete(name);
    this.#rest.set(name, thing);
  }

  /** It comes before all but those that were put here before. */
  toFront(name: string, thing: Thing): void {
    if (this.#first.has(name)) return;
    this.#rest.delete(name);
    this.#first.set(name, thing);
  }

  delete(name: string): void {
    if (!this.#first.delete(name)) this.#rest.delete(name);
  }
}

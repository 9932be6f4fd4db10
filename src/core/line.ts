/** Has those who come for one thing wait for each other; of each thing one runs at a time. */
export class Lines {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs when everybody who came before for the same thing is through, however that ended. */
  wait<Result>(thing: string, run: () => Promise<Result>): Promise<Result> {
    const turn = (this.#last.get(thing) ?? Promise.resolve()).then(run);
    const over = turn.then(
      () => {},
      () => {},
    );
    this.#last.set(thing, over);
    over.then(() => {
      if (this.#last.get(thing) === over) this.#last.delete(thing);
    });
    return turn;
  }

  /** Things that somebody is at, or waits for. */
  get size(): number {
    return this.#last.size;
  }
}

/** Who asks for costly work, as far as sharing it out is concerned. */
export interface Asker {
  /** Those of one party share what one party may have; see `partyOf`. */
  party: string;
  /**
   * Calls a listener once the asker has gone before being answered.
   *
   * @returns what takes the listener away again
   */
  onGone?: ((listener: () => void) => () => void) | undefined;
}

/** How much goes on and waits at the same time. */
export interface Places {
  /** Pieces of work under way. */
  at_once: number;
  /** Of them, of one party; the same as `at_once` unless the work is long. */
  at_once_each?: number;
  /** Pieces of work that wait. */
  waiting: number;
  /** Of them, of one party. */
  waiting_each: number;
}

/** Why somebody's turn did not come: too many wait, or the asker has gone. */
export type Turned = 'refused' | 'gone';

interface Waiting {
  party: string;
  go(): void;
  drop(why: Turned): void;
}

/**
 * Lets few pieces of costly work go on at the same time. Whoever waits is served in turn by party, and
 * in the order of coming within a party, so that one who asks a thousand times waits for himself and
 * not everybody for him.
 */
export class FairTurns {
  readonly #places: Places;
  readonly #refuse: (why: Turned) => Error;
  #running = 0;
  #waiting = 0;
  readonly #runningOf = new Map<string, number>();
  /** Whose turn is next stands first. */
  readonly #lines = new Map<string, Waiting[]>();

  /** @param refuse makes what those hear whose turn does not come */
  constructor(places: Places, refuse: (why: Turned) => Error) {
    this.#places = places;
    this.#refuse = refuse;
  }

  /** Does a piece of work when its turn comes. When it does not come, nothing was begun. */
  async take<Result>(asker: Asker, work: () => Promise<Result>): Promise<Result> {
    const { party } = asker;
    if (this.#mayRun(party)) this.#begin(party);
    else await this.#wait(asker);
    try {
      return await work();
    } finally {
      this.#end(party);
    }
  }

  /** Whether an asker would be served or wait, and not be refused. */
  hasPlaceFor({ party }: Asker): boolean {
    if (this.#mayRun(party)) return true;
    const { waiting, waiting_each } = this.#places;
    const own = this.#lines.get(party)?.length ?? 0;
    return own < waiting_each && (this.#waiting < waiting || this.#longest().length > own + 1);
  }

  /** What waits now. */
  get waiting(): number {
    return this.#waiting;
  }

  /** What goes on now. */
  get running(): number {
    return this.#running;
  }

  #mayRun(party: string): boolean {
    const { at_once, at_once_each = at_once } = this.#places;
    return this.#running < at_once && (this.#runningOf.get(party) ?? 0) < at_once_each;
  }

  #begin(party: string): void {
    this.#running += 1;
    this.#runningOf.set(party, (this.#runningOf.get(party) ?? 0) + 1);
  }

  #end(party: string): void {
    this.#running -= 1;
    const left = (this.#runningOf.get(party) ?? 0) - 1;
    if (left > 0) this.#runningOf.set(party, left);
    else this.#runningOf.delete(party);
    this.#goOn();
  }

  /** Begins what waits and may run, the party first that has waited longest for its turn. */
  #goOn(): void {
    for (const [party, line] of this.#lines) {
      if (this.#running >= this.#places.at_once) return;
      if (!this.#mayRun(party)) continue;
      const next = line.shift();
      this.#lines.delete(party);
      // To the end, where this loop comes by once more.
      if (line.length > 0) this.#lines.set(party, line);
      if (!next) continue;
      this.#waiting -= 1;
      // Counted here, so that nobody comes in between.
      this.#begin(party);
      next.go();
    }
  }

  #wait({ party, onGone }: Asker): Promise<void> {
    const why = this.#makeRoom(party);
    if (why) return Promise.reject(this.#refuse(why));
    return new Promise<void>((resolve, reject) => {
      let forget = (): void => {};
      const entry: Waiting = {
        party,
        go: () => {
          forget();
          resolve();
        },
        drop: (because) => {
          forget();
          this.#remove(entry);
          reject(this.#refuse(because));
        },
      };
      const line = this.#lines.get(party);
      if (line) line.push(entry);
      else this.#lines.set(party, [entry]);
      this.#waiting += 1;
      if (onGone) forget = onGone(() => entry.drop('gone'));
    });
  }

  /** Finds a place for one more of a party, from the party that has most when all are taken. */
  #makeRoom(party: string): 'refused' | undefined {
    const { waiting, waiting_each } = this.#places;
    const own = this.#lines.get(party)?.length ?? 0;
    if (own >= waiting_each) return 'refused';
    if (this.#waiting < waiting) return undefined;
    const longest = this.#longest();
    // Only from somebody who still has as many afterwards: otherwise two would take turns in it.
    if (longest.length <= own + 1) return 'refused';
    longest.at(-1)?.drop('refused');
    return undefined;
  }

  #longest(): Waiting[] {
    let longest: Waiting[] = [];
    for (const line of this.#lines.values()) if (line.length > longest.length) longest = line;
    return longest;
  }

  #remove(entry: Waiting): void {
    const line = this.#lines.get(entry.party);
    const at = line?.indexOf(entry) ?? -1;
    if (!line || at < 0) return;
    line.splice(at, 1);
    if (line.length === 0) this.#lines.delete(entry.party);
    this.#waiting -= 1;
  }
}

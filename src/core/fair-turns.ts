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
  /** How much work it is; 1 unless there is work of several sizes. */
  weight?: number;
}

/** How much goes on and waits at the same time. */
export interface Places {
  /** Pieces of work under way. */
  at_once: number;
  /** Of them, of one party; the same as `at_once` unless the work is long. */
  at_once_each?: number;
  /** Weight of all that waits. */
  waiting: number;
  /** Of it, of one party. */
  waiting_each: number;
}

/** Why somebody's turn did not come: too many wait, or the asker has gone. */
export type Turned = 'refused' | 'gone';

interface Waiting {
  weight: number;
  go(): void;
  drop(why: Turned): void;
}

/** What waits of one party, in the order of coming. */
interface Line {
  party: string;
  entries: Waiting[];
  /** Of all entries. */
  weight: number;
}

const NOBODY: Line = { party: '', entries: [], weight: 0 };

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
  readonly #lines = new Map<string, Line>();

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
  hasPlaceFor({ party, weight = 1 }: Asker): boolean {
    return this.#mayRun(party) || this.#findRoom(party, weight) !== 'none';
  }

  /** Weight of what waits now. */
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
      const next = line.entries[0];
      if (!next) continue;
      this.#remove(line, next);
      if (line.entries.length > 0) {
        // To the end, where this loop comes by once more.
        this.#lines.delete(party);
        this.#lines.set(party, line);
      }
      // Counted here, so that nobody comes in between.
      this.#begin(party);
      next.go();
    }
  }

  #wait({ party, onGone, weight = 1 }: Asker): Promise<void> {
    if (!this.#makeRoom(party, weight)) return Promise.reject(this.#refuse('refused'));
    const line = this.#lines.get(party) ?? { party, entries: [], weight: 0 };
    return new Promise<void>((resolve, reject) => {
      let forget = (): void => {};
      const entry: Waiting = {
        weight,
        go: () => {
          forget();
          resolve();
        },
        drop: (because) => {
          forget();
          this.#remove(line, entry);
          reject(this.#refuse(because));
        },
      };
      line.entries.push(entry);
      line.weight += weight;
      this.#waiting += weight;
      this.#lines.set(party, line);
      if (onGone) forget = onGone(() => entry.drop('gone'));
    });
  }

  /** Finds a place for more work of a party, from the parties that have most when all are taken. */
  #makeRoom(party: string, weight: number): boolean {
    for (;;) {
      const room = this.#findRoom(party, weight);
      if (room === 'free') return true;
      if (room === 'none') return false;
      room.entries.at(-1)?.drop('refused');
    }
  }

  /** Whether there is a place for more work of a party, or whose last one has to give way first. */
  #findRoom(party: string, weight: number): 'free' | 'none' | Line {
    const { waiting, waiting_each } = this.#places;
    const own = this.#lines.get(party)?.weight ?? 0;
    if (own + weight > waiting_each) return 'none';
    if (this.#waiting + weight <= waiting) return 'free';
    const longest = this.#longest();
    const last = longest.entries.at(-1)?.weight ?? 0;
    // Only from somebody who still has as much afterwards: otherwise two would take turns in it.
    return longest.weight - last >= own + weight ? longest : 'none';
  }

  #longest(): Line {
    let longest = NOBODY;
    for (const line of this.#lines.values()) if (line.weight > longest.weight) longest = line;
    return longest;
  }

  #remove(line: Line, entry: Waiting): void {
    const at = line.entries.indexOf(entry);
    if (at < 0) return;
    line.entries.splice(at, 1);
    line.weight -= entry.weight;
    this.#waiting -= entry.weight;
    if (line.entries.length === 0) this.#lines.delete(line.party);
  }
}

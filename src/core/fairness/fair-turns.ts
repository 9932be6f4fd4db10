import type { Asker } from './asker.ts';
import { doShared } from './asking.ts';
import { Counts } from './counts.ts';
import { compareTurns, LEVELS, type Line, type Turned, type Waiting } from './giving-way.ts';
import { NETWORK_PART } from './party.ts';
import { type Names, namesFor, namesOf, WaitingLines } from './waiting-lines.ts';

/** How much goes on and waits at the same time. */
export interface Places {
  /** Pieces of work under way. */
  at_once: number;
  /** Of them, of one party; the same as `at_once` unless the work is long. */
  at_once_each?: number;
  /**
   * Of them, of one site; the same as `at_once` unless one with many addresses must not have all. Then a network has
   * three quarters at most, too.
   */
  at_once_site?: number;
  /** Weight of all that waits. */
  waiting: number;
  /** Of it, of one party. */
  waiting_each: number;
  /**
   * Whoever has waited so long is refused, and no more wait than are through in that time, as long as
   * pieces of work have taken of late; without end unless told.
   */
  longest_wait_ms?: number;
  /** The same, where work waits for others: how long that takes tells nothing of how many are through in the time. */
  longest_patience_ms?: number;
  /**
   * The rank that each turn is for, over and over: when none of it waits, the turn is for the lowest
   * that does. A rank that is never named has what is left; `[0]` unless told.
   */
  preference?: readonly number[];
}

/** Of the durations of work, the part that the newest has in their mean. */
const NEWEST = 1 / 8;

/**
 * Lets few pieces of costly work go on at the same time. Of those who wait and are of the rank whose turn it
 * is, the network comes first that has had no turn for longest, within it the site, within that the party, and within a
 * party who came first: one who asks a thousand times waits for himself and not everybody for him, a network of many
 * addresses has no more turns than one of a single address, and whoever has had no turn yet goes before
 * those who come again and again.
 */
export class FairTurns {
  readonly #places: Places;
  readonly #refuse: (why: Turned) => Error;
  readonly #now: () => number;
  readonly #preference: readonly number[];
  #running = 0;
  #turn = 0;
  /** How long a unit of weight takes, in milliseconds; 0 until some work has ended. */
  #usual_ms = 0;
  readonly #runningOf = { network: new Counts(), site: new Counts(), party: new Counts() };
  readonly #lines = new WaitingLines();

  /**
   * @param refuse makes what those hear whose turn does not come
   * @param now milliseconds, for the time that work takes
   */
  constructor(places: Places, refuse: (why: Turned) => Error, now = () => performance.now()) {
    this.#places = places;
    this.#refuse = refuse;
    this.#now = now;
    this.#preference = places.preference ?? [0];
  }

  /** Does a piece of work when its turn comes. When it does not come, nothing was begun. */
  async take<Result>(asker: Asker, work: () => Promise<Result>): Promise<Result> {
    const { weight = 1 } = asker;
    const place = namesFor(asker);
    if (this.#mayRun(place)) this.#begin(place);
    else await this.#wait(asker);
    const start = this.#now();
    try {
      return await doShared(work);
    } finally {
      this.#measure((this.#now() - start) / weight);
      this.#end(place);
    }
  }

  /** Whether an asker would be served or wait, and not be refused. */
  hasPlaceFor(asker: Asker): boolean {
    return this.isFreeFor(asker) || this.#findRoom(asker) !== 'none';
  }

  /** Whether an asker would be served at once. */
  isFreeFor(asker: Asker): boolean {
    return this.#mayRun(namesFor(asker));
  }

  /** Weight of what waits now. */
  get waiting(): number {
    return this.#lines.weight;
  }

  /** What goes on now. */
  get running(): number {
    return this.#running;
  }

  #mayRun({ party, site, network }: Names): boolean {
    const { at_once, at_once_each = at_once, at_once_site = at_once } = this.#places;
    if (this.#running >= at_once) return false;
    if (at_once_site < at_once) {
      if (this.#runningOf.site.get(site) >= at_once_site) return false;
      const ofNetwork = Math.max(at_once_site, Math.floor(at_once * NETWORK_PART));
      if (this.#runningOf.network.get(network) >= ofNetwork) return false;
    }
    return at_once_each >= at_once || this.#runningOf.party.get(party) < at_once_each;
  }

  #begin(names: Names): void {
    this.#count(names, 1);
    this.#turn += 1;
    this.#lines.noteTurn(names, this.#turn);
  }

  #end(names: Names): void {
    this.#count(names, -1);
    this.#goOn();
  }

  #count(names: Names, by: number): void {
    this.#running += by;
    for (const level of LEVELS) this.#runningOf[level].add(names[level], by);
  }

  #measure(unit_ms: number): void {
    if (this.#usual_ms === 0) this.#usual_ms = unit_ms;
    else this.#usual_ms += (unit_ms - this.#usual_ms) * NEWEST;
  }

  /** Begins what waits and may run. */
  #goOn(): void {
    while (this.#running < this.#places.at_once) {
      const line = this.#chooseNext();
      const next = line?.entries[0];
      if (!line || !next) return;
      this.#lines.remove(line, next);
      // Counted here, so that nobody comes in between.
      this.#begin(namesOf(line));
      next.go();
    }
  }

  #chooseNext(): Line | undefined {
    const wanted = this.#preference[this.#turn % this.#preference.length] ?? 0;
    let best: Line | undefined;
    for (const line of this.#lines.all()) {
      if (!this.#mayRun(namesOf(line))) continue;
      if (!best || this.#goesBefore(line, best, wanted)) best = line;
    }
    return best;
  }

  #goesBefore(line: Line, other: Line, wanted: number): boolean {
    if (line.rank !== other.rank) {
      return line.rank === wanted || (other.rank !== wanted && line.rank < other.rank);
    }
    return compareTurns(line, other) < 0;
  }

  #wait(asker: Asker): Promise<void> {
    if (!this.#makeRoom(asker)) return Promise.reject(this.#refuse('refused'));
    const line = this.#lines.lineOf(asker);
    const { onGone, weight = 1 } = asker;
    return new Promise<void>((resolve, reject) => {
      const forget: (() => void)[] = [];
      const leave = (): void => {
        for (const one of forget) one();
      };
      const entry: Waiting = {
        weight,
        go: () => {
          leave();
          resolve();
        },
        drop: (because) => {
          leave();
          this.#lines.remove(line, entry);
          reject(this.#refuse(because));
        },
      };
      this.#lines.add(line, entry);
      const { longest_wait_ms, longest_patience_ms = longest_wait_ms } = this.#places;
      if (longest_patience_ms !== undefined) {
        const timer = setTimeout(() => entry.drop('refused'), longest_patience_ms);
        forget.push(() => clearTimeout(timer));
      }
      if (onGone) forget.push(onGone(() => entry.drop('gone')));
    });
  }

  /** Finds a place for more work of a party, from those that have most when all are taken. */
  #makeRoom(asker: Asker): boolean {
    for (;;) {
      const room = this.#findRoom(asker);
      if (room === 'free') return true;
      const last = room === 'none' ? undefined : room.entries.at(-1);
      if (!last) return false;
      last.drop('refused');
    }
  }

  /** Whether there is a place for more work of a party, or whose last one has to give way first. */
  #findRoom(asker: Asker): 'free' | 'none' | Line {
    const fresh = this.#lines.freshOf(asker);
    const { party, weight } = fresh;
    const isOver = party.weight + weight > this.#places.waiting_each;
    if (!isOver && this.#lines.weight + weight <= this.#mostWaiting()) return 'free';
    return this.#lines.findWorst(fresh, isOver) ?? 'none';
  }

  /** Weight of what is through before anybody has waited too long. */
  #mostWaiting(): number {
    const { at_once, waiting, longest_wait_ms } = this.#places;
    if (longest_wait_ms === undefined || this.#usual_ms === 0) return waiting;
    const through = Math.floor((at_once * longest_wait_ms) / this.#usual_ms);
    return Math.min(waiting, Math.max(at_once, through));
  }
}

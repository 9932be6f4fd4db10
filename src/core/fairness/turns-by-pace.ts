import { BoundedMap } from '../bounded-map.ts';
import type { Asker } from './asker.ts';
import { FairTurns, type Places } from './fair-turns.ts';
import type { Turned } from './giving-way.ts';

/** How much is asked of others at the same time. */
export interface PacePlaces {
  /** Of those of whom nothing is known; also of those whose quick ones turned slow. */
  fresh: Places;
  quick: Places;
  slow: Places;
  /** Of quick ones that turned slow: they go on, and hold no place of the quick ones. */
  overdue: number;
  /** What takes longer is slow, in milliseconds. */
  slow_ms: number;
}

/** Time, for the turns. */
export interface PaceClock {
  /** Milliseconds. */
  now(): number;
  /** @returns what takes it back */
  after(ms: number, then: () => void): () => void;
}

interface PaceAsker extends Asker {
  /** Who is held to it that a quick one turned slow; the site unless told. */
  blamed?: string;
}

/** So long has nobody a place among the quick ones whose quick ones turned slow, in milliseconds. */
const BLAMED_MS = 60_000;

/** Of what is remembered of each kind; what was longest ago is forgotten first. */
const MOST_KNOWN = 4096;

export const CLOCK: PaceClock = {
  now: () => performance.now(),
  after: (ms, then) => {
    const timer = setTimeout(then, ms).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Turns at asking others, who answer when they please. Those who were quick the last time have places of their own, so
 * that no number of slow ones, or of those that never answer, keeps them waiting. One that was quick and no longer
 * is gives its place up after `slow_ms` and goes on without; and whoever led to that does not do so again and again.
 */
export class TurnsByPace {
  readonly #places: PacePlaces;
  readonly #clock: PaceClock;
  readonly #fresh: FairTurns;
  readonly #quick: FairTurns;
  readonly #slow: FairTurns;
  readonly #known = {
    slow: new BoundedMap<number>(MOST_KNOWN),
    quick: new BoundedMap<number>(MOST_KNOWN),
  };
  /** When a quick one of theirs turned slow. */
  readonly #blamed = new BoundedMap<number>(MOST_KNOWN);
  readonly #overdue = new Set<Promise<void>>();

  constructor(places: PacePlaces, refuse: (why: Turned) => Error, clock: PaceClock = CLOCK) {
    this.#places = places;
    this.#clock = clock;
    this.#fresh = new FairTurns(places.fresh, refuse);
    this.#quick = new FairTurns(places.quick, refuse);
    this.#slow = new FairTurns(places.slow, refuse);
  }

  /** Whether somebody would be asked at once. */
  isFreeFor(whom: string, asker: PaceAsker): boolean {
    return this.#laneOf(whom, asker).isFreeFor(asker);
  }

  /** @param whom who is asked */
  async take<Result>(whom: string, asker: PaceAsker, ask: () => Promise<Result>): Promise<Result> {
    for (;;) {
      const lane = this.#laneOf(whom, asker);
      // Within an object: the place may be given up before there is a result.
      const asked = await lane.take(asker, async () => {
        // Something may have become known while it waited.
        if (!this.#mayUse(lane, whom, asker)) return undefined;
        const result = ask();
        await this.#watch(whom, asker, lane, result.then(nothing, nothing));
        return { result };
      });
      if (asked) return asked.result;
    }
  }

  #laneOf(whom: string, asker: PaceAsker): FairTurns {
    if (this.#known.slow.has(whom)) return this.#slow;
    if (!this.#mayUse(this.#quick, whom, asker)) return this.#fresh;
    // Nobody waits beside a place that is free.
    const isElsewhere = !this.#quick.isFreeFor(asker) && this.#fresh.isFreeFor(asker);
    return isElsewhere ? this.#fresh : this.#quick;
  }

  #mayUse(lane: FairTurns, whom: string, asker: PaceAsker): boolean {
    if (lane === this.#slow) return true;
    if (lane === this.#fresh) return !this.#known.slow.has(whom);
    return this.#known.quick.has(whom) && !this.#isBlamed(asker);
  }

  /** Until it has ended, or may go on without its place. */
  async #watch(whom: string, asker: PaceAsker, lane: FairTurns, end: Promise<void>): Promise<void> {
    const wasQuick = this.#known.quick.has(whom);
    if (await this.#isInTime(whom, end)) return;
    if (wasQuick) this.#blamed.set(blamedOf(asker), this.#clock.now());
    await (lane === this.#quick ? this.#letGo(end) : end);
  }

  /** Notes the pace; that it is slow, as soon as it is. */
  #isInTime(whom: string, end: Promise<void>): Promise<boolean> {
    const { slow_ms } = this.#places;
    const start = this.#clock.now();
    const late = Promise.withResolvers<boolean>();
    const leave = this.#clock.after(slow_ms, () => {
      this.#note(whom, true);
      late.resolve(false);
    });
    const ended = end.then(() => {
      leave();
      this.#note(whom, this.#clock.now() - start > slow_ms);
      return true;
    });
    return Promise.race([ended, late.promise]);
  }

  /** Waits until it may go on without a place, or has ended. */
  async #letGo(end: Promise<void>): Promise<void> {
    const ended = end.then(() => true);
    while (this.#overdue.size >= this.#places.overdue) {
      const others = [...this.#overdue].map((other) => other.then(() => false));
      if (await Promise.race([ended, ...others])) return;
    }
    this.#overdue.add(end);
    void end.then(() => this.#overdue.delete(end));
  }

  #note(whom: string, isSlow: boolean): void {
    const { slow, quick } = this.#known;
    const [is, was] = isSlow ? [slow, quick] : [quick, slow];
    was.delete(whom);
    is.set(whom, this.#clock.now());
  }

  #isBlamed(asker: PaceAsker): boolean {
    const since = this.#blamed.get(blamedOf(asker));
    return since !== undefined && this.#clock.now() - since < BLAMED_MS;
  }
}

const nothing = (): void => {};

const blamedOf = ({ party, site = party, blamed = site }: PaceAsker): string => blamed;

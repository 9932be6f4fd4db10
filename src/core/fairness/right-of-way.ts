import { AsyncLocalStorage } from 'node:async_hooks';
import { doFor, doShared } from './asking.ts';
import { AskingPlaces } from './asking-places.ts';
import { OWN_PARTY } from './party.ts';

/** The time in which some have the right of way. */
export interface Hold {
  readonly isOver: boolean;
  /** Resolves then. */
  readonly over: Promise<void>;
}

interface Holding extends Hold {
  /** Until then more may go with those who do, where it is for many. */
  readonly open_until: number;
  /** How many go. */
  going: number;
  end(): void;
}

interface RightOfWayLimits {
  /** Others wait so long for those who go first, done or not. */
  longest_ms: number;
  /** So long more may go together with those who do. */
  joining_ms: number;
}

/**
 * Lets those go first who would come too late for ever, because others are always quicker: these wait
 * meanwhile, each for those who go first together or for one who goes alone and not for their whole line, and
 * never for long. Who goes alone does so in turn, by network, site, address and request; all who go together
 * are one of these.
 */
export class RightOfWay {
  readonly #limits: RightOfWayLimits;
  readonly #place = new AskingPlaces(1);
  readonly #inside = new AsyncLocalStorage<Holding>();
  #held: Holding | undefined;
  /** Of all who go together next. */
  #forming: Promise<Holding> | undefined;

  constructor(limits: RightOfWayLimits) {
    this.#limits = limits;
  }

  /** Whether the work under way is done by whoever goes first now. */
  get isMine(): boolean {
    return this.#held !== undefined && this.#inside.getStore() === this.#held;
  }

  /** Waits while somebody else goes first. */
  async pass(): Promise<void> {
    if (!this.isMine) await this.#held?.over;
  }

  /** Runs something, and what it leads to, while others wait: together with all who do so. */
  async take<Result>(run: (hold: Hold) => Promise<Result>): Promise<Result> {
    return this.#go(this.#own ?? (await this.#together()), run);
  }

  /** The same of what would make those late who go first, too. */
  async takeAlone<Result>(run: (hold: Hold) => Promise<Result>): Promise<Result> {
    return this.#go(this.#own ?? (await this.#begin(0)), run);
  }

  get #own(): Holding | undefined {
    return this.isMine ? this.#held : undefined;
  }

  #together(): Holding | Promise<Holding> {
    if (this.#held && performance.now() < this.#held.open_until) return this.#held;
    this.#forming ??= doFor(OWN_PARTY, () => this.#begin(this.#limits.joining_ms)).finally(() => {
      this.#forming = undefined;
    });
    return this.#forming;
  }

  async #go<Result>(holding: Holding, run: (hold: Hold) => Promise<Result>): Promise<Result> {
    holding.going += 1;
    try {
      return await this.#inside.run(holding, () => doShared(() => run(holding)));
    } finally {
      holding.going -= 1;
      if (holding.going === 0) holding.end();
    }
  }

  async #begin(joining_ms: number): Promise<Holding> {
    if (!this.#place.tryTake()) await this.#place.wait();
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const { longest_ms } = this.#limits;
    const open_until = performance.now() + joining_ms;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      clearTimeout(timer);
      isOver = true;
      this.#held = undefined;
      this.#place.giveBack();
      resolve();
    };
    const timer = setTimeout(end, longest_ms);
    const holding: Holding = {
      over,
      open_until,
      going: 0,
      end,
      get isOver() {
        return isOver;
      },
    };
    this.#held = holding;
    return holding;
  }
}

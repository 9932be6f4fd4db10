import { AsyncLocalStorage } from 'node:async_hooks';
import { AskingPlaces } from './asking-places.ts';

/** The time in which one has the right of way. */
export interface Hold {
  readonly isOver: boolean;
}

interface Holding extends Hold {
  readonly over: Promise<void>;
}

/**
 * Lets one go first who would come too late for ever, because others are always quicker: these wait
 * meanwhile, each for one of those who go first and not for their whole line, and never for long. Those who
 * go first do so in turn, by network, site, address and request.
 */
export class RightOfWay {
  readonly #longest_ms: number;
  readonly #place = new AskingPlaces(1);
  readonly #inside = new AsyncLocalStorage<Holding>();
  #held: Holding | undefined;

  /** @param longest_ms that others wait for whoever goes first, done or not */
  constructor(longest_ms: number) {
    this.#longest_ms = longest_ms;
  }

  /** Whether the work under way is done by whoever goes first now. */
  get isMine(): boolean {
    return this.#held !== undefined && this.#inside.getStore() === this.#held;
  }

  /** Waits while somebody else goes first. */
  async pass(): Promise<void> {
    if (!this.isMine) await this.#held?.over;
  }

  /** Runs something, and what it leads to, while others wait. */
  async take<Result>(run: (hold: Hold) => Promise<Result>): Promise<Result> {
    const own = this.#inside.getStore();
    if (own && this.isMine) return run(own);
    if (!this.#place.tryTake()) await this.#place.wait();
    const { holding, end } = this.#begin();
    try {
      return await this.#inside.run(holding, () => run(holding));
    } finally {
      end();
    }
  }

  #begin(): { holding: Holding; end(): void } {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const holding = { isOver: false, over };
    const end = (): void => {
      if (holding.isOver) return;
      clearTimeout(timer);
      holding.isOver = true;
      this.#held = undefined;
      this.#place.giveBack();
      resolve();
    };
    const timer = setTimeout(end, this.#longest_ms);
    this.#held = holding;
    return { holding, end };
  }
}

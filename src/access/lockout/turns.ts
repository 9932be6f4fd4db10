import { Failure } from '../../core/failure.ts';

/**
 * Lets few pieces of expensive work go on at the same time, in the order in which they came, and
 * refuses more than can soon be done.
 */
export class Turns {
  readonly #atOnce: number;
  readonly #places: number;
  #running = 0;
  #waiting: (() => void)[] = [];

  /**
   * @param atOnce pieces of work under way at most
   * @param places pieces of work that may wait
   */
  constructor(atOnce: number, places: number) {
    this.#atOnce = atOnce;
    this.#places = places;
  }

  /**
   * Does a piece of work when its turn comes.
   *
   * @throws Failure `rate_limited` when no place to wait is free; nothing was begun then
   */
  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#places) throw refuseForNow();
      // Whoever ends hands its turn on, so that nobody comes in between.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

/** Says that there is too much to do just now, whoever asks and whatever about. */
export function refuseForNow(): Failure {
  return new Failure(
    'rate_limited',
    'too many passwords are being checked, try again in a second',
    {
      retry_after: 1,
    },
  );
}

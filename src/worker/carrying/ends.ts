import { setTimeout as wait } from 'node:timers/promises';
import type { ConnectionEnd, Traffic, Upstream } from '../upstream.ts';

/** Ends that are told in one call. */
const MOST_AT_ONCE = 500;
/** What the server did not hear is told again after this. */
const AGAIN_MS = 500;
/** After so long it is left to the server, which finds out by itself that they are over. */
const GIVEN_UP_MS = 30_000;

interface Clock {
  /** Milliseconds of a clock that only goes on. */
  now(): number;
  pass(milliseconds: number): Promise<void>;
}

const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  pass: (milliseconds) => wait(milliseconds, undefined, { ref: false }),
};

interface Waiting {
  end: ConnectionEnd;
  told: () => void;
  /** When it was to be told first. */
  since: number;
  /** It was not taken by itself: others are not told together with it any more. */
  isAlone: boolean;
}

/**
 * Tells the server how connections have ended: each at once, and those that end while it is being told
 * of others together. Of several that it does not take it is told in smaller parts, so that one that it never
 * takes keeps back no other.
 */
export class Ends {
  readonly #upstream: Pick<Upstream, 'close'>;
  #waiting: Waiting[] = [];
  #telling: Promise<void> | undefined;
  #isLast = false;
  /** In one call. */
  #most = MOST_AT_ONCE;
  readonly #clock: Clock;

  constructor(upstream: Pick<Upstream, 'close'>, clock: Clock = SYSTEM_CLOCK) {
    this.#upstream = upstream;
    this.#clock = clock;
  }

  /** @returns when the server knows of it, or never will */
  tell(end: ConnectionEnd): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ end, told: resolve, since: this.#clock.now(), isAlone: false });
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = undefined;
    });
    return promise;
  }

  /** From now on all is told once. */
  close(): void {
    this.#isLast = true;
  }

  async #tellAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const some = this.#take();
      try {
        await this.#upstream.close({ ends: some.map(({ end }) => end) });
        for (const { told } of some) told();
        this.#most = Math.min(MOST_AT_ONCE, this.#most * 2);
      } catch {
        this.#most = Math.ceil(some.length / 2);
        if (this.#keep(some)) await this.#clock.pass(AGAIN_MS);
      }
    }
  }

  /** The next, in one call. */
  #take(): Waiting[] {
    const alone = this.#waiting.findIndex(({ isAlone }) => isAlone);
    if (alone === 0) return this.#waiting.splice(0, 1);
    return this.#waiting.splice(0, alone < 0 ? this.#most : Math.min(this.#most, alone));
  }

  /** @returns whether any of them is told again: one that was told alone after all others */
  #keep(some: readonly Waiting[]): boolean {
    const until = this.#clock.now() - GIVEN_UP_MS;
    const again = some.filter(({ since }) => !this.#isLast && since > until);
    for (const one of some) if (!again.includes(one)) one.told();
    const [only] = again;
    if (only && some.length === 1) this.#waiting.push({ ...only, isAlone: true });
    else this.#waiting.unshift(...again);
    return again.length > 0;
  }
}

/** Those of some connections that the server has not been told to be over. */
export const openOf = (connections: Iterable<{ traffic: Traffic | undefined }>): Traffic[] =>
  [...connections].flatMap(({ traffic }) => traffic ?? []);

import { setTimeout as wait } from 'node:timers/promises';
import type { ConnectionEnd, Traffic, Upstream } from '../upstream.ts';

/** Ends that are told in one call. */
const MOST_AT_ONCE = 500;
/** What the server did not hear is told again after this. */
const AGAIN_MS = 500;
/** After so many times it is left to the server, which finds out by itself that they are over. */
const ATTEMPTS = 60;

interface Waiting {
  end: ConnectionEnd;
  told: () => void;
  attempts: number;
}

/**
 * Tells the server how connections have ended: each at once, and those that end while it is being told
 * of others together.
 */
export class Ends {
  readonly #upstream: Pick<Upstream, 'close'>;
  #waiting: Waiting[] = [];
  #telling: Promise<void> | undefined;
  #isLast = false;

  constructor(upstream: Pick<Upstream, 'close'>) {
    this.#upstream = upstream;
  }

  /** @returns when the server knows of it, or never will */
  tell(end: ConnectionEnd): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ end, told: resolve, attempts: 0 });
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
      const some = this.#waiting.splice(0, MOST_AT_ONCE);
      try {
        await this.#upstream.close({ ends: some.map(({ end }) => end) });
        for (const { told } of some) told();
      } catch {
        for (const one of some) one.attempts += 1;
        const again = some.filter(({ attempts }) => !this.#isLast && attempts < ATTEMPTS);
        for (const one of some) if (!again.includes(one)) one.told();
        this.#waiting.unshift(...again);
        if (again.length > 0) await wait(AGAIN_MS, undefined, { ref: false });
      }
    }
  }
}

/** Those of some connections that the server has not been told to be over. */
export const openOf = (connections: Iterable<{ traffic: Traffic | undefined }>): Traffic[] =>
  [...connections].flatMap(({ traffic }) => traffic ?? []);

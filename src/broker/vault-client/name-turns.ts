import { type Asker, FairTurns } from '../../core/fair-turns.ts';
import { OWN_PARTY } from '../../core/party.ts';

/** Who looks a name up. */
export interface NameAsker {
  party: string;
  onGone: Asker['onGone'];
}

/** A name that took so long, in milliseconds, has a slow server, or none. */
const SLOW_MS = 1_000;

/** Names that are remembered as slow; the one that was longest ago is forgotten first. */
const MOST_SLOW = 4096;

/**
 * Turns at looking names up. The thread pool does so, for the whole process and half of it at most, and who names a
 * server of names that never answers holds a place of it for many seconds, gone or not. So one place is for names that
 * were slow before, and of the others each asker has one; the server's own work has one for each name.
 */
export class NameTurns {
  readonly #quick: FairTurns;
  readonly #slow: FairTurns;
  readonly #known = new Set<string>();
  readonly #now: () => number;

  constructor(refuse: () => Error, now = () => performance.now()) {
    this.#quick = new FairTurns(
      { at_once: 2, at_once_each: 1, waiting: 512, waiting_each: 128 },
      refuse,
    );
    this.#slow = new FairTurns({ at_once: 1, waiting: 256, waiting_each: 64 }, refuse);
    this.#now = now;
  }

  async take<Result>(
    name: string,
    { party, onGone }: NameAsker,
    lookUp: () => Promise<Result>,
  ): Promise<Result> {
    const turns = this.#known.has(name) ? this.#slow : this.#quick;
    const asker = { party: party === OWN_PARTY ? `name ${name}` : party, onGone };
    return turns.take(asker, async () => {
      const start = this.#now();
      try {
        return await lookUp();
      } finally {
        this.#note(name, this.#now() - start > SLOW_MS);
      }
    });
  }

  #note(name: string, isSlow: boolean): void {
    this.#known.delete(name);
    if (isSlow) this.#known.add(name);
    for (const oldest of this.#known) {
      if (this.#known.size <= MOST_SLOW) return;
      this.#known.delete(oldest);
    }
  }
}

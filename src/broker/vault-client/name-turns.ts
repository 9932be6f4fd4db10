import { type Asker, FairTurns } from '../../core/fair-turns.ts';
import { OWN_PARTY } from '../../core/party.ts';

/** Who looks a name up. */
export interface NameAsker {
  party: string;
  onGone: Asker['onGone'];
}

/** A name that took so long, in milliseconds, has a slow server, or none. */
const SLOW_MS = 1_000;

/** Names that are remembered as slow, and as quick; the one that was longest ago is forgotten first. */
const MOST_KNOWN = 4096;

/** Of names of which nothing is known. */
const NEW_AT_ONCE = 2;

/**
 * Turns at looking names up. The thread pool does so, for the whole process and half of it at most, and who names a
 * server of names that never answers holds a place of it for many seconds, gone or not. So one place is for names that
 * were slow before, one for those that were quick, which no others keep waiting, and of two more each asker has one; the
 * server's own work has one for each name.
 */
export class NameTurns {
  readonly #new: FairTurns;
  readonly #quick: FairTurns;
  readonly #slow: FairTurns;
  readonly #known = { slow: new Set<string>(), quick: new Set<string>() };
  readonly #now: () => number;

  constructor(refuse: () => Error, now = () => performance.now()) {
    this.#new = new FairTurns(
      { at_once: NEW_AT_ONCE, at_once_each: 1, waiting: 512, waiting_each: 128 },
      refuse,
    );
    this.#quick = new FairTurns({ at_once: 1, waiting: 512, waiting_each: 128 }, refuse);
    this.#slow = new FairTurns({ at_once: 1, waiting: 256, waiting_each: 64 }, refuse);
    this.#now = now;
  }

  async take<Result>(
    name: string,
    { party, onGone }: NameAsker,
    lookUp: () => Promise<Result>,
  ): Promise<Result> {
    const turns = this.#turnsOf(name);
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

  #turnsOf(name: string): FairTurns {
    if (this.#known.slow.has(name)) return this.#slow;
    if (!this.#known.quick.has(name)) return this.#new;
    // One that was quick, and no longer is, keeps no other from a place that nobody has.
    const isFree = this.#quick.running === 0 || this.#new.running >= NEW_AT_ONCE;
    return isFree ? this.#quick : this.#new;
  }

  #note(name: string, isSlow: boolean): void {
    const { slow, quick } = this.#known;
    for (const names of [slow, quick]) names.delete(name);
    const names = isSlow ? slow : quick;
    names.add(name);
    for (const oldest of names) {
      if (names.size <= MOST_KNOWN) return;
      names.delete(oldest);
    }
  }
}

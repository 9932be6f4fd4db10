import { BoundedMap } from '../../../core/bounded-map.ts';
import type { Asker } from '../../../core/fairness/asker.ts';
import { OWN_PARTY } from '../../../core/fairness/party.ts';
import {
  CLOCK,
  type PaceClock,
  type PacePlaces,
  TurnsByPace,
} from '../../../core/fairness/turns-by-pace.ts';

/** Who looks a name up. */
export interface NameAsker {
  party: string;
  site: string;
  onGone: Asker['onGone'];
}

/**
 * The thread pool looks names up, for the whole process and in half of its threads at most: twelve with the size that
 * `bin/gatehouse` gives it. Five of them are for all names but those of Vault servers.
 */
const PLACES: PacePlaces = {
  fresh: { at_once: 2, at_once_site: 1, waiting: 512, waiting_each: 128 },
  quick: { at_once: 1, waiting: 512, waiting_each: 128 },
  slow: { at_once: 1, waiting: 256, waiting_each: 64 },
  overdue: 3,
  slow_ms: 1_000,
};

/** So long what a name was last found to be is taken where it cannot be looked up at once, in milliseconds. */
const FOUND_MS = 60_000;
/** Of so many names; what was found longest ago is forgotten first. */
const MOST_FOUND = 1_024;
/** A name of more addresses is always looked up: nobody fills the memory with them. */
const MOST_ADDRESSES = 16;

/**
 * Turns at looking names up. Who names a server of names that never answers holds a thread for many seconds, gone or
 * not, so few are looked up at once, and those that were quick beside any number of slow ones. Of new ones each network
 * has one place, and each organization whose leases and tokens are looked after; other work of the server's own has
 * one for each name. Those of some sites together can have all places for
 * as long as names hang: meanwhile a name is what it was a minute ago.
 */
export class NameTurns<Address> {
  readonly #turns: TurnsByPace;
  readonly #clock: PaceClock;
  readonly #found = new BoundedMap<{ found: readonly Address[]; at_ms: number }>(MOST_FOUND);

  constructor(refuse: () => Error, clock: PaceClock = CLOCK) {
    this.#clock = clock;
    this.#turns = new TurnsByPace(PLACES, refuse, clock);
  }

  async take(
    name: string,
    { party, site, onGone }: NameAsker,
    lookUp: () => Promise<readonly Address[]>,
  ): Promise<readonly Address[]> {
    const who =
      party === OWN_PARTY ? { party: `name ${name}`, blamed: OWN_PARTY } : { party, site };
    const asker = { ...who, onGone };
    const last = this.#found.get(name);
    const isRecent = last && this.#clock.now() - last.at_ms < FOUND_MS;
    if (isRecent && !this.#turns.isFreeFor(name, asker)) return last.found;
    const found = await this.#turns.take(name, asker, lookUp);
    this.#note(name, found);
    return found;
  }

  #note(name: string, found: readonly Address[]): void {
    if (found.length > MOST_ADDRESSES) this.#found.delete(name);
    else this.#found.set(name, { found, at_ms: this.#clock.now() });
  }
}

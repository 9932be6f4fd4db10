import type { Asker } from '../../core/fair-turns.ts';
import { OWN_PARTY, siteOfParty } from '../../core/party.ts';
import { type PaceClock, type PacePlaces, TurnsByPace } from '../../core/turns-by-pace.ts';

/** Who looks a name up. */
export interface NameAsker {
  party: string;
  onGone: Asker['onGone'];
}

/**
 * The thread pool looks names up, for the whole process and in half of its threads at most: eight with the size that
 * `bin/gatehouse` gives it. One of them is for all names but those of Vault servers.
 */
const PLACES: PacePlaces = {
  fresh: { at_once: 2, at_once_site: 1, waiting: 512, waiting_each: 128 },
  quick: { at_once: 1, waiting: 512, waiting_each: 128 },
  slow: { at_once: 1, waiting: 256, waiting_each: 64 },
  overdue: 3,
  slow_ms: 1_000,
};

/**
 * Turns at looking names up. Who names a server of names that never answers holds a thread for many seconds, gone or
 * not, so few are looked up at once, and those that were quick beside any number of slow ones. Of new ones each site
 * has one place; the server's own work has one for each name.
 */
export class NameTurns {
  readonly #turns: TurnsByPace;

  constructor(refuse: () => Error, clock?: PaceClock) {
    this.#turns = new TurnsByPace(PLACES, refuse, clock);
  }

  take<Result>(
    name: string,
    { party, onGone }: NameAsker,
    lookUp: () => Promise<Result>,
  ): Promise<Result> {
    const asker =
      party === OWN_PARTY
        ? { party: `name ${name}`, blamed: OWN_PARTY }
        : { party, site: siteOfParty(party) };
    return this.#turns.take(name, { ...asker, onGone }, lookUp);
  }
}

import type { Asker } from './asker.ts';
import { FairTurns, type Places } from './fair-turns.ts';
import type { Turned } from './giving-way.ts';
import { type PaceClock, type PacePlaces, TurnsByPace } from './turns-by-pace.ts';

/** Connections to one store, and those in all; `at_once_each`: that requests from one address led to. */
interface ConnectionPlaces {
  store: Places;
  all: PacePlaces;
}

/**
 * Connections to other servers, which each take a file, a handshake and memory until they answer or are
 * given up: few to each, so that nobody makes this server flood another one, and few in all, where stores that are
 * quick have places that no others take. Who waits for one has a turn by address.
 */
export class Connections {
  readonly #places: ConnectionPlaces;
  readonly #refuse: (why: Turned) => Error;
  readonly #all: TurnsByPace;
  /** By store, those that somebody uses or waits for. */
  readonly #stores = new Map<string, FairTurns>();

  /** @param refuse makes what those hear whose turn does not come */
  constructor(places: ConnectionPlaces, refuse: (why: Turned) => Error, clock?: PaceClock) {
    this.#places = places;
    this.#refuse = refuse;
    this.#all = new TurnsByPace(places.all, refuse, clock);
  }

  /** Stores that are known just now. */
  get stores(): number {
    return this.#stores.size;
  }

  /** @param store host and port */
  async take<Result>(store: string, asker: Asker, work: () => Promise<Result>): Promise<Result> {
    let turns = this.#stores.get(store);
    if (!turns) {
      turns = new FairTurns(this.#places.store, this.#refuse);
      this.#stores.set(store, turns);
    }
    try {
      // In this order: whoever waits for a slow store takes none of the others' places.
      return await turns.take(asker, () => this.#all.take(store, asker, work));
    } finally {
      if (turns.running === 0 && turns.waiting === 0) this.#stores.delete(store);
    }
  }
}

import { AskingLine } from './asking-line.ts';

/** So many places. Who comes when all are taken waits for one in turn, by network, site, address and request. */
export class AskingPlaces {
  readonly #line = new AskingLine();
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  /** Takes a place if one is free; otherwise there is one to {@link wait} for. */
  tryTake(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Resolves once a place is whoever's asks. */
  wait(): Promise<void> {
    return this.#line.wait();
  }

  /** Whoever is next has it before anybody who comes now does. */
  giveBack(): void {
    if (this.#line.isEmpty) this.#free += 1;
    else this.#line.next();
  }
}

import { doFor } from './asking.ts';
import { NetworkPlaces } from './network-places.ts';
import { SHARED_PARTY } from './party.ts';

/**
 * Work of which a few pieces are under way at the same time, because each takes much memory until it is done, and not
 * all of them for one network; others wait in turn, by network, site, address and request. They wait for whoever has
 * a place, which therefore goes on as work that is shared: among many requests of its site it would take that many
 * times longer. Nobody is refused; `FairTurns` are for work that is, once too much of it waits.
 */
export class FewInTurn {
  readonly #places: NetworkPlaces;

  constructor(at_once: number) {
    this.#places = new NetworkPlaces(at_once);
  }

  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const giveBack = await this.#places.take();
    try {
      return await doFor(SHARED_PARTY, async () => work());
    } finally {
      giveBack();
    }
  }
}

/**
 * The same for pieces of unlike size: few of the large ones, which take some megabytes, and more of the
 * middling ones, which do not wait for those.
 */
export class FewBySize {
  readonly #large = new FewInTurn(2);
  readonly #middling = new FewInTurn(8);

  of(isLarge: boolean): FewInTurn {
    return isLarge ? this.#large : this.#middling;
  }
}

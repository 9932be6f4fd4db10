import { whoAsks } from './asking.ts';
import { AskingLine } from './asking-line.ts';
import { Counts } from './counts.ts';
import { NETWORK_PART, networkOfParty, OWN_PARTY } from './party.ts';
import { scarceHeap } from './scarce-heap.ts';

/**
 * So many places, of which the requests of one network never have all. Who comes when there is none waits in turn, by
 * network, site, address and request. The server's own work may have any of them.
 */
export class NetworkPlaces {
  readonly #line = new AskingLine();
  /** Places that are taken, by network. */
  readonly #held = new Counts();
  /** Of one network. */
  readonly #most: number;
  #free: number;

  constructor(places: number) {
    this.#free = places;
    this.#most = Math.max(1, Math.floor(places * NETWORK_PART));
  }

  /** @returns what gives the place back, to be called once */
  async take(): Promise<() => void> {
    for (;;) {
      const giveBack = await this.#take();
      const scarce = scarceHeap.pass();
      if (!scarce) return giveBack;
      giveBack();
      await scarce;
    }
  }

  async #take(): Promise<() => void> {
    const network = networkOfParty(whoAsks().party);
    if (this.#free === 0 || !this.#may(network)) await this.#line.wait();
    else {
      this.#free -= 1;
      this.#held.add(network, 1);
    }
    const taken = performance.now();
    return () => {
      this.#line.charge(network, performance.now() - taken);
      this.#giveBack(network);
    };
  }

  /** Whoever is next has it before anybody who comes now does. */
  #giveBack(network: string): void {
    this.#held.add(network, -1);
    const next = this.#line.next((waiting) => this.#may(waiting));
    if (next === undefined) this.#free += 1;
    else this.#held.add(next, 1);
  }

  #may(network: string): boolean {
    return network === OWN_PARTY || this.#held.get(network) < this.#most;
  }
}

import { Counts } from '../core/fairness/counts.ts';
import type { Handshake } from './handshake-places.ts';

/** Each keeps what TLS has of a connection, up to a hundred thousand bytes. */
const MOST = { total: 1024, each: 512 };

/**
 * Handshakes that have given their places to others and go on all the same: a client, or its line, may be slow, or this
 * server late with its answer. One too many is the end of one.
 */
export class SteppedAside<Item extends Handshake> {
  /** The oldest stands first. */
  readonly #all = new Set<Item>();
  readonly #sites = new Counts();
  readonly #networks = new Counts();

  /** @returns whose connection has to be closed, which is counted no more */
  add(one: Item): Item | undefined {
    this.#all.add(one);
    this.#count(one, 1);
    const isFull = this.#all.size > MOST.total;
    const isFullOfSite = this.#sites.get(one.site) > MOST.each;
    const late = isFull || isFullOfSite ? this.#choose(isFull ? undefined : one.site) : undefined;
    if (late) this.end(late);
    return late;
  }

  /** @returns whether it was there */
  end(one: Item): boolean {
    const wasThere = this.#all.delete(one);
    if (wasThere) this.#count(one, -1);
    return wasThere;
  }

  /**
   * Of the network that has most, in it of the site that has most: the oldest whose client has said nothing, else the
   * oldest.
   */
  #choose(site: string | undefined): Item | undefined {
    let chosen: Item | undefined;
    let most: Rank = [0, 0, 0];
    for (const one of this.#all) {
      if (site !== undefined && one.site !== site) continue;
      const silent = one.socket.bytesRead === one.heard ? 1 : 0;
      const rank: Rank = [this.#networks.get(one.network), this.#sites.get(one.site), silent];
      if (isMore(rank, most)) [chosen, most] = [one, rank];
    }
    return chosen;
  }

  #count({ site, network }: Item, by: number): void {
    this.#sites.add(site, by);
    this.#networks.add(network, by);
  }
}

/** What counts first stands first. */
type Rank = readonly [network: number, site: number, silent: number];

function isMore(one: Rank, other: Rank): boolean {
  for (const [at, value] of one.entries()) {
    const than = other[at] ?? 0;
    if (value !== than) return value > than;
  }
  return false;
}

import { networkOfParty, siteOfParty } from '../core/fairness/party.ts';

/** The connections of a site; the longest unused stands first. */
export class Site<Connection> {
  readonly name: string;
  readonly network: Network<Connection>;
  readonly connections = new Set<Connection>();

  constructor(name: string, network: Network<Connection>) {
    this.name = name;
    this.network = network;
  }

  get size(): number {
    return this.connections.size;
  }
}

/** The sites of a network: see `networkOf`. */
class Network<Connection> {
  readonly name: string;
  readonly sites = new BySize<Site<Connection>>();
  /** Connections. */
  size = 0;

  constructor(name: string) {
    this.name = name;
  }
}

/** Those that have most first; of equals the one that was placed longest ago. */
class BySize<Item extends { readonly size: number }> {
  /** The place in the list is their size. */
  readonly #lines: (Set<Item> | undefined)[] = [];

  /** Puts one to the end of those of its size. */
  place(item: Item, sizeBefore: number): void {
    this.#lines[sizeBefore]?.delete(item);
    if (item.size > 0) {
      const line = this.#lines[item.size];
      if (line) line.add(item);
      else this.#lines[item.size] = new Set([item]);
    }
    while (this.#lines.length > 0 && !this.#lines.at(-1)?.size) this.#lines.pop();
  }

  *[Symbol.iterator](): Generator<Item, void, undefined> {
    for (let size = this.#lines.length - 1; size > 0; size--) yield* this.#lines[size] ?? [];
  }
}

/** Counts of connections. */
export interface Sizes {
  site: number;
  network: number;
}

/** What there are of connections, in the order in which they give way to others. */
export class ConnectionLines<Connection> implements Iterable<Connection> {
  readonly #sites = new Map<string, Site<Connection>>();
  readonly #networks = new Map<string, Network<Connection>>();
  readonly #bySize = new BySize<Network<Connection>>();

  /** Where a party's connections stand; one is added at once. */
  siteOf(party: string): Site<Connection> {
    return this.#sites.getOrInsertComputed(siteOfParty(party), (name) => {
      const ofNetwork = networkOfParty(party);
      const network = this.#networks.getOrInsertComputed(ofNetwork, (name) => new Network(name));
      return new Site(name, network);
    });
  }

  add(site: Site<Connection>, connection: Connection): void {
    site.connections.add(connection);
    site.network.size += 1;
    this.#place(site, 1);
  }

  /** It is of use: puts it to the end of its line, and its site and network as well. */
  use(site: Site<Connection>, connection: Connection): void {
    site.connections.delete(connection);
    site.connections.add(connection);
    this.#place(site, 0);
  }

  delete(site: Site<Connection>, connection: Connection): void {
    if (!site.connections.delete(connection)) return;
    const { network } = site;
    network.size -= 1;
    this.#place(site, -1);
    if (site.size === 0) this.#sites.delete(site.name);
    if (network.size === 0) this.#networks.delete(network.name);
  }

  /** The longest unused of the site that has most, of the network that has most, first. */
  *[Symbol.iterator](): Generator<Connection, void, undefined> {
    for (const network of this.#bySize) {
      for (const site of network.sites) yield* site.connections;
    }
  }

  /** How many a party's site and network have. */
  sizesOf(party: string): Sizes {
    const site = this.#sites.get(siteOfParty(party));
    const network = site?.network ?? this.#networks.get(networkOfParty(party));
    return { site: site?.size ?? 0, network: network?.size ?? 0 };
  }

  /**
   * Sites that would still have more than a party's, of networks of which the same is true, if one of their
   * connections were the party's; then those of the party's own network.
   */
  *beyond(party: string): Generator<Site<Connection>, void, undefined> {
    const own = this.sizesOf(party);
    for (const network of this.#bySize) {
      if (network.size <= own.network + 1) break;
      yield* network.sites;
    }
    for (const site of this.#networks.get(networkOfParty(party))?.sites ?? []) {
      if (site.size <= own.site + 1) return;
      yield site;
    }
  }

  /** @param more how many connections it has more than before */
  #place(site: Site<Connection>, more: number): void {
    const { network } = site;
    network.sites.place(site, site.size - more);
    this.#bySize.place(network, network.size - more);
  }
}

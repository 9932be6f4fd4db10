import { BoundedMap } from '../bounded-map.ts';
import { networkOfParty, siteOfParty } from './party.ts';

/** What waits of one site, by party: the party whose turn is next stands first, and of it who came first. */
type Parties<Item> = Map<string, Set<Item>>;

/** Members that have turns in rounds; every other turn is for one that has had none of late. */
class Rounds<Member extends { readonly size: number }> {
  /** Of both the one whose turn is next stands first. */
  readonly #fresh = new Map<string, Member>();
  readonly #served = new Map<string, Member>();
  readonly #last: BoundedMap<number>;
  #turn = 0;

  /** @param last the turns of all such members, also of those that do not wait now */
  constructor(last: BoundedMap<number>) {
    this.#last = last;
  }

  get size(): number {
    return this.#fresh.size + this.#served.size;
  }

  get(key: string): Member | undefined {
    return this.#fresh.get(key) ?? this.#served.get(key);
  }

  /** One that has just come to wait. */
  add(key: string, member: Member): Member {
    (this.#last.has(key) ? this.#served : this.#fresh).set(key, member);
    return member;
  }

  delete(key: string): void {
    if (!this.#fresh.delete(key)) this.#served.delete(key);
  }

  /** Takes something of the first of which something can be taken; the others keep their places. */
  take<Item>(takeOf: (member: Member, key: string) => Item | undefined): Item | undefined {
    const lines = [this.#fresh, this.#served];
    for (const line of this.#turn % 2 === 0 ? lines : lines.reverse()) {
      for (const [key, member] of line) {
        const item = takeOf(member, key);
        if (item === undefined) continue;
        this.#turn += 1;
        this.#last.set(key, this.#turn);
        line.delete(key);
        if (member.size > 0) this.#served.set(key, member);
        return item;
      }
    }
    return undefined;
  }
}

type Sites<Item> = Rounds<Parties<Item>>;

/**
 * Who waits, and whose turn is next. Turns go round the networks, in a network round its sites, in a site round its
 * parties, and in a party by the order of coming: a network of hundreds of addresses waits for itself. Every other turn
 * is for a network, and in it for a site, that has had none of late, so that who comes anew does not wait for a crowd
 * that has been round before, nor who has been served for a crowd that is new.
 */
export class SiteTurns<Item> {
  readonly #networks = new Rounds<Sites<Item>>(new BoundedMap<number>());
  readonly #lastOfSites = new BoundedMap<number>();

  get isEmpty(): boolean {
    return this.#networks.size === 0;
  }

  /** Whether anybody of a site waits. */
  hasSite(site: string): boolean {
    return this.#networks.get(networkOfParty(site))?.get(site) !== undefined;
  }

  add(party: string, item: Item): void {
    const network = networkOfParty(party);
    const sites =
      this.#networks.get(network) ?? this.#networks.add(network, new Rounds(this.#lastOfSites));
    const site = siteOfParty(party);
    const parties = sites.get(site) ?? sites.add(site, new Map());
    parties.getOrInsertComputed(party, () => new Set()).add(item);
  }

  delete(party: string, item: Item): void {
    const network = networkOfParty(party);
    const site = siteOfParty(party);
    const sites = this.#networks.get(network);
    const parties = sites?.get(site);
    const mates = parties?.get(party);
    if (!mates?.delete(item) || mates.size > 0) return;
    parties?.delete(party);
    if (parties?.size === 0) sites?.delete(site);
    if (sites?.size === 0) this.#networks.delete(network);
  }

  /**
   * Takes who is next out of the line.
   *
   * @param may whether a site's turn can be now; who is not let keeps the place in the order
   */
  take(may: (site: string) => boolean = () => true): Item | undefined {
    return this.#networks.take((sites) =>
      sites.take((parties, site) => (may(site) ? takeFirst(parties) : undefined)),
    );
  }
}

/** Takes who came first of the party whose turn is next. */
function takeFirst<Item>(parties: Parties<Item>): Item | undefined {
  const [next] = parties;
  if (!next) return undefined;
  const [party, mates] = next;
  const [item] = mates;
  if (item === undefined) return undefined;
  parties.delete(party);
  mates.delete(item);
  if (mates.size > 0) parties.set(party, mates);
  return item;
}

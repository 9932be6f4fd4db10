import { LastTurns } from './last-turns.ts';
import { siteOfParty } from './party.ts';

/** What waits of one site, by party: the party whose turn is next stands first, and of it who came first. */
type Parties<Item> = Map<string, Set<Item>>;

/**
 * Who waits, and whose turn is next. Turns go round the sites, in a site round its parties, and in a party by
 * the order of coming: a network of a thousand addresses waits for itself. Every other turn is for a site that
 * has had none of late, so that who comes anew does not wait for a crowd that has been round before, nor who
 * has been served for a crowd that is new.
 */
export class SiteTurns<Item> {
  /** By site, as all below: the one whose turn is next stands first. */
  readonly #fresh = new Map<string, Parties<Item>>();
  readonly #served = new Map<string, Parties<Item>>();
  readonly #last = new LastTurns();
  #turn = 0;

  get isEmpty(): boolean {
    return this.#fresh.size === 0 && this.#served.size === 0;
  }

  /** Whether anybody of a site waits. */
  hasSite(site: string): boolean {
    return this.#fresh.has(site) || this.#served.has(site);
  }

  add(party: string, item: Item): void {
    const site = siteOfParty(party);
    let parties = this.#fresh.get(site) ?? this.#served.get(site);
    if (!parties) {
      parties = new Map();
      const line = this.#last.get(site) === 0 ? this.#fresh : this.#served;
      line.set(site, parties);
    }
    const mates = parties.get(party);
    if (mates) mates.add(item);
    else parties.set(party, new Set([item]));
  }

  delete(party: string, item: Item): void {
    const site = siteOfParty(party);
    const parties = this.#fresh.get(site) ?? this.#served.get(site);
    const mates = parties?.get(party);
    if (!mates?.delete(item) || mates.size > 0) return;
    parties?.delete(party);
    if (parties?.size === 0 && !this.#fresh.delete(site)) this.#served.delete(site);
  }

  /**
   * Takes who is next out of the line.
   *
   * @param may whether a site's turn can be now; who is not let keeps the place in the order
   */
  take(may: (site: string) => boolean = () => true): Item | undefined {
    const isForFresh = this.#turn % 2 === 0;
    const lines = [this.#fresh, this.#served];
    for (const line of isForFresh ? lines : lines.reverse()) {
      for (const [site, parties] of line) {
        if (!may(site)) continue;
        line.delete(site);
        return this.#takeOf(site, parties);
      }
    }
    return undefined;
  }

  #takeOf(site: string, parties: Parties<Item>): Item | undefined {
    this.#turn += 1;
    this.#last.set(site, this.#turn);
    const [next] = parties;
    if (!next) return undefined;
    const [party, mates] = next;
    const [item] = mates;
    parties.delete(party);
    if (item !== undefined) mates.delete(item);
    if (mates.size > 0) parties.set(party, mates);
    if (parties.size > 0) this.#served.set(site, parties);
    return item;
  }
}

import type { Asker } from './asker.ts';
import {
  type Fresh,
  Groups,
  givesWayBefore,
  judgeGivingWay,
  type Line,
  type Waiting,
} from './giving-way.ts';
import { networkOfParty } from './party.ts';

/** Whose work something is. */
export interface Names {
  party: string;
  site: string;
  network: string;
}

export const namesOf = ({ party, site, network }: Line): Names => ({
  party: party.name,
  site: site.name,
  network: network.name,
});

/** All that waits, in a line for each party and rank. */
export class WaitingLines {
  readonly #networks = new Groups();
  readonly #sites = new Groups();
  readonly #parties = new Groups();
  /** Who began to wait first stands first. */
  readonly #lines = new Map<string, Line>();
  #weight = 0;

  /** Of all that waits. */
  get weight(): number {
    return this.#weight;
  }

  all(): Iterable<Line> {
    return this.#lines.values();
  }

  /** Where work of an asker stands; nothing is kept of a line before something waits in it. */
  lineOf({ party, site = party, rank = 0 }: Asker): Line {
    const key = `${rank} ${party}`;
    const known = this.#lines.get(key);
    if (known) return known;
    const fresh = {
      key,
      party: this.#parties.get(party),
      site: this.#sites.get(site),
      network: this.#networks.get(networkOfParty(site)),
      rank,
      entries: [],
    };
    return fresh;
  }

  /** What an asker asks for, beside what waits of the same. */
  freshOf({ party: name, site: siteName = name, rank = 0, weight = 1 }: Asker): Fresh {
    const party = this.#parties.get(name);
    const site = this.#sites.get(siteName);
    const network = this.#networks.get(networkOfParty(siteName));
    return { party, site, network, rank, weight };
  }

  /** That somebody had a turn, by its number. */
  noteTurn({ party, site, network }: Names, turn: number): void {
    this.#networks.noteTurn(network, turn);
    this.#sites.noteTurn(site, turn);
    this.#parties.noteTurn(party, turn);
  }

  /**
   * Who gives way first, in one look at all: a higher rank, or else who has more, or else who comes later; of
   * those the highest rank, of it the network that has most, of that the site, of that the party, and who came last.
   */
  findWorst(fresh: Fresh, isOver: boolean): Line | undefined {
    let worst: Line | undefined;
    let least = 1;
    for (const line of this.#lines.values()) {
      if (isOver && line.party !== fresh.party) continue;
      const reason = judgeGivingWay(line, fresh, isOver);
      if (reason < least || (worst && reason === least && !givesWayBefore(line, worst))) continue;
      worst = line;
      least = reason;
    }
    return worst;
  }

  add(line: Line, entry: Waiting): void {
    line.entries.push(entry);
    if (line.entries.length === 1) {
      this.#lines.set(line.key, line);
      this.#parties.join(line.party);
      this.#sites.join(line.site);
      this.#networks.join(line.network);
    }
    this.#count(line, entry.weight);
  }

  remove(line: Line, entry: Waiting): void {
    const at = line.entries.indexOf(entry);
    if (at < 0) return;
    line.entries.splice(at, 1);
    this.#count(line, -entry.weight);
    if (line.entries.length > 0) return;
    this.#lines.delete(line.key);
    this.#parties.leave(line.party);
    this.#sites.leave(line.site);
    this.#networks.leave(line.network);
  }

  #count({ party, site, network }: Line, weight: number): void {
    this.#weight += weight;
    party.weight += weight;
    site.weight += weight;
    network.weight += weight;
  }
}

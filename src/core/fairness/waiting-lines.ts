import type { Asker } from './asker.ts';
import {
  type Fresh,
  Groups,
  givesWayBefore,
  judgeGivingWay,
  LEVELS,
  type Line,
  type Place,
  type Waiting,
} from './giving-way.ts';
import { networkOfParty } from './party.ts';

/** Whose work something is. */
export type Names = Readonly<Record<keyof Place, string>>;

export const namesFor = ({ party, site = party }: Asker): Names => ({
  party,
  site,
  network: networkOfParty(site),
});

export const namesOf = ({ party, site, network }: Line): Names => ({
  party: party.name,
  site: site.name,
  network: network.name,
});

/** All that waits, in a line for each party and rank. */
export class WaitingLines {
  readonly #groups = { network: new Groups(), site: new Groups(), party: new Groups() };
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
  lineOf(asker: Asker): Line {
    const { party, rank = 0 } = asker;
    const key = `${rank} ${party}`;
    return this.#lines.get(key) ?? { key, ...this.#placeOf(asker), rank, entries: [] };
  }

  /** What an asker asks for, beside what waits of the same. */
  freshOf(asker: Asker): Fresh {
    const { rank = 0, weight = 1 } = asker;
    return { ...this.#placeOf(asker), rank, weight };
  }

  #placeOf(asker: Asker): Place {
    const { party, site, network } = namesFor(asker);
    return {
      party: this.#groups.party.get(party),
      site: this.#groups.site.get(site),
      network: this.#groups.network.get(network),
    };
  }

  /** That somebody had a turn, by its number. */
  noteTurn(names: Names, turn: number): void {
    for (const level of LEVELS) this.#groups[level].noteTurn(names[level], turn);
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
      for (const level of LEVELS) this.#groups[level].join(line[level]);
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
    for (const level of LEVELS) this.#groups[level].leave(line[level]);
  }

  #count(line: Line, weight: number): void {
    this.#weight += weight;
    for (const level of LEVELS) line[level].weight += weight;
  }
}

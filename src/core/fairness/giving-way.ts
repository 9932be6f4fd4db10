/** What waits for a turn, and who of those that wait gives way to others. */

import { BoundedMap } from '../bounded-map.ts';

/** Why somebody's turn did not come: too many wait, or the asker has gone. */
export type Turned = 'refused' | 'gone';

/** One piece of work. */
export interface Waiting {
  weight: number;
  go(): void;
  drop(why: Turned): void;
}

/** A party, a site, or a network, of which somebody waits. */
interface Group {
  name: string;
  /** Of all that waits of it. */
  weight: number;
  /** Lines that it has. */
  lines: number;
  /** When it had a turn the last time, by number; 0 for never. */
  last: number;
}

/** What waits of one party and rank, in the order of coming. */
export interface Line {
  key: string;
  party: Group;
  site: Group;
  network: Group;
  rank: number;
  entries: Waiting[];
}

/** From the widest to the narrowest. */
export const LEVELS = ['network', 'site', 'party'] as const;
export type Place = Pick<Line, (typeof LEVELS)[number]>;

/** More work that somebody asks for. */
export interface Fresh extends Place {
  rank: number;
  weight: number;
}

/** How good a reason there is for a line to give way to somebody; 0 for none. */
export function judgeGivingWay(line: Line, fresh: Fresh, isOver: boolean): 0 | 1 | 2 | 3 {
  if (line.rank !== fresh.rank || isOver) return line.rank > fresh.rank ? 3 : 0;
  if (hasMore(line, fresh)) return 2;
  return comesLater(line, fresh) ? 1 : 0;
}

/** Of what two are compared: their networks, in one network their sites, and in a site the parties. */
function levelOf(one: Place, other: Place): keyof Place {
  if (one.network !== other.network) return 'network';
  return one.site === other.site ? 'party' : 'site';
}

/** Negative for who has had no turn for longer: the network, in one the site, and within that the party. */
export function compareTurns(one: Place, other: Place): number {
  const level = levelOf(one, other);
  return one[level].last - other[level].last;
}

/** Of two with as good a reason: the higher rank, then the network that has more, site, party, then who came later. */
export function givesWayBefore(line: Line, other: Line): boolean {
  if (line.rank !== other.rank) return line.rank > other.rank;
  for (const level of LEVELS) {
    const more = line[level].weight - other[level].weight;
    if (more !== 0) return more > 0;
  }
  return compareTurns(line, other) >= 0;
}

/** Whether a network, or another site or party of the same, has as much as the asker also without its last one. */
function hasMore(line: Line, fresh: Fresh): boolean {
  // Otherwise two would take turns in giving way.
  const last = line.entries.at(-1)?.weight ?? 0;
  const level = levelOf(line, fresh);
  return line[level].weight - last >= fresh[level].weight + fresh.weight;
}

/** Whether somebody of whom nothing waits yet would be served before, for having had no turn for longer. */
function comesLater(line: Line, fresh: Fresh): boolean {
  const waits = fresh[levelOf(line, fresh)].weight;
  const last = line.entries.at(-1)?.weight ?? 0;
  return waits === 0 && last >= fresh.weight && compareTurns(line, fresh) > 0;
}

/**
 * The groups of which somebody waits, and the last turns of those also of which nobody does. What is compared for
 * each of thousands of lines stands in the group itself.
 */
export class Groups {
  readonly #waiting = new Map<string, Group>();
  readonly #last = new BoundedMap<number>();

  /** One of which nobody waits is kept by nobody. */
  get(name: string): Group {
    return (
      this.#waiting.get(name) ?? { name, weight: 0, lines: 0, last: this.#last.get(name) ?? 0 }
    );
  }

  join(group: Group): void {
    group.lines += 1;
    this.#waiting.set(group.name, group);
  }

  leave(group: Group): void {
    group.lines -= 1;
    if (group.lines === 0) this.#waiting.delete(group.name);
  }

  noteTurn(name: string, turn: number): void {
    this.#last.set(name, turn);
    const group = this.#waiting.get(name);
    if (group) group.last = turn;
  }
}

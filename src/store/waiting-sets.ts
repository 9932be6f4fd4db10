import { Failure } from '../core/failure.ts';
import { type Asking, OWN_WORK } from '../core/fairness/asking.ts';
import { NETWORK_PART, networkOfParty, siteOfParty } from '../core/fairness/party.ts';
import { Rounds } from './rounds.ts';
import { type Effect, isAuditEntry } from './write.ts';

/** A write set that waits, and who waits for it. */
export interface WaitingSet {
  effects: readonly Effect[];
  bytes: number;
  /** For whom it is, as far as turns and room are shared out. */
  asking: Asking;
  resolve(): void;
  reject(reason: Error): void;
}

/** What one batch may have; one set more may be in it, however large. */
interface BatchLimits {
  effects: number;
  bytes: number;
}

/** What waits of somebody, or of all. */
interface Amount {
  sets: number;
  bytes: number;
}

/**
 * What may wait; more means that the database does not keep up, and waiting is no help. So many bytes wait before one
 * more set: a record may be as long as the names of its token's policies.
 */
const MOST: Amount = { sets: 20_000, bytes: 64 << 20 };
/** The server's own sets, records of reads among them, have so much more room. */
const MOST_WITH_OWN: Amount = { sets: MOST.sets * 1.25, bytes: MOST.bytes * 1.25 };
/** Below these nobody is asked whose sets they are. */
const FEW: Amount = { sets: 500, bytes: 4 << 20 };
/** A site's part of what other sites leave, and an account's of what its site may have. */
const HALF = 1 / 2;

const NO_ROOM = 'too many writes are waiting for the database';

export const refuseForRoom = (): Failure => new Failure('unavailable', NO_ROOM, { retry_after: 1 });

/** Whether a write set was refused for those that wait before it: a smaller one would have been as well. */
export const isForRoom = (error: unknown): boolean =>
  error instanceof Failure && error.message === NO_ROOM;

/** What waits for one party's one account, first come first. */
interface Line {
  name: string;
  site: Site;
  /** Those before `head` have been taken. */
  sets: (WaitingSet | undefined)[];
  head: number;
  bytes: number;
}

/** What waits of a site. */
interface Site extends Amount {
  name: string;
  network: Network;
  lines: Rounds<Line>;
}

/** The sites of a network for which sets wait. */
interface Network extends Amount {
  name: string;
  sites: Rounds<Site>;
}

/**
 * Write sets that wait for the database. As long as all of them fit one batch they go in the order of coming.
 * Else turns go round the networks, in a network round its sites, and in a site round its accounts: whoever asks for many
 * or long ones waits for themselves. What a batch did not come to has its turn before all others.
 */
export class WaitingSets {
  #arrived: WaitingSet[] = [];
  readonly #lines = new Map<string, Line>();
  readonly #sites = new Map<string, Site>();
  readonly #networks = new Map<string, Network>();
  readonly #rounds = new Rounds<Network>();
  readonly #all: Amount = { sets: 0, bytes: 0 };

  get count(): number {
    return this.#all.sets;
  }

  /**
   * Whether one more set may wait. A network has three quarters of what others leave, a site half, an account half of
   * that: whoever comes anew finds room.
   */
  hasRoom(asking: Asking): boolean {
    const all = this.#all;
    if (isBelow(all, FEW)) return true;
    if (asking === OWN_WORK) return isBelow(all, MOST_WITH_OWN);
    this.#fileArrived();
    const network = this.#networks.get(networkOfParty(asking.party)) ?? NOTHING;
    if (!isBelow(network, partOf(NETWORK_PART, MOST, all, network))) return false;
    const site = this.#sites.get(siteOfParty(asking.party)) ?? NOTHING;
    const ofSite = partOf(HALF, MOST, all, site);
    if (!isBelow(site, ofSite)) return false;
    const line = this.#lines.get(nameOf(asking));
    // Of one account alone there is nobody to leave room for.
    if (!line) return true;
    const own = { sets: lengthOf(line), bytes: line.bytes };
    return isBelow(own, partOf(HALF, ofSite, site, own));
  }

  add(set: WaitingSet): void {
    this.#arrived.push(set);
    this.#all.sets += 1;
    this.#all.bytes += set.bytes;
  }

  /** Takes the sets of the next batch, in their order. */
  take(limits: BatchLimits): WaitingSet[] {
    if (this.#lines.size === 0 && this.#fits(limits)) {
      const all = this.#arrived;
      this.#arrived = [];
      this.#all.sets = 0;
      this.#all.bytes = 0;
      return all;
    }
    this.#fileArrived();
    const taken: WaitingSet[] = [];
    let effects = 0;
    let bytes = 0;
    while (effects < limits.effects && bytes < limits.bytes) {
      const set = this.#takeNext();
      if (!set) break;
      taken.push(set);
      effects += set.effects.length;
      bytes += set.bytes;
    }
    return taken;
  }

  /** Takes back sets that a batch did not come to: their turns come first, in the same order. */
  putBack(sets: readonly WaitingSet[]): void {
    const again = new Map<Line, WaitingSet[]>();
    for (const set of sets) {
      const line = this.#lineOf(set.asking);
      const { site } = line;
      this.#rounds.toFront(site.network.name, site.network);
      site.network.sites.toFront(site.name, site);
      site.lines.toFront(line.name, line);
      again.getOrInsert(line, []).push(set);
      this.#grow(line, set, 1);
      this.#all.sets += 1;
      this.#all.bytes += set.bytes;
    }
    for (const [line, own] of again) {
      line.sets = [...own, ...line.sets.slice(line.head)];
      line.head = 0;
    }
  }

  /** All of them, none of which waits any more. */
  clear(): WaitingSet[] {
    return this.take({ effects: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY });
  }

  #fits(limits: BatchLimits): boolean {
    if (this.#all.bytes > limits.bytes) return false;
    let effects = 0;
    for (const set of this.#arrived) effects += set.effects.length;
    return effects <= limits.effects;
  }

  #fileArrived(): void {
    for (const set of this.#arrived) {
      const line = this.#lineOf(set.asking);
      line.sets.push(set);
      this.#grow(line, set, 1);
    }
    this.#arrived = [];
  }

  #lineOf(asking: Asking): Line {
    return this.#lines.getOrInsertComputed(nameOf(asking), (name) => {
      const site = this.#siteOf(asking.party);
      const line: Line = { name, site, sets: [], head: 0, bytes: 0 };
      site.lines.toEnd(name, line);
      return line;
    });
  }

  #siteOf(party: string): Site {
    return this.#sites.getOrInsertComputed(siteOfParty(party), (name) => {
      const network = this.#networkOf(networkOfParty(party));
      const site: Site = { name, network, lines: new Rounds(), sets: 0, bytes: 0 };
      network.sites.toEnd(name, site);
      return site;
    });
  }

  #networkOf(wanted: string): Network {
    return this.#networks.getOrInsertComputed(wanted, (name) => {
      const network: Network = { name, sites: new Rounds(), sets: 0, bytes: 0 };
      this.#rounds.toEnd(name, network);
      return network;
    });
  }

  #takeNext(): WaitingSet | undefined {
    const network = this.#rounds.next;
    const site = network?.sites.next;
    const line = site?.lines.next;
    if (!network || !site || !line) return undefined;
    const set = shift(line);
    this.#grow(line, set, -1);
    this.#all.sets -= 1;
    this.#all.bytes -= set.bytes;
    endTurn(line, site.lines, this.#lines, lengthOf(line));
    endTurn(site, network.sites, this.#sites, site.sets);
    endTurn(network, this.#rounds, this.#networks, network.sets);
    return set;
  }

  #grow(line: Line, set: WaitingSet, by: 1 | -1): void {
    const { site } = line;
    for (const one of [line, site, site.network]) one.bytes += by * set.bytes;
    for (const one of [site, site.network]) one.sets += by;
  }
}

/** Places of sets that were taken which a line keeps, at most as many as it has others. */
const TAKEN = 64;

function shift(line: Line): WaitingSet {
  const set = line.sets[line.head];
  if (!set) throw new TypeError('a line without sets has no turn');
  // What is written is nobody's any more: a line that never ends must not keep it.
  line.sets[line.head] = undefined;
  line.head += 1;
  if (line.head > TAKEN && line.head * 2 > line.sets.length) {
    line.sets = line.sets.slice(line.head);
    line.head = 0;
  }
  return set;
}

/** It is last now, or gone where nothing of it waits. */
function endTurn<Item extends { name: string }>(
  item: Item,
  rounds: Rounds<Item>,
  known: Map<string, Item>,
  waiting: number,
): void {
  if (waiting > 0) {
    rounds.toEnd(item.name, item);
    return;
  }
  rounds.delete(item.name);
  known.delete(item.name);
}

const NOTHING: Amount = { sets: 0, bytes: 0 };

const isBelow = (one: Amount, most: Amount): boolean =>
  one.sets < most.sets && one.bytes < most.bytes;

/** What somebody may have: a part of what the others of all leave of a room. */
const partOf = (part: number, room: Amount, all: Amount, own: Amount): Amount => ({
  sets: (room.sets - (all.sets - own.sets)) * part,
  bytes: (room.bytes - (all.bytes - own.bytes)) * part,
});

const lengthOf = ({ sets, head }: Line): number => sets.length - head;

const nameOf = (asking: Asking): string => `${asking.party} ${asking.account}`;

/** For whom a set is: records of reads alone are the server's own, whoever's turn it was to hand them on. */
export function askingOf(effects: readonly Effect[], asking: Asking): Asking {
  return effects.every(isAuditEntry) ? OWN_WORK : asking;
}

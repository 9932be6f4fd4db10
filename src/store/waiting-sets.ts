import { type Asking, OWN_WORK } from '../core/asking.ts';
import { siteOfParty } from '../core/party.ts';
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
export interface BatchLimits {
  effects: number;
  bytes: number;
}

/** Sets that may wait; more means that the database does not keep up, and waiting is no help. */
const MOST_SETS = 20_000;
/** As much as waits before one more set: a record may be as long as the names of its token's policies. */
const MOST_BYTES = 64 << 20;
/** The server's own sets, records of reads among them, have so much more room. */
const OWN_SHARE = 1.25;
/** Below these nobody is asked whose sets they are. */
const FEW_SETS = 500;
const FEW_BYTES = 4 << 20;

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
interface Site {
  name: string;
  lines: Rounds<Line>;
  sets: number;
  bytes: number;
}

/**
 * Write sets that wait for the database. As long as all of them fit one batch they go in the order of coming.
 * Else turns go round the sites, and in a site round its accounts: whoever asks for many or long ones waits for
 * themselves. What a batch did not come to has its turn before all others.
 */
export class WaitingSets {
  #arrived: WaitingSet[] = [];
  readonly #lines = new Map<string, Line>();
  readonly #sites = new Map<string, Site>();
  readonly #rounds = new Rounds<Site>();
  #count = 0;
  #bytes = 0;

  get count(): number {
    return this.#count;
  }

  /**
   * Whether one more set may wait. A site has half of what others leave, an account half of that: whoever comes anew
   * finds room.
   */
  hasRoom(asking: Asking): boolean {
    if (this.#count < FEW_SETS && this.#bytes < FEW_BYTES) return true;
    if (asking === OWN_WORK) {
      return this.#count < MOST_SETS * OWN_SHARE && this.#bytes < MOST_BYTES * OWN_SHARE;
    }
    this.#fileArrived();
    const line = this.#lines.get(nameOf(asking));
    const share = this.#sites.get(siteOfParty(asking.party)) ?? { sets: 0, bytes: 0 };
    const sets = (MOST_SETS - (this.#count - share.sets)) / 2;
    const bytes = (MOST_BYTES - (this.#bytes - share.bytes)) / 2;
    if (share.sets >= sets || share.bytes >= bytes) return false;
    if (!line) return true;
    // Of one account alone there is nobody to leave room for.
    const others = { sets: share.sets - lengthOf(line), bytes: share.bytes - line.bytes };
    return (
      lengthOf(line) < (sets - others.sets) * ALONE && line.bytes < (bytes - others.bytes) * ALONE
    );
  }

  add(set: WaitingSet): void {
    this.#arrived.push(set);
    this.#count += 1;
    this.#bytes += set.bytes;
  }

  /** Takes the sets of the next batch, in their order. */
  take(limits: BatchLimits): WaitingSet[] {
    if (this.#lines.size === 0 && this.#fits(limits)) {
      const all = this.#arrived;
      this.#arrived = [];
      this.#count = 0;
      this.#bytes = 0;
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
      this.#rounds.toFront(line.site.name, line.site);
      line.site.lines.toFront(line.name, line);
      const own = again.get(line);
      if (own) own.push(set);
      else again.set(line, [set]);
      this.#grow(line, set, 1);
      this.#count += 1;
      this.#bytes += set.bytes;
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
    if (this.#bytes > limits.bytes) return false;
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
    const name = nameOf(asking);
    const known = this.#lines.get(name);
    if (known) return known;
    const site = this.#siteOf(siteOfParty(asking.party));
    const line: Line = { name, site, sets: [], head: 0, bytes: 0 };
    this.#lines.set(name, line);
    site.lines.toEnd(name, line);
    return line;
  }

  #siteOf(name: string): Site {
    const known = this.#sites.get(name);
    if (known) return known;
    const site: Site = { name, lines: new Rounds(), sets: 0, bytes: 0 };
    this.#sites.set(name, site);
    this.#rounds.toEnd(name, site);
    return site;
  }

  #takeNext(): WaitingSet | undefined {
    const site = this.#rounds.next;
    const line = site?.lines.next;
    if (!site || !line) return undefined;
    const set = shift(line);
    this.#grow(line, set, -1);
    this.#count -= 1;
    this.#bytes -= set.bytes;
    if (lengthOf(line) > 0) site.lines.toEnd(line.name, line);
    else {
      this.#lines.delete(line.name);
      site.lines.delete(line.name);
    }
    if (site.sets > 0) this.#rounds.toEnd(site.name, site);
    else {
      this.#sites.delete(site.name);
      this.#rounds.delete(site.name);
    }
    return set;
  }

  #grow(line: Line, set: WaitingSet, by: 1 | -1): void {
    for (const one of [line, line.site]) one.bytes += by * set.bytes;
    line.site.sets += by;
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

/** An account's part of what its site may have. */
const ALONE = 1 / 2;

const lengthOf = ({ sets, head }: Line): number => sets.length - head;

const nameOf = (asking: Asking): string => `${asking.party} ${asking.account}`;

/** For whom a set is: records of reads alone are the server's own, whoever's turn it was to hand them on. */
export function askingOf(effects: readonly Effect[], asking: Asking): Asking {
  return effects.every(isAuditEntry) ? OWN_WORK : asking;
}

import { type Asking, OWN_WORK } from '../core/asking.ts';
import { siteOfParty } from '../core/party.ts';
import { SiteTurns } from '../core/site-turns.ts';
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
  party: string;
  site: string;
  sets: WaitingSet[];
  /** Where those begin that have not been taken. */
  head: number;
  bytes: number;
}

/** What waits of a site. */
interface Share {
  sets: number;
  bytes: number;
}

/**
 * Write sets that wait for the database. As long as all of them fit one batch they go in the order of coming.
 * Else turns go round the sites, in a site round its parties, and in a party round the accounts: whoever asks for many
 * or long ones waits for themselves.
 */
export class WaitingSets {
  #arrived: WaitingSet[] = [];
  readonly #lines = new Map<string, Line>();
  readonly #turns = new SiteTurns<Line>();
  readonly #shares = new Map<string, Share>();
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
    const share = this.#shares.get(siteOfParty(asking.party)) ?? { sets: 0, bytes: 0 };
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
      const line = this.#turns.take();
      if (!line) break;
      const set = this.#takeOf(line);
      taken.push(set);
      effects += set.effects.length;
      bytes += set.bytes;
    }
    return taken;
  }

  /** Takes back sets that a batch did not come to: they are the next of their lines. */
  putBack(sets: readonly WaitingSet[]): void {
    for (const set of sets.toReversed()) {
      const line = this.#lineOf(set.asking);
      if (line.head > 0) {
        line.head -= 1;
        line.sets[line.head] = set;
      } else line.sets.unshift(set);
      this.#grow(line, set, 1);
      this.#count += 1;
      this.#bytes += set.bytes;
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
    const { party } = asking;
    const line = { name, party, site: siteOfParty(party), sets: [], head: 0, bytes: 0 };
    this.#lines.set(name, line);
    this.#turns.add(party, line);
    return line;
  }

  #takeOf(line: Line): WaitingSet {
    const set = line.sets[line.head];
    if (!set) throw new TypeError('a line without sets has no turn');
    line.head += 1;
    this.#grow(line, set, -1);
    this.#count -= 1;
    this.#bytes -= set.bytes;
    if (lengthOf(line) === 0) this.#lines.delete(line.name);
    else this.#turns.add(line.party, line);
    return set;
  }

  #grow(line: Line, set: WaitingSet, by: 1 | -1): void {
    line.bytes += by * set.bytes;
    const share = this.#shares.get(line.site) ?? { sets: 0, bytes: 0 };
    share.sets += by;
    share.bytes += by * set.bytes;
    if (share.sets > 0) this.#shares.set(line.site, share);
    else this.#shares.delete(line.site);
  }
}

/** An account's part of what its site may have. */
const ALONE = 1 / 2;

const lengthOf = ({ sets, head }: Line): number => sets.length - head;

const nameOf = (asking: Asking): string => `${asking.party} ${asking.account}`;

/** For whom a set is: records of reads alone are the server's own, whoever's turn it was to hand them on. */
export function askingOf(effects: readonly Effect[], asking: Asking): Asking {
  return effects.every(isAuditEntry) ? OWN_WORK : asking;
}

import { Counts } from '../core/fairness/counts.ts';
import { NETWORK_PART, networkOfParty, siteOf } from '../core/fairness/party.ts';

/** What was refused: each kind has a budget of its own, so that none can hide behind another. */
export type RefusalKind = 'unknown_token' | 'seal' | 'other';

/** What was refused, by whom. */
export interface Refusal {
  remote_address: string;
  kind: RefusalKind;
  /** Of what is about the seal, which is counted by it. */
  route: string;
}

/** Refused unauthenticated requests that are recorded one by one, in a time and of a kind. */
interface Bounds {
  ms: number;
  /** In all; of it a part for sites that have had few. */
  whole: number;
  /** Of sites that have had theirs, no more once there are so many in all. */
  repeated: number;
  /** From one site, before it has had its share, and in any case. */
  few: number;
  most: number;
}

const USUAL: readonly Bounds[] = [
  { ms: 1_000, whole: 10, repeated: 10, few: 3, most: 3 },
  // What lasts is kept for years: a flood that goes on all day fills no disk.
  { ms: 60_000, whole: 60, repeated: 30, few: 3, most: 20 },
];
/** Operators with shares are few: whoever tries much at the seal is seen doing it. */
const OF_SEAL: readonly Bounds[] = [
  { ms: 1_000, whole: 40, repeated: 40, few: 20, most: 20 },
  { ms: 60_000, whole: 120, repeated: 60, few: 20, most: 60 },
];
/** Addresses that are counted apart; all others together. */
const ADDRESSES = 20;

/** Refused requests from an address or an IPv6 site; none: from all those that were not counted apart. */
export interface RefusalCount {
  remote_address: string | undefined;
  requests: number;
  /** Of attempts on the seal: which. */
  route?: string;
}

/**
 * Keeps the records of refused unauthenticated requests within bounds, whatever they send: of each kind ten a second
 * and sixty a minute one by one, and beyond that only how many there were. Of one site (see `siteOf`) these are
 * three a second and twenty a minute, and half of a minute's are for sites that have had no more than three; the sites of
 * one network have three quarters of all.
 * Attempts on the seal have more room, which nothing else takes, and are counted by what was tried.
 */
export class RefusalTally {
  #budgets = {
    unknown_token: newBudgets(USUAL),
    seal: newBudgets(OF_SEAL),
    other: newBudgets(USUAL),
  };
  #counted = new Map<string, RefusalCount>();
  #countedAtSeal = new Map<string, RefusalCount>();
  #others = new Map<string, RefusalCount>();

  /**
   * Takes in a refusal.
   *
   * @param now Unix milliseconds
   * @param isRoom whether another record can be kept
   * @returns true when it is to be recorded by itself, false when it was counted
   */
  take(now: number, { remote_address, kind, route }: Refusal, isRoom = true): boolean {
    const site = siteOf(remote_address);
    const budgets = this.#budgets[kind];
    for (const budget of budgets) budget.turn(now);
    if (isRoom && budgets.every((budget) => budget.has(site))) {
      for (const budget of budgets) budget.use(site);
      return true;
    }
    this.#count(site, kind === 'seal' ? route : undefined);
    return false;
  }

  #count(site: string, route: string | undefined): void {
    const counted = route === undefined ? this.#counted : this.#countedAtSeal;
    const key = route === undefined ? site : `${site} ${route}`;
    const isApart = counted.has(key) || counted.size < ADDRESSES;
    if (isApart) addTo(counted, key, { remote_address: site, route });
    // Routes are few: they need no bound.
    else addTo(this.#others, route ?? '', { remote_address: undefined, route });
  }

  /** What was counted since the last time: at most 40 counts, and one for each route besides. */
  drain(): RefusalCount[] {
    const counts = [this.#counted, this.#countedAtSeal, this.#others].flatMap((some) => [
      ...some.values(),
    ]);
    for (const some of [this.#counted, this.#countedAtSeal, this.#others]) some.clear();
    return counts;
  }
}

function addTo(
  counts: Map<string, RefusalCount>,
  key: string,
  { remote_address, route }: { remote_address: string | undefined; route: string | undefined },
): void {
  const none = { remote_address, requests: 0, ...(route === undefined ? {} : { route }) };
  counts.getOrInsert(key, none).requests += 1;
}

/** What was recorded one by one in the present second or minute: in all, and from each site. */
class Budget {
  readonly #bounds: Bounds;
  #time = 0;
  #whole = 0;
  /** By site and by network. */
  #from = new Counts();
  #fromNetworks = new Counts();

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  turn(now: number): void {
    const time = Math.floor(now / this.#bounds.ms);
    if (time === this.#time) return;
    this.#time = time;
    this.#whole = 0;
    this.#from = new Counts();
    this.#fromNetworks = new Counts();
  }

  has(site: string): boolean {
    const { whole, repeated, few, most } = this.#bounds;
    const before = this.#from.get(site);
    const neighbours = this.#fromNetworks.get(networkOfParty(site));
    if (neighbours >= whole * NETWORK_PART) return false;
    return before < most && this.#whole < (before < few ? whole : repeated);
  }

  use(site: string): void {
    this.#whole += 1;
    this.#from.add(site, 1);
    this.#fromNetworks.add(networkOfParty(site), 1);
  }
}

const newBudgets = (bounds: readonly Bounds[]): readonly Budget[] =>
  bounds.map((one) => new Budget(one));

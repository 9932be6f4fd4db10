import { type Asking, whoAsks } from './asking.ts';
import { LastTurns } from './last-turns.ts';
import { networkOfParty, siteOfParty } from './party.ts';
import { Spending } from './spending.ts';

/** So many turns a request has before it waits behind those that had fewer: a usual one needs no more. */
const SHORT = 8;
/** Of so many turns one is for those who come again and again, whoever else waits. */
const EACH = 4;
/** In so many milliseconds the time that a network's turns took counts half. */
const HALF_LIFE_MS = 5_000;
/** Of an equal share: a network that took less of late has had little when it comes to wait. */
const LITTLE = 1;
/** Of an equal share: so little has still had who goes on to wait after a turn, as the busy ones, which take about their share, always do. */
const LITTLE_YET = 1 / 2;

interface Waits {
  /** Takes out who is next. */
  take(): (() => void) | undefined;
  readonly isEmpty: boolean;
}

/** What one request waits for. */
class Goings implements Waits {
  readonly #asking: Asking;
  readonly #waiting: (() => void)[] = [];

  constructor(who: Asking) {
    this.#asking = who;
  }

  add(go: () => void): void {
    this.#waiting.push(go);
  }

  take(): (() => void) | undefined {
    this.#asking.turns += 1;
    return this.#waiting.shift();
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }
}

/** Members that wait, each of them as often as the others; those that had little of late come first. */
class Circle<Key, Member extends Waits> implements Waits {
  readonly #soon = new Map<Key, Member>();
  readonly #later = new Map<Key, Member>();
  #taken = 0;

  get size(): number {
    return this.#soon.size + this.#later.size;
  }

  get isEmpty(): boolean {
    return this.size === 0;
  }

  /** @param isNew whether one that does not wait yet has had little of late */
  member(key: Key, make: () => Member, isNew: () => boolean): Member {
    const known = this.#soon.get(key) ?? this.#later.get(key);
    if (known) return known;
    const made = make();
    (isNew() ? this.#soon : this.#later).set(key, made);
    return made;
  }

  /**
   * @param may whose turn can be now; who is not let keeps the place in the order
   * @param hasHadLittle whether who goes on to wait has had little of late, this turn included
   */
  take(
    may: (key: Key) => boolean = () => true,
    hasHadLittle: (key: Key) => boolean = () => false,
  ): (() => void) | undefined {
    this.#taken += 1;
    const lines = [this.#soon, this.#later];
    for (const line of this.#taken % EACH === 0 ? lines.reverse() : lines) {
      for (const [key, member] of line) {
        if (!may(key)) continue;
        line.delete(key);
        const go = member.take();
        if (!member.isEmpty) (hasHadLittle(key) ? this.#soon : this.#later).set(key, member);
        return go;
      }
    }
    return undefined;
  }
}

type Party = Circle<Asking, Goings>;
type Site = Circle<string, Party>;
type Network = Circle<string, Site>;

/**
 * Pieces of work, reads for instance, that wait for their turn. It goes round the networks, of each round its sites, of
 * each round its parties, and of each round its requests: whoever works on and on waits for himself and not everybody
 * for him. At each of these, those come first who had no turn for longer than the others, or, of networks, whose turns took
 * little time, as far as that is told; and of requests those that have had few.
 */
export class AskingLine {
  readonly #networks: Circle<string, Network> = new Circle();
  readonly #spending = new Spending(HALF_LIFE_MS);
  readonly #lastOfNetwork = new LastTurns();
  readonly #lastOfSite = new LastTurns();
  readonly #lastOfParty = new LastTurns();
  #turn = 0;
  /** Whose turn it was the last time. */
  #served: string | undefined;

  get isEmpty(): boolean {
    return this.#networks.isEmpty;
  }

  /** Resolves when whoever asks is next. */
  wait(): Promise<void> {
    const who = whoAsks();
    const { party: name } = who;
    const networkName = networkOfParty(name);
    const network = this.#networks.member(
      networkName,
      () => new Circle(),
      () =>
        this.#isLongAgo(this.#lastOfNetwork.get(networkName), this.#networks.size) ||
        this.#isFrugal(networkName, LITTLE),
    );
    const siteName = siteOfParty(name);
    const site = network.member(
      siteName,
      () => new Circle(),
      () => this.#isLongAgo(this.#lastOfSite.get(siteName), network.size),
    );
    const party = site.member(
      name,
      () => new Circle(),
      () => this.#isLongAgo(this.#lastOfParty.get(name), site.size),
    );
    const goings = party.member(
      who,
      () => new Goings(who),
      () => who.turns < SHORT,
    );
    return new Promise((resolve) => {
      goings.add(() => {
        this.#turn += 1;
        this.#served = networkName;
        this.#lastOfNetwork.set(networkName, this.#turn);
        this.#lastOfSite.set(siteName, this.#turn);
        this.#lastOfParty.set(name, this.#turn);
        resolve();
      });
    });
  }

  /**
   * Lets go on who is next.
   *
   * @param may asked of networks in their order, until it says so of one: that one has the turn
   * @returns the network whose turn it is; undefined: nobody's
   */
  next(may?: (network: string) => boolean): string | undefined {
    this.#served = undefined;
    this.#networks.take(may, (network) => this.#isFrugal(network, LITTLE_YET))?.();
    return this.#served;
  }

  /** Tells how many milliseconds a network's turn has taken. */
  charge(network: string, ms: number): void {
    this.#spending.charge(network, ms, performance.now());
  }

  /** @param of so much of an equal share is the bound */
  #isFrugal(network: string, of: number): boolean {
    const now = performance.now();
    const share = this.#spending.all(now) / (this.#networks.size + 1);
    return this.#spending.of(network, now) < share * of;
  }

  /** Whether as many others as wait may have had a turn since. */
  #isLongAgo(last: number, waiting: number): boolean {
    return last === 0 || this.#turn - last > waiting;
  }
}

import { BoundedMap } from '../bounded-map.ts';
import { type Asking, USUAL_TURNS, whoAsks } from './asking.ts';
import { networkOfParty, SHARED_PARTY, siteOfParty } from './party.ts';
import { Spending } from './spending.ts';

/** Of so many turns one is for those who come again and again, whoever else waits. */
const EACH = 4;
/** In so many milliseconds what a network's turns took counts half. */
const HALF_LIFE_MS = 5_000;
/** Each turn counts so much besides: where nobody tells how long they took they count by their number. */
const TURN_MS = 0.05;
/** What many wait for has so many networks' part: most of those may be waiting for it. */
const SHARED_PARTS = 4;
/** Of so many networks, those that have waited longest, the one is sought whose turns took least. */
const MOST_COMPARED = 128;

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

  take(): (() => void) | undefined {
    this.#taken += 1;
    const lines = [this.#soon, this.#later];
    for (const line of this.#taken % EACH === 0 ? lines.reverse() : lines) {
      for (const [key, member] of line) {
        line.delete(key);
        const go = member.take();
        if (!member.isEmpty) this.#later.set(key, member);
        return go;
      }
    }
    return undefined;
  }
}

/**
 * Requests of one party that wait. Those that have begun, and need little, are done before another begins: what each
 * holds meanwhile would be there as often as there are requests. Those that had many turns come last, one after the other.
 */
class Party implements Waits {
  readonly #begun = new Map<Asking, Goings>();
  readonly #fresh = new Map<Asking, Goings>();
  readonly #later = new Map<Asking, Goings>();
  #taken = 0;

  get isEmpty(): boolean {
    return this.#begun.size + this.#fresh.size + this.#later.size === 0;
  }

  goingsOf(who: Asking): Goings {
    const known = this.#begun.get(who) ?? this.#fresh.get(who) ?? this.#later.get(who);
    if (known) return known;
    const made = new Goings(who);
    this.#lineOf(who).set(who, made);
    return made;
  }

  take(): (() => void) | undefined {
    this.#taken += 1;
    const lines =
      this.#taken % EACH === 0
        ? [this.#later, this.#begun, this.#fresh]
        : [this.#begun, this.#fresh, this.#later];
    for (const line of lines) {
      for (const [who, goings] of line) {
        line.delete(who);
        const go = goings.take();
        if (!goings.isEmpty) this.#lineOf(who).set(who, goings);
        return go;
      }
    }
    return undefined;
  }

  #lineOf({ turns }: Asking): Map<Asking, Goings> {
    if (turns === 0) return this.#fresh;
    return turns < USUAL_TURNS ? this.#begun : this.#later;
  }
}

type Site = Circle<string, Party>;
type Network = Circle<string, Site>;

/** Networks that wait, in their order; of most turns each is for the one whose turns took least of late. */
class Networks {
  readonly #waiting = new Map<string, Network>();
  readonly #spending = new Spending(HALF_LIFE_MS);
  #taken = 0;

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  member(name: string): Network {
    return this.#waiting.getOrInsertComputed(name, () => new Circle());
  }

  /** @returns whose turn it is */
  take(may: (name: string) => boolean): string | undefined {
    this.#taken += 1;
    const name = this.#taken % EACH === 0 ? this.#firstOf(may) : this.#leastOf(may);
    const network = name === undefined ? undefined : this.#waiting.get(name);
    if (name === undefined || !network) return undefined;
    this.#waiting.delete(name);
    const go = network.take();
    if (!network.isEmpty) this.#waiting.set(name, network);
    this.charge(name, TURN_MS);
    go?.();
    return name;
  }

  charge(name: string, ms: number): void {
    const spent = name === SHARED_PARTY ? ms / SHARED_PARTS : ms;
    this.#spending.charge(name, spent, performance.now());
  }

  #firstOf(may: (name: string) => boolean): string | undefined {
    for (const name of this.#waiting.keys()) if (may(name)) return name;
    return undefined;
  }

  #leastOf(may: (name: string) => boolean): string | undefined {
    if (this.#waiting.size === 1) return this.#firstOf(may);
    const now = performance.now();
    let best: string | undefined;
    let least = Number.POSITIVE_INFINITY;
    let compared = 0;
    for (const name of this.#waiting.keys()) {
      if (!may(name)) continue;
      const spent = this.#spending.of(name, now);
      if (spent < least) {
        best = name;
        least = spent;
      }
      compared += 1;
      if (compared === MOST_COMPARED) break;
    }
    return best;
  }
}

/**
 * Pieces of work, reads for instance, that wait for their turn. It is for the network whose turns took least of late, of
 * each in turn for its sites, of each for its parties, and of each for its requests: whoever works on and on waits for
 * himself and not everybody for him. Of sites and parties those come first who had no turn for longer than the others, of
 * requests those that have begun and had few. Of four turns one is for who has waited longest.
 */
export class AskingLine {
  readonly #networks = new Networks();
  readonly #lastOfSite = new BoundedMap<number>();
  readonly #lastOfParty = new BoundedMap<number>();
  #turn = 0;

  get isEmpty(): boolean {
    return this.#networks.isEmpty;
  }

  /** Resolves when whoever asks is next. */
  wait(): Promise<void> {
    const who = whoAsks();
    const { party: name } = who;
    const network = this.#networks.member(networkOfParty(name));
    const siteName = siteOfParty(name);
    const site = network.member(
      siteName,
      () => new Circle(),
      () => this.#isLongAgo(this.#lastOfSite.get(siteName) ?? 0, network.size),
    );
    const party = site.member(
      name,
      () => new Party(),
      () => this.#isLongAgo(this.#lastOfParty.get(name) ?? 0, site.size),
    );
    const goings = party.goingsOf(who);
    return new Promise((resolve) => {
      goings.add(() => {
        this.#turn += 1;
        this.#lastOfSite.set(siteName, this.#turn);
        this.#lastOfParty.set(name, this.#turn);
        resolve();
      });
    });
  }

  /**
   * Lets go on who is next.
   *
   * @param may which networks' turn it can be
   * @returns the network whose turn it is; undefined: nobody's
   */
  next(may: (network: string) => boolean = () => true): string | undefined {
    return this.#networks.take(may);
  }

  /** Tells how many milliseconds a network's turn has taken. */
  charge(network: string, ms: number): void {
    this.#networks.charge(network, ms);
  }

  /** Whether as many others as wait may have had a turn since. */
  #isLongAgo(last: number, waiting: number): boolean {
    return last === 0 || this.#turn - last > waiting;
  }
}

import { BoundedMap } from '../../core/bounded-map.ts';

/** Whose turn comes first: of those who have proved to be right, of others, and of those who were wrong. */
export const PROVED = 0;
export const UNPROVED = 1;
export const DOUBTED = 2;

export type Rank = typeof PROVED | typeof UNPROVED | typeof DOUBTED;

/** Who tries to log in, as which name. */
export interface LogInAttempt {
  /** Any text that stands for the name; nobody reads it. */
  name: string;
  /** See `partyOf`. */
  party: string;
  /** See `networkOf`. */
  network: string;
}

/** For how long it counts that somebody has logged in. */
const PROOF_MS = 30 * 24 * 3_600_000;
/** So many failures in a row, more than a password mistyped, and it counts no more. */
const MOST_MISTYPED = 5;
/** What failures weigh is halved in this time. */
const HALF_LIFE_MS = 300_000;
/** A party with so many failures is doubted, and every party of a network with so many. */
const DOUBTED_PARTY = 3;
const DOUBTED_NETWORK = 16;

/**
 * What this node remembers of log-ins, to choose whose password is checked first when many wait, and whom a
 * lock by other callers does not concern: by which names somebody has logged in from which addresses, and how many
 * failures came from where. It never stands for a password: it is in memory only, and the oldest is forgotten
 * when it is too much.
 */
export class LogInHistory {
  readonly #proved: Proved;
  readonly #parties: Fading;
  readonly #networks: Fading;

  /** @param most of each kind that is remembered */
  constructor(most = 16_384) {
    this.#proved = new Proved(most);
    this.#parties = new Fading(most);
    this.#networks = new Fading(most);
  }

  /** @param now Unix milliseconds */
  rank(attempt: LogInAttempt, now: number): Rank {
    if (this.#proved.has(attempt, now)) return PROVED;
    if (this.#parties.get(attempt.party, now) >= DOUBTED_PARTY) return DOUBTED;
    return this.#networks.get(attempt.network, now) >= DOUBTED_NETWORK ? DOUBTED : UNPROVED;
  }

  /**
   * How often the name may be tried from where it has logged in, though others have locked it.
   *
   * @param most so many failures in a row lock a name
   */
  countLeft(attempt: LogInAttempt, most: number, now: number): number {
    const mistyped = this.#proved.countMistyped(attempt, now);
    return mistyped === undefined ? 0 : Math.max(0, Math.min(most, MOST_MISTYPED) - mistyped);
  }

  noteRight(attempt: LogInAttempt, now: number): void {
    this.#proved.add(attempt, now);
  }

  noteWrong(attempt: LogInAttempt, now: number): void {
    this.#proved.doubt(attempt);
    this.#parties.add(attempt.party, now);
    this.#networks.add(attempt.network, now);
  }
}

/** Failures by key, which weigh less as time goes by. */
class Fading {
  /** The latest stands last. */
  readonly #weights: BoundedMap<{ weight: number; at: number }>;

  constructor(most: number) {
    this.#weights = new BoundedMap(most);
  }

  get(key: string, now: number): number {
    const found = this.#weights.get(key);
    return found ? found.weight * 2 ** -(Math.max(0, now - found.at) / HALF_LIFE_MS) : 0;
  }

  add(key: string, now: number): void {
    const weight = this.get(key, now) + 1;
    this.#weights.set(key, { weight, at: now });
  }
}

interface Proof {
  at: number;
  /** Since then, in a row. */
  mistyped: number;
}

/** Names that logged in, by network, so that one network cannot push all others out. */
class Proved {
  /** The network that was used latest stands last, and within it the name and party. */
  readonly #networks = new Map<string, Map<string, Proof>>();
  readonly #most: number;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  has(attempt: LogInAttempt, now: number): boolean {
    return (this.countMistyped(attempt, now) ?? MOST_MISTYPED) < MOST_MISTYPED;
  }

  /** @returns undefined without a log-in that still counts */
  countMistyped(attempt: LogInAttempt, now: number): number | undefined {
    const proof = this.#networks.get(attempt.network)?.get(keyOf(attempt));
    return proof && now - proof.at < PROOF_MS ? proof.mistyped : undefined;
  }

  add(attempt: LogInAttempt, now: number): void {
    const { network } = attempt;
    const own = this.#networks.get(network) ?? new Map<string, Proof>();
    this.#networks.delete(network);
    this.#networks.set(network, own);
    const key = keyOf(attempt);
    if (own.delete(key)) this.#count -= 1;
    own.set(key, { at: now, mistyped: 0 });
    this.#count += 1;
    if (own.size > this.#most / PART) this.#forgetOne(network, own);
    for (const [oldest, names] of this.#networks) {
      if (this.#count <= this.#most) return;
      this.#forgetOne(oldest, names);
    }
  }

  doubt(attempt: LogInAttempt): void {
    const proof = this.#networks.get(attempt.network)?.get(keyOf(attempt));
    if (proof) proof.mistyped += 1;
  }

  #forgetOne(network: string, names: Map<string, Proof>): void {
    forgetFirst(names);
    this.#count -= 1;
    if (names.size === 0) this.#networks.delete(network);
  }
}

/** Of what is remembered, one network has no more than this part. */
const PART = 16;

const keyOf = ({ name, party }: LogInAttempt): string => `${name} ${party}`;

function forgetFirst(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}

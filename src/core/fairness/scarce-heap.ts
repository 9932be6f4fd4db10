import v8 from 'node:v8';
import { type Asking, whoAsks } from './asking.ts';
import { Counts } from './counts.ts';
import { networkOfParty } from './party.ts';

/** The part of the heap, with garbage that is not collected yet, that is in use when it begins to be scarce; or as much outside. */
const SCARCE = 0.55;
/** What was found out about the heap is true for so many milliseconds. */
const TRUE_MS = 10;
/** Of a network with more long ones that are not done also the others wait. */
const MOST_LONG = 16;
/** So many go on at once, and of one network. */
const AT_ONCE = { all: 4, network: 2 };
/** So often it is checked whether those who wait may go on. */
const CHECK_MS = 50;
/** So many go on each time once there is room again. */
const GO_ON = 16;
/** Who took no turn for so many milliseconds waits for something else, or for one of those that wait here. */
const IDLE_MS = 250;

/** Requests of a network that wait, those that have waited longest first. */
type Waiting = Map<Asking, (() => void)[]>;

/**
 * Where thousands of requests take their turns, each of them holds what it needs until it is done: together they may hold
 * more than there is. While the heap is scarce few of the long ones go on, those that have waited longest, and the others once
 * these are done. Short ones go on all the same, but for those of a network that has many long ones under way.
 */
export class ScarceHeap {
  readonly #isScarce: () => boolean;
  /** Long requests that are not done, and how many they are by network. */
  readonly #long = new Set<Asking>();
  readonly #long_of = new Counts();
  readonly #waiting = new Map<string, Waiting>();
  /** Those that go on until they are done, their networks, and when they took their last turn. */
  readonly #going = new Map<Asking, { network: string; last_ms: number }>();
  #timer: NodeJS.Timeout | undefined;

  /** @param isScarce whether few long ones should go on at once */
  constructor(isScarce: () => boolean = newHeapLook()) {
    this.#isScarce = isScarce;
  }

  /** For a request that is about to begin; see {@link pass}. */
  passFirst(): Promise<void> | undefined {
    return this.#isScarce() ? this.pass() : undefined;
  }

  /** For whoever's turn has come. @returns undefined: goes on at once, as nearly always */
  pass(): Promise<void> | undefined {
    const who = whoAsks();
    if (!who.ends || who.shared > 0) return undefined;
    const going = this.#going.get(who);
    if (going) {
      going.last_ms = performance.now();
      return undefined;
    }
    const network = networkOfParty(who.party);
    if (who.isLong && !this.#long.has(who)) this.#add(who, network);
    if (!this.#isScarce() || this.#isShort(who, network)) return undefined;
    return new Promise((resolve) => {
      this.#wait(who, network, resolve);
      this.#serve();
    });
  }

  #add(who: Asking, network: string): void {
    this.#long.add(who);
    this.#long_of.add(network, 1);
    who.onEnd = () => this.#end(who, network);
  }

  #end(who: Asking, network: string): void {
    if (this.#long.delete(who)) this.#long_of.add(network, -1);
    if (this.#going.delete(who)) this.#serve();
  }

  #isShort(who: Asking, network: string): boolean {
    return !who.isLong && this.#long_of.get(network) <= MOST_LONG;
  }

  #wait(who: Asking, network: string, go: () => void): void {
    const waiting = this.#waiting.getOrInsertComputed(network, (): Waiting => new Map());
    waiting.getOrInsert(who, []).push(go);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS);
  }

  /** Has as many go on as there are places. */
  #serve(): void {
    while (this.#count() < AT_ONCE.all) {
      const next = this.#takeNext((network) => this.#count(network) < AT_ONCE.network);
      if (!next) return;
      const { who, network } = next;
      this.#going.set(who, { network, last_ms: performance.now() });
      who.onEnd = () => this.#end(who, network);
      next.go();
    }
  }

  #check(): void {
    if (!this.#isScarce()) {
      for (let count = 0; count < GO_ON && this.#takeNext(() => true)?.go(); count += 1);
    } else {
      this.#serve();
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Takes out the one that has waited longest of the network whose turn it is. */
  #takeNext(may: (network: string) => boolean) {
    for (const [network, waiting] of this.#waiting) {
      if (!may(network)) continue;
      this.#waiting.delete(network);
      for (const [who, steps] of waiting) {
        waiting.delete(who);
        if (waiting.size > 0) this.#waiting.set(network, waiting);
        const go = (): true => {
          for (const step of steps) step();
          return true;
        };
        return { who, network, go };
      }
    }
    return undefined;
  }

  /** How many go on and are not idle, of a network or of all. */
  #count(network?: string): number {
    const since = performance.now() - IDLE_MS;
    let count = 0;
    for (const going of this.#going.values()) {
      if (going.last_ms > since && (network ?? going.network) === going.network) count += 1;
    }
    return count;
  }
}

/** Looks how much of the heap is in use, and how much its objects have outside: bytes of certificates and answers. */
export function newHeapLook(): () => boolean {
  let checked_at = Number.NEGATIVE_INFINITY;
  let isScarce = false;
  return () => {
    const now = performance.now();
    if (now - checked_at < TRUE_MS) return isScarce;
    checked_at = now;
    const { used_heap_size, external_memory, heap_size_limit } = v8.getHeapStatistics();
    isScarce = Math.max(used_heap_size, external_memory) > SCARCE * heap_size_limit;
    return isScarce;
  };
}

/** Of all that takes turns in this thread. */
export const scarceHeap = new ScarceHeap();

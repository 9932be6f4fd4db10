import v8 from 'node:v8';
import { type Asking, whoAsks } from './asking.ts';
import { networkOfParty } from './party.ts';

/** The part of the heap, with garbage that is not collected yet, that is in use when it begins to be scarce. */
const SCARCE = 0.55;
/** What was found out about the heap is true for so many milliseconds. */
const TRUE_MS = 10;
/** A request has so many turns before it is a long one. */
const LITTLE = 8;
/** Of a network with more that are not done also those wait that have had few turns. */
const MOST_LITTLE = 16;
/** So many go on at once, and of one network. */
const AT_ONCE = { all: 4, network: 2 };
/** So often it is looked whether those who wait may go on. */
const LOOK_MS = 50;
/** So many go on each time once there is room again. */
const GO_ON = 16;
/**
 * Where none is done for so many milliseconds for each that goes on, one more does: they may wait for something that
 * takes long, or for one of those that wait here.
 */
const NONE_DONE_MS = 250;

/** Requests of a network that wait, those that have waited longest first. */
type Waiting = Map<Asking, (() => void)[]>;

/**
 * Where thousands of requests take their turns, each of them holds what it needs until it is done: together they may hold
 * more than there is. While the heap is scarce few of the long ones go on, those that have waited longest, and the others once
 * these are done. Short ones go on all the same, but for those of a network that has much under way.
 */
export class ScarceHeap {
  readonly #isScarce: () => boolean;
  /** Requests that have waited for a turn and are not done, by network. */
  readonly #begun = new Map<string, number>();
  readonly #waiting = new Map<string, Waiting>();
  /** Those that go on, and their networks. */
  readonly #going = new Map<Asking, string>();
  #timer: NodeJS.Timeout | undefined;
  #last_done = 0;

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
    if (!who.ends) return undefined;
    const network = networkOfParty(who.party);
    if (!who.onEnd) this.#begin(who, network);
    if (!this.#isScarce() || this.#going.has(who) || this.#isShort(who, network)) return undefined;
    return new Promise((resolve) => {
      this.#wait(who, network, resolve);
      this.#serve();
    });
  }

  #begin(who: Asking, network: string): void {
    this.#begun.set(network, (this.#begun.get(network) ?? 0) + 1);
    who.onEnd = () => {
      const left = (this.#begun.get(network) ?? 0) - 1;
      if (left > 0) this.#begun.set(network, left);
      else this.#begun.delete(network);
      if (this.#going.delete(who)) this.#serve();
    };
  }

  #isShort(who: Asking, network: string): boolean {
    return who.turns < LITTLE && (this.#begun.get(network) ?? 0) <= MOST_LITTLE;
  }

  #wait(who: Asking, network: string, go: () => void): void {
    const waiting: Waiting = this.#waiting.get(network) ?? new Map();
    this.#waiting.set(network, waiting);
    const steps = waiting.get(who) ?? [];
    waiting.set(who, steps);
    steps.push(go);
    if (this.#timer) return;
    this.#last_done = performance.now();
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** Has as many go on as there are places. */
  #serve(): void {
    while (this.#going.size < AT_ONCE.all && this.#givePlace(AT_ONCE.network)) {
      this.#last_done = performance.now();
    }
  }

  #look(): void {
    if (!this.#isScarce()) {
      for (let count = 0; count < GO_ON && this.#takeNext(() => true)?.go(); count += 1);
    } else if (performance.now() - this.#last_done > NONE_DONE_MS * this.#going.size) {
      this.#last_done = performance.now();
      this.#givePlace(Number.POSITIVE_INFINITY);
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Has one more go on until it is done. @param most of one network */
  #givePlace(most: number): boolean {
    const next = this.#takeNext((network) => this.#countGoing(network) < most);
    if (!next) return false;
    this.#going.set(next.who, next.network);
    return next.go();
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

  #countGoing(network: string): number {
    let count = 0;
    for (const of of this.#going.values()) if (of === network) count += 1;
    return count;
  }
}

function newHeapLook(): () => boolean {
  let looked = Number.NEGATIVE_INFINITY;
  let isScarce = false;
  return () => {
    const now = performance.now();
    if (now - looked < TRUE_MS) return isScarce;
    looked = now;
    const { used_heap_size, heap_size_limit } = v8.getHeapStatistics();
    isScarce = used_heap_size > SCARCE * heap_size_limit;
    return isScarce;
  };
}

/** Of all that takes turns in this thread. */
export const scarceHeap = new ScarceHeap();

import type { ServerResponse } from 'node:http';
import { NETWORK_PART, networkOfParty, siteOfParty } from '../core/fairness/party.ts';
import type { Hold, SharedBytes } from '../core/fairness/shared-bytes.ts';
import { SiteTurns } from '../core/fairness/site-turns.ts';
import type { SentResponse } from './response.ts';
import { noteTaken, type Taking } from './taking.ts';
import { WaitingBodies } from './waiting-bodies.ts';

/** Where so much of unsent answers is kept, in all, of a network or of a site, long ones wait; short ones find the rest. */
const BUSY_BYTES = { total: 48 << 20, network: (48 << 20) * NETWORK_PART, each: 24 << 20 };
/** Of a network, while anybody of another waits. */
const BUSY_BESIDE_OTHERS = 24 << 20;
/** Up to so much in all a network begins its first. */
const BUSY_FOR_FIRST = 56 << 20;
/** So much more a network may have for the first of each of its sites. */
const FIRST_OF_SITES = 4 << 20;
/** Bytes of answers that wait. */
const WAITING_BYTES = { total: 64 << 20, each: 32 << 20 };
/** What is on its way for so long gives way to what waits. */
const SLOW_MS = 10_000;
/** What its client has taken nothing of for so long gives way to a network that has nothing on its way. */
const STALLED_MS = 1_000;
const CHECK_MS = 250;
/** So much of what is on its way is checked for that, each time. */
const MOST_CHECKED = 4_096;
/** Milliseconds of a turn of the event loop that beginning may take. */
const TURN_MS = 5;

/** Shorter answers do not wait: a connection costs as much anyway. */
const SHORT = 16 << 10;
/** What is kept of one in pieces while it is sent, as a piece that waits. */
export const PIECE_KEPT = 32 << 10;
/** And of one that is made while it is sent: a page of the list that it is made of. */
export const PAGE_KEPT = 256 << 10;
/** And while it waits: what stands for it and for its request. */
const PAGED_WAITS = 4 << 10;

/** What an answer takes. */
export interface Weight {
  /** While it is sent. */
  sent: number;
  /** While it waits. */
  waiting: number;
}

/** @returns undefined for one that does not wait */
export function weighAnswer(
  method: string | undefined,
  { body }: SentResponse,
): Weight | undefined {
  if (body === undefined || method === 'HEAD') return undefined;
  const { length } = body;
  if (length === undefined) {
    const { sent = 0, waiting = 0 } = body.kept ?? {};
    return { sent: Math.max(PAGE_KEPT, sent), waiting: PAGED_WAITS + waiting };
  }
  if (length <= SHORT) return undefined;
  const isWhole = typeof body === 'string' || body instanceof Uint8Array;
  return { sent: isWhole ? length : PIECE_KEPT, waiting: length };
}

/** An answer that waits for its beginning. */
interface Waiting {
  weight: Weight;
  begin: () => void;
  /** Takes it out of the line. */
  leave: () => void;
}

/** What is on its way on a connection. */
export interface OnItsWay {
  party: string;
  /** Bytes of it. */
  unsent: Hold;
  /** When it was begun. */
  since: number;
  giveUp: () => void;
  /** How far its client has taken it; undefined while there is nothing to take. */
  taken: () => number | undefined;
  /** As of the last look at whether it stands still. */
  stood: Taking;
}

/**
 * Long answers begin while there is room for what their clients have not taken; others wait, in turn by network and
 * site, and those that are slow make room for them. Cut off would be, of many honest clients that ask in
 * the same moment, whoever was the first.
 */
export class LongAnswers {
  readonly #unsent: SharedBytes;
  readonly #line = new SiteTurns<Waiting>();
  readonly #bodies = new WaitingBodies(WAITING_BYTES);
  /** Who began first stands first. */
  readonly #onTheirWay = new Set<OnItsWay>();
  /** Bytes that what waits will take once it is sent. */
  #wanted = 0;
  /** The same by network, and how many wait. */
  readonly #wantedBy = new Map<string, { answers: number; bytes: number }>();
  #isServing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(unsent: SharedBytes) {
    this.#unsent = unsent;
  }

  /** Bytes that are kept of what waits. */
  get held(): number {
    return this.#bodies.held;
  }

  /**
   * Begins an answer when there is room for it.
   *
   * @param answer what is sent, and how it is given up when there is no room for it to wait
   */
  take(
    party: string,
    response: ServerResponse,
    answer: { weight: Weight; body: SentResponse['body']; begin: () => void; giveUp: () => void },
  ): void {
    const { weight, body, begin, giveUp } = answer;
    const site = siteOfParty(party);
    if (!this.#line.hasSite(site) && this.#hasRoom(site)) {
      begin();
      return;
    }
    // Text is everybody's own.
    const own = typeof body === 'object' ? body : response;
    const letGo = this.#bodies.keep(own, { party, bytes: weight.waiting, giveUp });
    if (!letGo) {
      giveUp();
      return;
    }
    const waiting: Waiting = {
      weight,
      begin,
      leave: () => {
        response.off('close', left);
        this.#want(party, -1, -weight.sent);
        letGo();
      },
    };
    const left = (): void => {
      this.#line.delete(party, waiting);
      waiting.leave();
    };
    response.once('close', left);
    this.#line.add(party, waiting);
    this.#want(party, 1, weight.sent);
    this.#timer ??= setInterval(() => this.makeRoom(performance.now()), CHECK_MS).unref();
  }

  /** Notes that something of an answer has not been taken. */
  note(answer: OnItsWay): void {
    answer.since = performance.now();
    answer.stood = { at: answer.taken(), since: answer.since };
    this.#onTheirWay.add(answer);
  }

  /** Gives back what was kept of an answer, and begins others in its place. */
  done(answer: OnItsWay): void {
    answer.unsent.release();
    if (this.#onTheirWay.delete(answer)) this.#serveSoon();
  }

  /** Gives up as much as is waited for of what has been on its way for long, or has stood still where others have nothing. */
  makeRoom(now: number): void {
    this.#endSlow(now);
    this.#endStalled(now);
    this.#serveSoon();
  }

  #endSlow(now: number): void {
    let wanted = this.#wanted;
    let { most } = this.#unsent;
    for (const answer of this.#onTheirWay) {
      if (wanted <= 0 || now < answer.since + SLOW_MS) break;
      if (!this.#isInTheWay(siteOfParty(answer.party), most)) continue;
      wanted -= this.#end(answer);
      ({ most } = this.#unsent);
    }
  }

  #endStalled(now: number): void {
    const room = (): number => BUSY_FOR_FIRST - this.#unsent.held;
    const wanted = Math.min(this.#wantedByNew(), BUSY_FOR_FIRST - BUSY_BYTES.total);
    if (wanted === 0 || room() >= wanted) return;
    let { network: most } = this.#unsent.most;
    let left = MOST_CHECKED;
    for (const answer of this.#onTheirWay) {
      if (left === 0) return;
      left -= 1;
      if (this.#unsent.heldOfNetwork(networkOfParty(answer.party)) < most) continue;
      if (noteTaken(answer.stood, answer.taken(), now) < STALLED_MS) continue;
      this.#end(answer);
      if (room() >= wanted) return;
      most = this.#unsent.most.network;
    }
  }

  /** @returns the bytes that are free now */
  #end(answer: OnItsWay): number {
    const before = this.#unsent.held;
    this.done(answer);
    answer.giveUp();
    return before - this.#unsent.held;
  }

  /** Whether others wait for what a site has not taken: its own, those of its network, or anybody where that has most. */
  #isInTheWay(site: string, most: SharedBytes['most']): boolean {
    const own = this.#unsent.heldOf(site);
    if (own >= BUSY_BYTES.each && this.#line.hasSite(site)) return true;
    const network = networkOfParty(site);
    const isFull = this.#unsent.heldOfNetwork(network) >= this.#mostOf(network);
    if (isFull && this.#wantedBy.has(network)) return own >= this.#unsent.mostIn(network);
    if (this.#unsent.held < BUSY_BYTES.total) return false;
    return this.#unsent.heldOfNetwork(network) >= most.network && own >= most.site;
  }

  #hasRoom(site: string): boolean {
    const { held } = this.#unsent;
    const network = networkOfParty(site);
    const ofNetwork = this.#unsent.heldOfNetwork(network);
    if (ofNetwork === 0) return held < BUSY_FOR_FIRST;
    const own = this.#unsent.heldOf(site);
    if (own >= BUSY_BYTES.each || held >= BUSY_BYTES.total) return false;
    return ofNetwork < this.#mostOf(network) + (own === 0 ? FIRST_OF_SITES : 0);
  }

  /** What a network may have on its way. */
  #mostOf(network: string): number {
    const others = this.#wantedBy.size - (this.#wantedBy.has(network) ? 1 : 0);
    return others > 0 ? BUSY_BESIDE_OTHERS : BUSY_BYTES.network;
  }

  #want(party: string, answers: number, bytes: number): void {
    const network = networkOfParty(party);
    const wanted = this.#wantedBy.get(network) ?? { answers: 0, bytes: 0 };
    wanted.answers += answers;
    wanted.bytes += bytes;
    this.#wanted += bytes;
    if (wanted.answers > 0) this.#wantedBy.set(network, wanted);
    else this.#wantedBy.delete(network);
  }

  /** Bytes that are waited for by networks that have nothing on their way. */
  #wantedByNew(): number {
    let bytes = 0;
    for (const [network, wanted] of this.#wantedBy) {
      if (this.#unsent.heldOfNetwork(network) === 0) bytes += wanted.bytes;
    }
    return bytes;
  }

  #serveSoon(): void {
    if (this.#line.isEmpty) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    } else if (!this.#isServing) {
      this.#isServing = true;
      setImmediate(() => this.#serve());
    }
  }

  #serve(): void {
    this.#isServing = false;
    const until = performance.now() + TURN_MS;
    for (;;) {
      if (performance.now() > until) {
        this.#serveSoon();
        return;
      }
      const next = this.#line.take((site) => this.#hasRoom(site));
      if (!next) return;
      next.leave();
      next.begin();
    }
  }
}

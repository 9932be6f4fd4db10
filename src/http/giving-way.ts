import type { Socket } from 'node:net';
import { addressOf } from '../sockets/peer.ts';
import type { ConnectionLines, Site, Sizes } from './connection-lines.ts';
import { type Asked, forgetAnswered } from './requests-in-order.ts';
import { findTaken, noteTaken, type Taking } from './taking.ts';

/** What is checked where a connection may have to give way. */
export interface Candidate {
  readonly socket: Socket;
  /** In their order; those that are answered go at the next check. */
  readonly asked: Asked[];
  readonly taking: Taking;
  readonly site: { readonly size: number; readonly network: { readonly size: number } };
  /** When it came. */
  readonly came: number;
}

/** A client takes answers at its own pace; one that has taken nothing for so long gives way like one that asks nothing. */
const STUCK_MS = 10_000;
/** Who has come no longer ago may not have been heard yet: more of those who have more do not take their places. */
const FRESH_MS = 3_000;
/**
 * Connections that are checked for one that can give way: so many for each newcomer, and more while all newcomers
 * together check no more than so many a millisecond. A crowd of newcomers would otherwise be work of its own.
 */
const CHECKS = { each: 64, most: 16_384, per_millisecond: 100 };

/**
 * Whether a connection is of no use to anybody now: nothing is asked on it, or not wholly, or the answer is not taken.
 * What waits behind such an answer waits for its own client.
 */
export function canGiveWay(connection: Candidate, now: number): boolean {
  forgetAnswered(connection.asked);
  const [first] = connection.asked;
  if (!first?.request.complete) return true;
  const { socket, taking } = connection;
  return first.response.headersSent && noteTaken(taking, findTaken(socket), now) >= STUCK_MS;
}

/** Otherwise those who hold most would take the places of all others before they have asked. */
function isSpared({ came, site }: Candidate, own: Sizes, now: number): boolean {
  if (now - came >= FRESH_MS) return false;
  const { network } = site;
  return network.size === own.network ? site.size < own.site : network.size < own.network;
}

/** Finds who gives way to a newcomer. */
export class GivingWay<Connection extends Candidate> {
  /** Whether a peer asks on behalf of many: what is being answered to those is not given up for one. */
  readonly #isProxy: (peer: string | undefined) => boolean;
  /** Called with those that cannot give way now. */
  readonly #inUse: (connection: Connection, now: number) => void;
  #checks = CHECKS.most;
  #checked_at = 0;

  constructor(
    isProxy: (peer: string | undefined) => boolean,
    inUse: (connection: Connection, now: number) => void,
  ) {
    this.#isProxy = isProxy;
    this.#inUse = inUse;
  }

  /**
   * @param own what the newcomer's site and network have already
   * @returns the first that is of no use now
   */
  findUnused(connections: Iterable<Connection>, own: Sizes): Connection | undefined {
    const now = performance.now();
    const room = Math.max(CHECKS.each, Math.floor(this.#checksAt(now)));
    const used: Connection[] = [];
    let checks = 0;
    let found: Connection | undefined;
    for (const connection of connections) {
      if (checks === room) break;
      checks += 1;
      if (!canGiveWay(connection, now)) used.push(connection);
      else if (!isSpared(connection, own, now)) {
        found = connection;
        break;
      }
    }
    this.#checks = Math.max(0, this.#checks - checks);
    for (const connection of used) this.#inUse(connection, now);
    return found;
  }

  /**
   * Where all are of use: one of those who have most of them, so that they do not shut out who has fewer. Taken is
   * the one that has waited for its client longest, before those that wait for an answer.
   */
  findOfMost(lines: ConnectionLines<Connection>, party: string): Connection | undefined {
    let checks = CHECKS.each;
    for (const site of lines.beyond(party)) {
      const found = this.#longestUntaken(site);
      if (found) return found;
      checks -= 1;
      if (checks === 0) break;
    }
    return undefined;
  }

  #longestUntaken(site: Site<Connection>): Connection | undefined {
    let chosen: Connection | undefined;
    let longest = Number.POSITIVE_INFINITY;
    let checks = CHECKS.each;
    for (const connection of site.connections) {
      if (this.#isProxy(addressOf(connection.socket))) break;
      const isUntaken = connection.asked[0]?.response.headersSent ?? true;
      const since = isUntaken ? connection.taking.since : Number.MAX_VALUE;
      if (since < longest) [chosen, longest] = [connection, since];
      checks -= 1;
      if (checks === 0) break;
    }
    return chosen;
  }

  #checksAt(now: number): number {
    const more = (now - this.#checked_at) * CHECKS.per_millisecond;
    this.#checked_at = now;
    this.#checks = Math.min(CHECKS.most, this.#checks + more);
    return this.#checks;
  }
}

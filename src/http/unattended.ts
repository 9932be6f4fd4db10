import { setTimeout as delay } from 'node:timers/promises';
import { Counts } from '../core/fairness/counts.ts';
import { networkOfParty, partyOf, siteOfParty } from '../core/fairness/party.ts';

/** While so many of one site, or of one network, are worked on though their clients have gone, no more are begun. */
const MOST = { site: 512, network: 768 } as const;

/**
 * Work that goes on though whoever asked for it has gone: what has begun is not always left off in the middle. It has
 * no connection that could be counted, and so whoever asks and goes, again and again, could have any amount of it.
 */
export class Unattended {
  readonly #sites = new Counts();
  readonly #networks = new Counts();
  readonly #work = new Set<Promise<unknown>>();

  /** Counts work until it is over. @param address whose it is */
  add(address: string, work: Promise<unknown>): void {
    this.#count(address, 1);
    this.#work.add(work);
    const end = (): void => {
      this.#work.delete(work);
      this.#count(address, -1);
    };
    work.then(end, end);
  }

  /** Resolves once all of it is over, or after so many milliseconds. */
  async whenOver(most_ms: number): Promise<void> {
    const timer = new AbortController();
    const late = delay(most_ms, 'late', { signal: timer.signal }).catch(() => undefined);
    while (this.#work.size > 0) {
      if ((await Promise.race([late, Promise.allSettled(this.#work)])) === 'late') return;
    }
    timer.abort();
  }

  /** Whether more may be begun for an address. */
  hasRoomFor(address: string): boolean {
    // Nearly always; who asks is worked out only otherwise.
    if (this.#networks.size === 0) return true;
    const site = siteOfParty(partyOf(address));
    if (this.#sites.get(site) >= MOST.site) return false;
    return this.#networks.get(networkOfParty(site)) < MOST.network;
  }

  #count(address: string, by: 1 | -1): void {
    const site = siteOfParty(partyOf(address));
    this.#sites.add(site, by);
    this.#networks.add(networkOfParty(site), by);
  }
}

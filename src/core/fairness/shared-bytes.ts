import { Counts } from './counts.ts';
import { NETWORK_PART, networkOfParty, siteOfParty } from './party.ts';

/** How many bytes may be kept in memory at the same time. */
export interface ByteLimits {
  total: number;
  /** Of them, for one site; see `siteOf`. */
  each: number;
  /** The last of them, of which the less is given the less is left; what one network leaves, unless told. */
  last?: number;
}

/** What is kept for one asker. */
export interface Hold {
  /** @returns false when there is no room for so many more bytes */
  grow(bytes: number): boolean;
  /** Nobody takes these bytes away any more: work on them has begun. */
  settle(): void;
  /** Gives all of them back. */
  release(): void;
}

/** Somebody's bytes; `giveUp` is undefined once they are settled. */
interface Kept {
  party: string;
  bytes: number;
  giveUp: (() => void) | undefined;
}

/** What a site keeps. */
interface Share {
  site: string;
  network: Network;
  bytes: number;
  /** By party. */
  parties: Counts;
  /** Those that can be given up; the oldest stands first. */
  open: Set<Kept>;
}

/** What the sites of a network keep. */
interface Network {
  name: string;
  bytes: number;
  shares: Set<Share>;
}

/** Of those that a site could give up first: so many are checked. */
const MOST_CHECKED = 64;

/**
 * Bytes kept for others, counted together, by network and by site. One too many takes the place of the oldest of the
 * network that has most, of the site of it that has most, of a party of that that has much: what was begun first and
 * is still not done is slowest.
 *
 * What is settled gives way to nobody, and so what a network and a site may have shrinks as the last bytes go: as the
 * cube of how much of these is left. However many networks fill it, whoever comes from another finds room for a little.
 */
export class SharedBytes {
  readonly #limits: ByteLimits;
  /** Of one network. */
  readonly #most: number;
  /** See `ByteLimits.last`. */
  readonly #last: number;
  readonly #shares = new Map<string, Share>();
  readonly #networks = new Map<string, Network>();
  #held = 0;

  constructor(limits: ByteLimits) {
    this.#limits = limits;
    this.#most = Math.max(limits.each, Math.floor(limits.total * NETWORK_PART));
    this.#last = Math.min(limits.last ?? limits.total, limits.total - this.#most);
  }

  /** All that is kept now. */
  get held(): number {
    return this.#held;
  }

  /** What is kept for a site. */
  heldOf(site: string): number {
    return this.#shares.get(site)?.bytes ?? 0;
  }

  /** What is kept for a network. */
  heldOfNetwork(network: string): number {
    return this.#networks.get(network)?.bytes ?? 0;
  }

  /** What is kept for the network that has most, and for the site of it that has most. */
  get most(): { network: number; site: number } {
    const network = largestOf(this.#networks.values());
    return { network: network?.bytes ?? 0, site: largestOf(network?.shares)?.bytes ?? 0 };
  }

  /** What is kept for the site of a network that has most. */
  mostIn(network: string): number {
    return largestOf(this.#networks.get(network)?.shares)?.bytes ?? 0;
  }

  /**
   * Begins to keep bytes for a party.
   *
   * @param giveUp called when the bytes are needed for others; they are given back by then
   */
  hold(party: string, giveUp: () => void): Hold {
    const site = siteOfParty(party);
    const kept: Kept = { party, bytes: 0, giveUp };
    return {
      grow: (bytes) => this.#grow(site, kept, bytes),
      settle: () => {
        kept.giveUp = undefined;
        this.#shares.get(site)?.open.delete(kept);
      },
      release: () => this.#release(site, kept),
    };
  }

  #grow(site: string, kept: Kept, bytes: number): boolean {
    if (!this.#makeRoom(site, kept, bytes)) return false;
    const share = this.#shares.get(site) ?? this.#open(site);
    if (kept.giveUp) share.open.add(kept);
    kept.bytes += bytes;
    this.#count(share, kept.party, bytes);
    return true;
  }

  #release(site: string, kept: Kept): void {
    const share = this.#shares.get(site);
    if (!share) return;
    share.open.delete(kept);
    this.#count(share, kept.party, -kept.bytes);
    kept.bytes = 0;
    if (share.bytes === 0) this.#close(share);
  }

  #open(site: string): Share {
    const name = networkOfParty(site);
    const network = this.#networks.getOrInsert(name, { name, bytes: 0, shares: new Set() });
    const share = { site, network, bytes: 0, parties: new Counts(), open: new Set<Kept>() };
    network.shares.add(share);
    this.#shares.set(site, share);
    return share;
  }

  #close(share: Share): void {
    const { site, network } = share;
    this.#shares.delete(site);
    network.shares.delete(share);
    if (network.shares.size === 0) this.#networks.delete(network.name);
  }

  #count(share: Share, party: string, bytes: number): void {
    this.#held += bytes;
    share.bytes += bytes;
    share.network.bytes += bytes;
    share.parties.add(party, bytes);
  }

  #makeRoom(site: string, own: Kept, bytes: number): boolean {
    for (;;) {
      const share = this.#shares.get(site);
      const from = this.#findFull(site, share, bytes);
      if (from === 'none') return true;
      const oldest = from && chooseOldest(from);
      if (!oldest || oldest === own) return false;
      if (from === share && bytesOf(from, oldest) < bytesOf(from, own)) return false;
      const { giveUp } = oldest;
      this.#release(from.site, oldest);
      giveUp?.();
    }
  }

  /** Who has to give way for so many more bytes of a site; undefined: whoever keeps less does not. */
  #findFull(site: string, own: Share | undefined, bytes: number): Share | 'none' | undefined {
    const { each } = this.#limits;
    const ofSite = (own?.bytes ?? 0) + bytes;
    if (ofSite > each) return own;
    const part = this.#partFor(bytes);
    // No network has more than there is in all.
    if (part === 1 && this.#held + bytes <= this.#most) return 'none';
    const network = own?.network ?? this.#networks.get(networkOfParty(site));
    const ofNetwork = (network?.bytes ?? 0) + bytes;
    if (ofNetwork <= this.#most * part && ofSite <= each * part) return 'none';
    const largest = ofNetwork > this.#most ? network : this.#findLarger(network);
    const share = largestOf(largest?.shares, canGiveWay);
    return largest === network && (share?.bytes ?? 0) < (own?.bytes ?? 0) ? undefined : share;
  }

  /** How much of what they may have otherwise a network and a site may have with so many bytes more. */
  #partFor(bytes: number): number {
    const left = this.#limits.total - this.#held - bytes;
    if (left >= this.#last) return 1;
    return left > 0 ? (left / this.#last) ** 3 : 0;
  }

  /** Of those that have something to give up the one that has most; the own one where none has more. */
  #findLarger(own: Network | undefined): Network | undefined {
    const largest = largestOf(this.#networks.values(), ({ shares }) =>
      shares.values().some(canGiveWay),
    );
    return largest && largest.bytes > (own?.bytes ?? 0) ? largest : own;
  }
}

const canGiveWay = ({ open }: Share): boolean => open.size > 0;

function largestOf<Item extends { bytes: number }>(
  items: Iterable<Item> | undefined,
  isMeant: (item: Item) => boolean = () => true,
): Item | undefined {
  let largest: Item | undefined;
  for (const item of items ?? []) {
    if (item.bytes > (largest?.bytes ?? 0) && isMeant(item)) largest = item;
  }
  return largest;
}

const bytesOf = ({ parties }: Share, { party }: Kept): number => parties.get(party);

/** Of the first that could be given up, one of the party that has most. */
function chooseOldest(share: Share): Kept | undefined {
  let chosen: Kept | undefined;
  let most = 0;
  let checked = 0;
  for (const kept of share.open) {
    const bytes = bytesOf(share, kept);
    if (bytes > most) [chosen, most] = [kept, bytes];
    checked += 1;
    if (checked === MOST_CHECKED || share.parties.size === 1) break;
  }
  return chosen;
}

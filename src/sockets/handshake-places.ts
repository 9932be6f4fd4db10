import { Counts } from '../core/fairness/counts.ts';
import { networkOfParty } from '../core/fairness/party.ts';

/**
 * Handshakes that are begun and not done, in all, of a network and of a site: what their clients say next comes all at
 * once, too.
 */
const BEGUN = { total: 64, network: 32, each: 16 };
/** While a network waits that has fewer, one that has more does not keep them for long. */
const FEW = 4;
/** A handshake that takes longer steps aside for others that wait. */
const GIVE_WAY_MS = 1_000;
/** So does one whose client has said nothing for so long, if not sooner, of the network that has most of them, to one that has few. */
const SILENT_MS = 250;

/** A handshake that waits or is begun. */
export interface Handshake {
  site: string;
  network: string;
  /** What there is of its connection. */
  socket: { readonly bytesRead: number };
  /** When it was begun, by a clock that only goes on. */
  since: number;
  /** Bytes that had come of it then. */
  heard: number;
}

/** Of a network: those that wait, and those that are begun. */
interface Shares {
  waiting: number;
  begun: number;
}

/**
 * The places of handshakes that are begun: who may have one, and who gives theirs to others. Without a place a
 * handshake goes on as well.
 */
export class HandshakePlaces<Item extends Handshake> {
  /** The oldest stands first. */
  readonly #begun = new Set<Item>();
  /** Begun ones, by site. */
  readonly #sites = new Counts();
  readonly #networks = new Map<string, Shares>();
  /** Networks that wait and have few. */
  #needy = 0;
  readonly #quiet_ms: number;

  /** @param quiet_ms a handshake whose client has said nothing for so long steps aside as well */
  constructor(quiet_ms = GIVE_WAY_MS) {
    this.#quiet_ms = quiet_ms;
  }

  get isFull(): boolean {
    return this.#begun.size >= BEGUN.total;
  }

  mayBegin(site: string): boolean {
    const { begun } = this.#sharesOf(networkOfParty(site));
    return begun < BEGUN.network && this.#sites.get(site) < BEGUN.each;
  }

  wait(one: Item): void {
    this.#count(one, { waiting: 1, begun: 0 });
  }

  /** One does not wait any more. */
  leave(one: Item): void {
    this.#count(one, { waiting: -1, begun: 0 });
  }

  begin(one: Item, now: number): void {
    one.since = now;
    one.heard = one.socket.bytesRead;
    this.#begun.add(one);
    this.#count(one, { waiting: 0, begun: 1 });
  }

  /** @returns whether it was begun */
  end(one: Item): boolean {
    const wasBegun = this.#begun.delete(one);
    if (wasBegun) this.#count(one, { waiting: 0, begun: -1 });
    return wasBegun;
  }

  /**
   * Who is to make a place: one that is overdue, of the network that has most, of the site of it that has most; while
   * there are places, one that its own mates wait for.
   *
   * @param waits whether anybody of a site waits
   */
  chooseToStepAside(now: number, waits: (site: string) => boolean): Item | undefined {
    const { isFull } = this;
    const most = isFull && this.#needy > 0 ? this.#most() : undefined;
    let chosen: Item | undefined;
    let [network, site] = [0, 0];
    for (const one of this.#begun) {
      const shares = this.#sharesOf(one.network);
      if (now <= one.since + this.#patience(one, shares.begun === most)) continue;
      const own = this.#sites.get(one.site);
      if (!isFull && !isInTheWay(shares, own, () => waits(one.site))) continue;
      if (shares.begun < network || (shares.begun === network && own <= site)) continue;
      [chosen, network, site] = [one, shares.begun, own];
    }
    return chosen;
  }

  #patience(one: Item, hasMost: boolean): number {
    if (!isSilent(one)) return GIVE_WAY_MS;
    return hasMost ? Math.min(SILENT_MS, this.#quiet_ms) : this.#quiet_ms;
  }

  /** What the network has that has most; undefined where none has many: who is far away says nothing for a while, too. */
  #most(): number | undefined {
    let most = FEW;
    for (const { network } of this.#begun) most = Math.max(most, this.#sharesOf(network).begun);
    return most > FEW ? most : undefined;
  }

  #sharesOf(network: string): Shares {
    return this.#networks.get(network) ?? { waiting: 0, begun: 0 };
  }

  #count({ site, network }: Item, more: Shares): void {
    this.#sites.add(site, more.begun);
    const shares = this.#sharesOf(network);
    if (isNeedy(shares)) this.#needy -= 1;
    shares.waiting += more.waiting;
    shares.begun += more.begun;
    if (isNeedy(shares)) this.#needy += 1;
    if (shares.waiting + shares.begun > 0) this.#networks.set(network, shares);
    else this.#networks.delete(network);
  }
}

const isNeedy = ({ waiting, begun }: Shares): boolean => waiting > 0 && begun < FEW;

const isSilent = ({ socket, heard }: Handshake): boolean => socket.bytesRead === heard;

function isInTheWay({ waiting, begun }: Shares, ofSite: number, waits: () => boolean): boolean {
  if (begun >= BEGUN.network) return waiting > 0;
  return ofSite >= BEGUN.each && waits();
}

import type { Socket } from 'node:net';
import { siteOfParty } from '../../core/fairness/party.ts';
import { endsOf, partyOfSocket } from '../../sockets/peer.ts';

/** Connections at any time that have not proved anything yet: each has a file open, and others need some, too. */
const MOST = 1024;

interface Newcomer {
  socket: Socket;
  site: string;
  ends: string;
}

/**
 * Who has come and has not yet proved to be a session's client. One too many takes the place of the oldest of the
 * site that has most of them.
 */
export class Newcomers {
  readonly #most: number;
  /** By site, the oldest first. */
  readonly #sites = new Map<string, Set<Newcomer>>();
  /** By the addresses of both ends: what TLS makes of a connection is another object. */
  readonly #byEnds = new Map<string, Newcomer>();

  constructor(most = MOST) {
    this.#most = most;
  }

  get count(): number {
    return this.#byEnds.size;
  }

  /** It is one until it is closed or {@link proved}. */
  add(socket: Socket): void {
    const ends = endsOf(socket);
    if (this.#byEnds.size >= this.#most) this.#endOne();
    const newcomer = { socket, ends, site: siteOfParty(partyOfSocket(socket)) };
    this.#sites.getOrInsertComputed(newcomer.site, () => new Set()).add(newcomer);
    this.#byEnds.set(ends, newcomer);
    socket.once('close', () => this.#remove(newcomer));
  }

  /** @param secure what TLS has made of its connection */
  proved(secure: Socket): void {
    const newcomer = this.#byEnds.get(endsOf(secure));
    if (newcomer) this.#remove(newcomer);
  }

  #remove(newcomer: Newcomer): void {
    const mates = this.#sites.get(newcomer.site);
    if (!mates?.delete(newcomer)) return;
    if (mates.size === 0) this.#sites.delete(newcomer.site);
    if (this.#byEnds.get(newcomer.ends) === newcomer) this.#byEnds.delete(newcomer.ends);
  }

  #endOne(): void {
    const sites = [...this.#sites.values()];
    const [most] = sites.toSorted((one, other) => other.size - one.size);
    for (const oldest of most ?? []) {
      this.#remove(oldest);
      oldest.socket.destroy();
      return;
    }
  }
}

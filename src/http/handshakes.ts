import type { Server, Socket } from 'node:net';
import { partyOf, siteOfParty } from '../core/party.ts';
import { type Hold, SharedBytes } from '../core/shared-bytes.ts';
import { SiteTurns } from '../core/site-turns.ts';
import { endsOf } from './connections.ts';
import { Hello } from './hello.ts';
import { startReading, stopReading } from './reading.ts';

/** Milliseconds of a turn of the event loop that beginning handshakes may take. */
const TURN_MS = 5;
/** Handshakes that are begun and not done, in all and of a site: what their clients say next comes all at once, too. */
const BEGUN = { total: 64, each: 16 };
/** A handshake that takes longer gives way to others that wait. */
const GIVE_WAY_MS = 1_000;
/** Bytes of first messages that wait, in all and of a site; a usual one has two thousand at most. */
const HELLOS_BYTES = { total: 24 << 20, each: 4 << 20 };

type Begin = (socket: Socket) => void;

/**
 * Begins the TLS handshakes of a server by sites in turn, a few at a time: each costs a signature,
 * and the runtime makes those of all clients that spoke at the same moment in one go. A handshake is
 * begun when the client's first message is there as a whole; until then nothing more is read of its
 * client. Call before anything else listens to connections.
 *
 * @param patience milliseconds in which the first message must come, and be taken up
 */
export function shakeInTurns(server: Server, patience: number): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const queue = new Handshakes((socket) => {
    for (const listener of listeners) listener.call(server, socket);
  });
  const kept = new SharedBytes(HELLOS_BYTES);
  server.on('secureConnection', (secure: Socket) => queue.done(endsOf(secure)));
  server.on('connection', (socket: Socket) => {
    // Its ends are not known any more when it is closed.
    const party = partyOf(socket.remoteAddress ?? '');
    const waiting: Waiting = {
      socket,
      party,
      site: siteOfParty(party),
      ends: endsOf(socket),
      since: 0,
    };
    const timer = setTimeout(() => socket.destroy(), patience);
    const hold = kept.hold(party, () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(timer);
      hold.release();
      queue.forget(waiting);
    });
    // A client that is gone; once the handshake is begun it is told in its own way.
    const ignore = (): void => {};
    socket.on('error', ignore);
    readHello(socket, hold, (hello) => {
      queue.add(waiting, () => {
        clearTimeout(timer);
        hold.release();
        socket.off('error', ignore);
        startReading(socket);
        socket.unshift(hello);
      });
    });
  });
}

/** Reads until the first message is whole. Who says more than that before being answered is no TLS client. */
function readHello(socket: Socket, hold: Hold, whole: (hello: Buffer) => void): void {
  const hello = new Hello();
  const look = (): void => {
    const more: unknown = socket.read();
    if (!Buffer.isBuffer(more)) return;
    const isWhole = hello.add(more);
    if (hello.isTooLong || !hold.grow(more.length)) {
      socket.destroy();
      return;
    }
    if (!isWhole) return;
    socket.off('readable', look);
    socket.off('end', leave);
    stopReading(socket);
    whole(hello.bytes());
  };
  const leave = (): void => {
    socket.destroy();
  };
  socket.on('readable', look);
  socket.on('end', leave);
}

interface Waiting {
  socket: Socket;
  party: string;
  site: string;
  ends: string;
  /** When its handshake was begun, by a clock that only goes on. */
  since: number;
}

class Handshakes {
  readonly #begin: Begin;
  readonly #waiting = new SiteTurns<Waiting>();
  /** What to call when their turn has come. */
  readonly #leave = new Map<Waiting, () => void>();
  /** By site; the oldest stands first, and the site that has begun nothing for longest. */
  readonly #begun = new Map<string, Set<Waiting>>();
  readonly #byEnds = new Map<string, Waiting>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #isServing = false;

  constructor(begin: Begin) {
    this.#begin = begin;
  }

  /** @param leave called when its turn has come */
  add(waiting: Waiting, leave: () => void): void {
    this.#leave.set(waiting, leave);
    this.#waiting.add(waiting.party, waiting);
    this.#soon();
  }

  done(ends: string): void {
    const begun = this.#byEnds.get(ends);
    if (begun) this.#end(begun);
  }

  forget(one: Waiting): void {
    if (this.#leave.delete(one)) this.#waiting.delete(one.party, one);
    this.#end(one);
  }

  #end(one: Waiting): void {
    const mates = this.#begun.get(one.site);
    if (!mates?.delete(one)) return;
    this.#count -= 1;
    if (this.#byEnds.get(one.ends) === one) this.#byEnds.delete(one.ends);
    if (mates.size === 0) this.#begun.delete(one.site);
    if (!this.#waiting.isEmpty) this.#soon();
  }

  #soon(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    setImmediate(() => {
      this.#isServing = false;
      this.#serve(performance.now() + TURN_MS);
    });
  }

  #serve(until: number): void {
    while (!this.#waiting.isEmpty) {
      if (performance.now() > until) {
        this.#soon();
        return;
      }
      const next = this.#count < BEGUN.total ? this.#waiting.take(this.#mayBegin) : undefined;
      if (next) this.#startOne(next);
      else {
        this.#makePlace();
        this.#later();
        return;
      }
    }
  }

  readonly #mayBegin = (site: string): boolean => (this.#begun.get(site)?.size ?? 0) < BEGUN.each;

  #startOne(one: Waiting): void {
    const leave = this.#leave.get(one);
    this.#leave.delete(one);
    if (one.socket.destroyed) return;
    leave?.();
    one.since = performance.now();
    const mates = this.#begun.get(one.site) ?? new Set();
    mates.add(one);
    // The last to be looked at when somebody has to give way.
    this.#begun.delete(one.site);
    this.#begun.set(one.site, mates);
    this.#byEnds.set(one.ends, one);
    this.#count += 1;
    this.#begin(one.socket);
  }

  /** Where there is no place, one that is overdue makes it: of who holds most, or of each that waits for its own. */
  #makePlace(): void {
    const now = performance.now();
    let chosen: Waiting | undefined;
    let most = 0;
    for (const [site, mates] of this.#begun) {
      const [oldest] = mates;
      if (!oldest || now <= oldest.since + GIVE_WAY_MS) continue;
      if (this.#count < BEGUN.total) {
        if (this.#waiting.hasSite(site) && !this.#mayBegin(site)) oldest.socket.destroy();
      } else if (mates.size > most) [chosen, most] = [oldest, mates.size];
    }
    // Its place is free when it is closed.
    chosen?.socket.destroy();
  }

  /** Looks again when the oldest may have to give way; a place that is left is taken at once. */
  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#serve(performance.now() + TURN_MS);
    }, GIVE_WAY_MS / 10).unref();
  }
}

import type { Server, Socket } from 'node:net';
import { partyOf } from '../core/party.ts';
import { endsOf } from './connections.ts';
import { HELLO_BYTES, isWholeHello } from './hello.ts';

/** Milliseconds of a turn of the event loop that beginning handshakes may take. */
const TURN_MS = 5;
/** Handshakes that are begun and not done: what their clients say next comes all at once, too. */
const BEGUN = { total: 64, each: 16 };
/** A handshake that takes longer gives way to others that wait. */
const GIVE_WAY_MS = 1_000;

type Begin = (socket: Socket) => void;

/**
 * Begins the TLS handshakes of a server by addresses in turn, a few at a time: each costs a signature,
 * and the runtime makes those of all clients that spoke at the same moment in one go. A handshake is
 * begun when the client's first message is there as a whole. Call before anything else listens to
 * connections.
 *
 * @param patience milliseconds in which the first message must come, and be taken up
 */
export function shakeInTurns(server: Server, patience: number): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const queue = new Handshakes((socket) => {
    for (const listener of listeners) listener.call(server, socket);
  });
  server.on('secureConnection', (secure: Socket) => queue.done(endsOf(secure)));
  server.on('connection', (socket: Socket) => {
    // Its ends are not known any more when it is closed.
    const waiting: Waiting = {
      socket,
      party: partyOf(socket.remoteAddress ?? ''),
      ends: endsOf(socket),
      since: 0,
    };
    const timer = setTimeout(() => socket.destroy(), patience);
    socket.once('close', () => {
      clearTimeout(timer);
      queue.forget(waiting);
    });
    // A client that is gone; once the handshake is begun it is told in its own way.
    const ignore = (): void => {};
    socket.on('error', ignore);
    readHello(socket, () => {
      queue.add(waiting, () => {
        clearTimeout(timer);
        socket.off('error', ignore);
      });
    });
  });
}

/** Reads until the first message is whole, and lays it back. */
function readHello(socket: Socket, whole: () => void): void {
  let bytes = Buffer.alloc(0);
  const look = (): void => {
    const more: unknown = socket.read();
    if (!Buffer.isBuffer(more)) return;
    bytes = Buffer.concat([bytes, more]);
    if (!isWholeHello(bytes)) {
      if (bytes.length > HELLO_BYTES) socket.destroy();
      return;
    }
    socket.off('readable', look);
    socket.off('end', leave);
    socket.unshift(bytes);
    whole();
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
  ends: string;
  /** When its handshake was begun, by a clock that only goes on. */
  since: number;
}

class Handshakes {
  readonly #begin: Begin;
  /** By party, with what to call when their turn has come; the party whose turn is next stands first. */
  readonly #waiting = new Map<string, Map<Waiting, () => void>>();
  /** By party; the oldest stands first. */
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
    const mates = this.#waiting.get(waiting.party);
    if (mates) mates.set(waiting, leave);
    else this.#waiting.set(waiting.party, new Map([[waiting, leave]]));
    this.#soon();
  }

  done(ends: string): void {
    const begun = this.#byEnds.get(ends);
    if (begun) this.#end(begun);
  }

  forget(one: Waiting): void {
    const mates = this.#waiting.get(one.party);
    if (mates?.delete(one) && mates.size === 0) this.#waiting.delete(one.party);
    this.#end(one);
  }

  #end(one: Waiting): void {
    const mates = this.#begun.get(one.party);
    if (!mates?.delete(one)) return;
    this.#count -= 1;
    if (this.#byEnds.get(one.ends) === one) this.#byEnds.delete(one.ends);
    if (mates.size === 0) this.#begun.delete(one.party);
    if (this.#waiting.size > 0) this.#soon();
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
    while (this.#waiting.size > 0) {
      const before = this.#count;
      for (const party of [...this.#waiting.keys()]) {
        if (performance.now() > until) {
          this.#soon();
          return;
        }
        if (this.#hasPlace(party)) this.#startOne(party);
      }
      if (this.#count === before) {
        this.#later();
        return;
      }
    }
  }

  /** One of a party, which is the last to have its turn again. */
  #startOne(party: string): void {
    const mates = this.#waiting.get(party);
    const [first] = mates ?? [];
    this.#waiting.delete(party);
    if (!mates || !first) return;
    const [one, leave] = first;
    mates.delete(one);
    if (mates.size > 0) this.#waiting.set(party, mates);
    leave();
    if (one.socket.destroyed) return;
    one.since = performance.now();
    const begun = this.#begun.get(party);
    if (begun) begun.add(one);
    else this.#begun.set(party, new Set([one]));
    this.#byEnds.set(one.ends, one);
    this.#count += 1;
    this.#begin(one.socket);
  }

  /** Where there is none, the oldest makes place: of its own, or of whoever holds most. */
  #hasPlace(party: string): boolean {
    const own = this.#begun.get(party);
    const isOwnFull = (own?.size ?? 0) >= BEGUN.each;
    if (!isOwnFull && this.#count < BEGUN.total) return true;
    giveWay(isOwnFull ? own : this.#largest());
    return false;
  }

  #largest(): Set<Waiting> | undefined {
    let largest: Set<Waiting> | undefined;
    for (const mates of this.#begun.values()) {
      if (mates.size > (largest?.size ?? 0)) largest = mates;
    }
    return largest;
  }

  /** Looks again when the oldest may have to give way; a place that is left is taken at once. */
  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#serve(performance.now() + TURN_MS);
    }, GIVE_WAY_MS / 10).unref();
  }
}

/** Ends the oldest of them if it has been at it for long; its place is free when it is closed. */
function giveWay(begun: ReadonlySet<Waiting> | undefined): void {
  const [oldest] = begun ?? [];
  if (oldest && performance.now() > oldest.since + GIVE_WAY_MS) oldest.socket.destroy();
}

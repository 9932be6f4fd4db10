import type { Server, Socket } from 'node:net';
import { networkOfParty, siteOfParty } from '../core/fairness/party.ts';
import { type Hold, SharedBytes } from '../core/fairness/shared-bytes.ts';
import { SiteTurns } from '../core/fairness/site-turns.ts';
import { FeedTurns } from './feed.ts';
import { type Handshake, HandshakePlaces } from './handshake-places.ts';
import { Hello } from './hello.ts';
import { endsOf, partyOfSocket } from './peer.ts';
import { startReading, stopReading } from './reading.ts';
import { SteppedAside } from './stepped-aside.ts';
import { endOfTurn } from './turn-length.ts';

/** How often it is checked whether one has to step aside, while somebody waits. */
const CHECK_MS = 50;
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
 * @param turns in which those are closed of whom it does not come
 * @param quiet_ms a handshake whose client has said nothing for so long steps aside for others; a second unless given.
 *   Each that is begun for it costs a signature.
 */
export function shakeInTurns(
  server: Server,
  patience: number,
  { turns = new FeedTurns(), quiet_ms }: { turns?: FeedTurns; quiet_ms?: number } = {},
): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const queue = new Handshakes((socket) => {
    for (const listener of listeners) listener.call(server, socket);
  }, quiet_ms);
  const kept = new SharedBytes(HELLOS_BYTES);
  server.on('secureConnection', (secure: Socket) => queue.done(endsOf(secure)));
  server.on('connection', (socket: Socket) => {
    // Its ends are not known any more when it is closed.
    const party = partyOfSocket(socket);
    const waiting: Waiting = {
      socket,
      party,
      site: siteOfParty(party),
      network: networkOfParty(party),
      ends: endsOf(socket),
      since: 0,
      heard: 0,
    };
    // Those that came together go together.
    const leave = (): void => turns.begin(party, () => void socket.destroy());
    const timer = setTimeout(leave, patience);
    const hold = kept.hold(party, () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(timer);
      hold.release();
      queue.forget(waiting);
    });
    // A client that is gone; once the handshake is begun it is told in its own way.
    const ignore = (): void => {};
    socket.on('error', ignore);
    const begin = (hello: Buffer): void => {
      clearTimeout(timer);
      hold.release();
      socket.off('error', ignore);
      startReading(socket);
      socket.unshift(hello);
    };
    readHello(socket, hold, { whole: (hello) => queue.add(waiting, () => begin(hello)), leave });
  });
}

/** Reads until the first message is whole. Who says more than that before being answered is no TLS client. */
function readHello(
  socket: Socket,
  hold: Hold,
  { whole, leave }: { whole: (hello: Buffer) => void; leave: () => void },
): void {
  const hello = new Hello();
  const inspect = (): void => {
    const more: unknown = socket.read();
    if (!Buffer.isBuffer(more)) return;
    const isWhole = hello.add(more);
    if (hello.isTooLong || !hold.grow(more.length)) {
      socket.destroy();
      return;
    }
    if (!isWhole) return;
    socket.off('readable', inspect);
    socket.off('end', leave);
    stopReading(socket);
    whole(hello.bytes());
  };
  socket.on('readable', inspect);
  socket.on('end', leave);
}

interface Waiting extends Handshake {
  socket: Socket;
  party: string;
  ends: string;
}

class Handshakes {
  readonly #begin: Begin;
  readonly #waiting = new SiteTurns<Waiting>();
  /** What to call when their turn has come. */
  readonly #leave = new Map<Waiting, () => void>();
  readonly #places: HandshakePlaces<Waiting>;
  readonly #aside = new SteppedAside<Waiting>();
  readonly #byEnds = new Map<string, Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #isServing = false;

  constructor(begin: Begin, quiet_ms: number | undefined) {
    this.#begin = begin;
    this.#places = new HandshakePlaces(quiet_ms);
  }

  /** @param leave called when its turn has come */
  add(waiting: Waiting, leave: () => void): void {
    this.#leave.set(waiting, leave);
    this.#waiting.add(waiting.party, waiting);
    this.#places.wait(waiting);
    this.#soon();
  }

  done(ends: string): void {
    const begun = this.#byEnds.get(ends);
    if (begun) this.#end(begun);
  }

  forget(one: Waiting): void {
    if (this.#leave.delete(one)) {
      this.#waiting.delete(one.party, one);
      this.#places.leave(one);
    }
    this.#end(one);
  }

  #end(one: Waiting): void {
    if (this.#byEnds.get(one.ends) === one) this.#byEnds.delete(one.ends);
    if (this.#aside.end(one) || !this.#places.end(one)) return;
    if (!this.#waiting.isEmpty) this.#soon();
  }

  #soon(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    setImmediate(() => {
      this.#isServing = false;
      this.#serve(endOfTurn());
    });
  }

  #serve(until: number): void {
    while (!this.#waiting.isEmpty) {
      if (performance.now() > until) {
        this.#soon();
        return;
      }
      const next = this.#places.isFull ? undefined : this.#waiting.take(this.#mayBegin);
      if (next) this.#startOne(next);
      else if (!this.#makePlace()) {
        this.#later();
        return;
      }
    }
  }

  #makePlace(): boolean {
    const late = this.#places.chooseToStepAside(performance.now(), this.#waits);
    if (!late) return false;
    this.#places.end(late);
    this.#aside.add(late)?.socket.destroy();
    return true;
  }

  readonly #mayBegin = (site: string): boolean => this.#places.mayBegin(site);
  readonly #waits = (site: string): boolean => this.#waiting.hasSite(site);

  #startOne(one: Waiting): void {
    const leave = this.#leave.get(one);
    this.#leave.delete(one);
    this.#places.leave(one);
    if (one.socket.destroyed) return;
    leave?.();
    this.#places.begin(one, performance.now());
    this.#byEnds.set(one.ends, one);
    this.#begin(one.socket);
  }

  /** Looks again when the oldest may have to give way; a place that is left is taken at once. */
  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#serve(endOfTurn());
    }, CHECK_MS).unref();
  }
}

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { partyOf } from '../core/party.ts';
import { type Hold, SharedBytes } from '../core/shared-bytes.ts';
import { SiteTurns } from '../core/site-turns.ts';
import { startReading, stopReading } from './reading.ts';

/** Bytes that the parser is given at once: some hundred chunks of a body at most. */
const SLICE = 2 << 10;
/** What is no longer is parsed as it comes: a usual request. */
const SHORT = 1 << 10;
/** Milliseconds of a turn of the event loop that parsing, and what it begins, may take. */
const TURN_MS = 5;
/** Bytes that wait for a later turn, in all and of one address. */
const WAITING_BYTES = { total: 32 << 20, each: 16 << 20 };

type Bytes = Buffer<ArrayBuffer>;
type Parse = (bytes: Bytes) => void;

/**
 * Gives the parser what comes in slices, and others a turn between them. By itself it reads all that
 * a socket has, of one socket after the other, and 64 KiB can be ten thousand chunks of a byte; so can a
 * little from each of thousands of sockets. Those that have to wait go on by their sites in turn.
 * Call after everything else listens to the sockets' bytes.
 */
export function feedInTurns(server: Server, secure: boolean): void {
  const turns = new Turns();
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
    const listeners = socket.listeners('data');
    const ends = socket.listeners('end');
    const parse: Parse = (bytes) => {
      for (const listener of listeners) listener.call(socket, bytes);
    };
    socket.removeAllListeners('data');
    const feed = new Feed(socket, parse, turns);
    socket.on('data', (bytes: Bytes) => feed.take(bytes));
    // What has come is read, in its turn, before it is said that nothing more comes.
    socket.removeAllListeners('end');
    socket.on('end', () =>
      feed.end(() => {
        for (const end of ends) end.call(socket);
      }),
    );
  });
}

/** Which sockets have bytes left when the time of a turn is up. */
class Turns {
  #until = 0;
  #isCounting = false;
  readonly #waiting = new SiteTurns<Feed>();
  readonly #kept = new SharedBytes(WAITING_BYTES);

  get isOver(): boolean {
    const now = performance.now();
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#until = now + TURN_MS;
      setImmediate(() => this.#next());
    }
    return now > this.#until;
  }

  wait(feed: Feed): void {
    this.#waiting.add(feed.party, feed);
  }

  /** Keeps count of bytes that wait. */
  hold(party: string, giveUp: () => void): Hold {
    return this.#kept.hold(party, giveUp);
  }

  #next(): void {
    if (this.#waiting.isEmpty) {
      this.#isCounting = false;
      return;
    }
    this.#until = performance.now() + TURN_MS;
    setImmediate(() => this.#next());
    this.#serve();
  }

  /** One socket after the other, each with all that its bytes begin, as if they had come just now. */
  #serve(): void {
    if (performance.now() > this.#until) return;
    const feed = this.#waiting.take();
    if (!feed) return;
    feed.goOn();
    // After the microtasks of what was begun, and theirs: only then is it known how long it took.
    queueMicrotask(() => process.nextTick(() => this.#serve()));
  }
}

/** One socket's bytes on their way to the parser. */
class Feed {
  readonly party: string;
  readonly #socket: Socket;
  readonly #parse: Parse;
  readonly #turns: Turns;
  readonly #hold: Hold;
  #left: Bytes[] = [];
  #isHeldUp = false;
  #isStopped = false;
  /** Says that nothing more comes, once all is parsed. */
  #end: (() => void) | undefined;

  constructor(socket: Socket, parse: Parse, turns: Turns) {
    this.party = partyOf(socket.remoteAddress ?? '');
    this.#socket = socket;
    this.#parse = parse;
    this.#turns = turns;
    this.#hold = turns.hold(this.party, () => this.#giveUp());
    // The parser pauses it while answers are not taken. A stream that is paused is filled all the same.
    socket.on('pause', () => this.#stop());
    socket.on('resume', () => this.#start());
  }

  take(bytes: Bytes): void {
    const isFirst = this.#left.length === 0;
    if (isFirst && bytes.length <= SHORT && !this.#turns.isOver) {
      this.#parse(bytes);
      return;
    }
    this.#left.push(bytes);
    if (isFirst) {
      if (this.#turns.isOver) this.#wait();
      else this.goOn();
    }
    // More than one: the turn was over before, and the socket was read on all the same.
    if (this.#left.length > 0 && !this.#hold.grow(bytes.length)) this.#giveUp();
  }

  /** A slice at least: whoever's turn has come does not wait again without having had it. */
  goOn(): void {
    this.#parseSlice();
    while (this.#left.length > 0) {
      if (this.#turns.isOver) {
        this.#wait();
        return;
      }
      this.#parseSlice();
    }
    this.#hold.release();
    this.#isHeldUp = false;
    this.#start();
    this.#end?.();
    this.#end = undefined;
  }

  end(end: () => void): void {
    if (this.#left.length === 0) end();
    else this.#end = end;
  }

  #wait(): void {
    this.#isHeldUp = true;
    this.#stop();
    this.#turns.wait(this);
  }

  #stop(): void {
    this.#isStopped = true;
    stopReading(this.#socket);
  }

  #start(): void {
    if (!this.#isStopped || this.#isHeldUp || this.#socket.isPaused()) return;
    this.#isStopped = false;
    startReading(this.#socket);
  }

  #giveUp(): void {
    this.#left = [];
    this.#hold.release();
    this.#socket.destroy();
  }

  #parseSlice(): void {
    const [first] = this.#left;
    // The parser of a socket that is gone may be another's by now.
    if (!first || this.#socket.destroyed) {
      this.#left = [];
      return;
    }
    if (first.length <= SLICE) this.#left.shift();
    else this.#left[0] = first.subarray(SLICE);
    this.#parse(first.subarray(0, SLICE));
  }
}

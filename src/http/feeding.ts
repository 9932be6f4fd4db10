import type { IncomingMessage, Server } from 'node:http';
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

/** Bytes of heads that have begun and are not whole: each field costs some times its length. */
const HEAD_BYTES = { total: 16 << 20, each: 4 << 20 };
/** Those that are shorter are not counted: a usual one, and what anybody's connection costs anyway. */
const SHORT_HEAD = 2 << 10;

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
    feeds.set(socket, feed);
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

const feeds = new WeakMap<Socket, Feed>();

/** Says that a request's head is whole. */
export function noteHead(request: IncomingMessage): void {
  feeds.get(request.socket)?.noteHead(request);
}

/** Which sockets have bytes left when the time of a turn is up. */
class Turns {
  #until = 0;
  #isCounting = false;
  readonly #waiting = new SiteTurns<Feed>();
  readonly #kept = new SharedBytes(WAITING_BYTES);
  readonly #heads = new SharedBytes(HEAD_BYTES);

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

  /** Keeps count of heads that have begun. */
  holdHead(party: string, giveUp: () => void): Hold {
    return this.#heads.hold(party, giveUp);
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
  readonly #headHold: Hold;
  /** Bytes of a head that has begun, and of them those that are counted. */
  #head = 0;
  #counted = 0;
  /** The last whose head was whole. */
  #request: IncomingMessage | undefined;
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
    this.#headHold = turns.holdHead(this.party, () => this.#giveUp());
    socket.once('close', () => this.#headHold.release());
    // The parser pauses it while answers are not taken. A stream that is paused is filled all the same.
    socket.on('pause', () => this.#stop());
    socket.on('resume', () => this.#start());
  }

  take(bytes: Bytes): void {
    const isFirst = this.#left.length === 0;
    if (isFirst && bytes.length <= SHORT && !this.#turns.isOver) {
      this.#parseNow(bytes);
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

  noteHead(request: IncomingMessage): void {
    this.#request = request;
    this.#forgetHead();
  }

  #forgetHead(): void {
    this.#head = 0;
    if (this.#counted === 0) return;
    this.#counted = 0;
    this.#headHold.release();
  }

  #parseNow(bytes: Bytes): void {
    const before = this.#request;
    const isOfBody = before?.complete === false;
    this.#parse(bytes);
    if (isOfBody || this.#request !== before) return;
    this.#head += bytes.length;
    if (this.#head <= SHORT_HEAD) return;
    const more = this.#head - this.#counted;
    this.#counted = this.#head;
    if (!this.#headHold.grow(more)) this.#giveUp();
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
    this.#headHold.release();
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
    this.#parseNow(first.subarray(0, SLICE));
  }
}

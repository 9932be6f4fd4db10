import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Bytes that the parser is given at once: some hundred chunks of a body at most. */
const SLICE = 2 << 10;
/** What is no longer is parsed as it comes: a usual request. */
const SHORT = 1 << 10;
/** Milliseconds of a turn of the event loop that parsing may take. */
const TURN_MS = 5;
/** Bytes that wait for a later turn; beyond that memory matters more than time. */
const MOST_WAITING = 32 << 20;

type Bytes = Buffer<ArrayBuffer>;
type Parse = (bytes: Bytes) => void;

/**
 * Gives the parser what comes in slices, and others a turn between them. By itself it reads all that
 * a socket has, of one socket after the other, and 64 KiB can be ten thousand chunks of a byte.
 * Call after everything else listens to the sockets' bytes.
 */
export function feedInTurns(server: Server, secure: boolean): void {
  const turns = new Turns();
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
    const listeners = socket.listeners('data');
    const parse: Parse = (bytes) => {
      for (const listener of listeners) listener.call(socket, bytes);
    };
    socket.removeAllListeners('data');
    const feed = new Feed(socket, parse, turns);
    socket.on('data', (bytes: Bytes) => feed.take(bytes));
    // What has come is read before it is said that nothing more comes.
    socket.prependListener('end', () => feed.finish());
  });
}

/** Which sockets have bytes left when the time of a turn is up. */
class Turns {
  #until = 0;
  #isCounting = false;
  readonly #waiting = new Set<Feed>();
  /** Bytes that have come and are not parsed. */
  held = 0;

  get isOver(): boolean {
    if (this.held > MOST_WAITING) return false;
    const now = performance.now();
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#until = now + TURN_MS;
      setImmediate(() => this.#next());
    }
    return now > this.#until;
  }

  wait(feed: Feed): void {
    this.#waiting.add(feed);
  }

  #next(): void {
    this.#isCounting = false;
    for (const feed of this.#waiting) {
      if (this.isOver) return;
      this.#waiting.delete(feed);
      feed.goOn();
    }
  }
}

/** One socket's bytes on their way to the parser. */
class Feed {
  readonly #socket: Socket;
  readonly #parse: Parse;
  readonly #turns: Turns;
  #left: Bytes[] = [];
  #isHeldUp = false;

  constructor(socket: Socket, parse: Parse, turns: Turns) {
    this.#socket = socket;
    this.#parse = parse;
    this.#turns = turns;
  }

  take(bytes: Bytes): void {
    if (this.#left.length === 0 && bytes.length <= SHORT) {
      this.#parse(bytes);
      return;
    }
    this.#left.push(bytes);
    this.#turns.held += bytes.length;
    // More than one: the turn was over before, and the socket was read on all the same.
    if (this.#left.length === 1) this.goOn();
    else this.#holdUp();
  }

  goOn(): void {
    while (this.#left.length > 0) {
      if (this.#turns.isOver) {
        this.#holdUp();
        this.#turns.wait(this);
        return;
      }
      this.#parseSlice();
    }
    if (!this.#isHeldUp) return;
    this.#isHeldUp = false;
    this.#socket.resume();
  }

  finish(): void {
    while (this.#left.length > 0) this.#parseSlice();
  }

  #holdUp(): void {
    this.#isHeldUp = true;
    this.#socket.pause();
  }

  #parseSlice(): void {
    const [first] = this.#left;
    // The parser of a socket that is gone may be another's by now.
    if (!first || this.#socket.destroyed) {
      for (const { length } of this.#left) this.#turns.held -= length;
      this.#left = [];
      return;
    }
    this.#turns.held -= Math.min(SLICE, first.length);
    if (first.length <= SLICE) this.#left.shift();
    else this.#left[0] = first.subarray(SLICE);
    this.#parse(first.subarray(0, SLICE));
  }
}

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Hold, SharedBytes } from '../core/fairness/shared-bytes.ts';
import { type Bytes, Feed, FeedTurns } from '../sockets/feed.ts';
import { partyOfSocket } from '../sockets/peer.ts';

/** Bytes of heads that have begun and are not whole: each field costs some times its length. */
const HEAD_BYTES = { total: 16 << 20, each: 4 << 20 };
/** Those that are shorter are not counted: a usual one, and what anybody's connection costs anyway. */
const SHORT_HEAD = 2 << 10;

type Parse = (bytes: Bytes) => void;

/**
 * Gives the parser what comes in slices, and others a turn between them. By itself it reads all that
 * a socket has, of one socket after the other, and 64 KiB can be ten thousand chunks of a byte; so can a
 * little from each of thousands of sockets. Those that have to wait go on by their sites in turn.
 * Call after everything else listens to the sockets' bytes.
 */
export function feedInTurns(server: Server, secure: boolean, turns = new FeedTurns()): void {
  const begun = new SharedBytes(HEAD_BYTES);
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
    const listeners = socket.listeners('data');
    const ends = socket.listeners('end');
    socket.removeAllListeners('data');
    const heads = new Heads(socket, begun, (bytes) => {
      for (const listener of listeners) listener.call(socket, bytes);
    });
    headsOf.set(socket, heads);
    // The parser pauses the socket while answers are not taken.
    const taker = { pass: heads.parse, isPaused: () => socket.isPaused() };
    const feed = new Feed(socket, taker, turns);
    // A stream that is paused is filled all the same.
    socket.on('pause', () => feed.stop());
    socket.on('resume', () => feed.start());
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

const headsOf = new WeakMap<Socket, Heads>();

/** Says that a request's head is whole. */
export function noteHead(request: IncomingMessage): void {
  headsOf.get(request.socket)?.note(request);
}

/** Counts the bytes of a socket's heads until they are whole. */
class Heads {
  readonly #socket: Socket;
  readonly #hold: Hold;
  readonly #parse: Parse;
  /** Bytes of a head that has begun, and of them those that are counted. */
  #begun = 0;
  #counted = 0;
  /** The last whose head was whole. */
  #request: IncomingMessage | undefined;

  constructor(socket: Socket, begun: SharedBytes, parse: Parse) {
    this.#socket = socket;
    this.#hold = begun.hold(partyOfSocket(socket), () => socket.destroy());
    this.#parse = parse;
    socket.once('close', () => this.#hold.release());
  }

  note(request: IncomingMessage): void {
    this.#request = request;
    this.#begun = 0;
    if (this.#counted === 0) return;
    this.#counted = 0;
    this.#hold.release();
  }

  readonly parse = (bytes: Bytes): void => {
    const before = this.#request;
    const isOfBody = before?.complete === false;
    this.#parse(bytes);
    if (isOfBody || this.#request !== before) return;
    this.#begun += bytes.length;
    if (this.#begun <= SHORT_HEAD) return;
    const more = this.#begun - this.#counted;
    this.#counted = this.#begun;
    if (!this.#hold.grow(more)) this.#socket.destroy();
  };
}

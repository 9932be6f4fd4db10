import type { Server, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type Bytes, Feed, type FeedTurns } from '../sockets/feed.ts';
import { sharePassedOn } from '../sockets/peer.ts';

/**
 * Gives TLS what comes in slices, and others a turn between them. By itself it deciphers all that has come
 * on all sockets before anybody else has a turn: a record costs some microseconds however short it is, and one
 * that asks for other keys (RFC 8446 §4.6.3) twelve, which no other part of the server hears of. While a client
 * does not take what TLS has to say to it, nothing more of it is taken either: otherwise answers to such
 * records would pile up here. Call before anything else listens to connections.
 */
export function decipherInTurns(server: Server, turns: FeedTurns): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  let passing: Socket | undefined;
  server.prependListener('secureConnection', (secure: Socket) => {
    // A handshake is done by bytes that are passed on; whose is not known is nobody's.
    if (passing) tellEnds(secure, passing);
    else secure.destroy();
  });
  server.on('connection', (socket: Socket) => {
    const gate = new Gate(socket, turns, (bytes, pass) => {
      passing = socket;
      try {
        pass(bytes);
      } finally {
        passing = undefined;
      }
    });
    for (const listener of listeners) Reflect.apply(listener, server, [gate]);
  });
}

/** What the runtime knows of a connection's ends only where TLS reads from the system by itself. */
const ENDS = [
  'remoteAddress',
  'remotePort',
  'remoteFamily',
  'localAddress',
  'localPort',
  'localFamily',
] as const;

function tellEnds(secure: Socket, socket: Socket): void {
  for (const end of ENDS) Object.defineProperty(secure, end, { value: socket[end] });
  sharePassedOn(socket, secure);
}

type Passing = (bytes: Bytes, pass: (bytes: Bytes) => void) => void;

/** A socket as TLS sees it: what comes is there when its turn has come. */
class Gate extends Duplex {
  readonly #socket: Socket;
  readonly #feed: Feed;

  constructor(socket: Socket, turns: FeedTurns, passing: Passing) {
    super({ allowHalfOpen: socket.allowHalfOpen });
    this.#socket = socket;
    const push = (bytes: Bytes): void => {
      // As a stream does that is listened to.
      if (this.readableFlowing && this.readableLength === 0) this.emit('data', bytes);
      else this.push(bytes);
    };
    const isFull = (): boolean => this.isPaused() || socket.writableLength > 0;
    const taker = { pass: (bytes: Bytes) => passing(bytes, push), isPaused: isFull, isFull };
    const feed = new Feed(socket, taker, turns);
    this.#feed = feed;
    this.on('pause', () => feed.stop());
    this.on('resume', () => feed.start());
    socket.on('data', (bytes: Bytes) => feed.take(bytes));
    socket.on('end', () => feed.end(() => this.push(null)));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => {
      feed.giveUp();
      this.destroy();
    });
  }

  override _read(): void {
    // What comes is pushed as it comes.
  }

  /** To the socket at once: that a stream keeps it first would take some microseconds of each answer. */
  override write(bytes: Uint8Array, ...rest: unknown[]): boolean {
    const done = rest.at(-1);
    return this.#socket.write(bytes, (error) => {
      if (typeof done === 'function') done(error);
      this.#feed.start();
    });
  }

  override cork(): void {
    this.#socket.cork();
  }

  override uncork(): void {
    this.#socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionLimits } from '../config/connections.ts';
import { partyOf, siteOfParty } from '../core/party.ts';
import { type Hold, SharedBytes } from '../core/shared-bytes.ts';
import { GatheredRequest } from './request-body.ts';

/** A connection, and what is asked on it. */
interface Connection {
  socket: Socket;
  party: string;
  site: Site;
  /** In their order; those that are answered go when the next look is taken. */
  asked: Asked[];
  /** How many of them are not begun. */
  waiting: number;
  /** When it was last put to the end of its line. */
  moved: number;
  /** Bytes of answers that are on their way. */
  unsent: Hold;
}

/** The connections of a site; the longest unused stands first. */
type Site = Set<Connection>;

interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
  /** When it was begun: milliseconds of a clock that only goes on. */
  since: number;
}

/** Bytes of requests, whole heads and bodies, that are kept while they come and are worked on. */
const BODY_BYTES = { total: 64 << 20, each: 32 << 20 };
/** What the head of a usual request comes to is not counted: it is what anybody's connection costs anyway. */
const SHORT_HEAD = 4 << 10;
/** What a field of a head takes besides its characters. */
const FIELD = 96;
/** Bytes of answers that clients have not taken yet. */
const UNSENT_BYTES = { total: 64 << 20, each: 32 << 20 };

/** Requests that may wait on one connection for the answers before them. */
const MAX_PIPELINED = 32;
/** And on all connections of an address: each costs a little again when its connection goes. */
const MAX_WAITING = 2_048;
/** Lines are kept in order to this many milliseconds: moving costs, and requests are many. */
const MOVE_MS = 500;
const SWEEP_MS = 5_000;
/** Connections that are looked at, at most, for one that can give way. */
const LOOKS = 2_048;

/**
 * Bounds the connections of a server, all of them and those of an address. One too many takes the place
 * of the one that has been of least use: of the site that has most, and has used them least of late, the longest
 * unused on which nothing is being answered, which those are that are idle, silent, or slow to ask.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  /** By party; the longest unused stands first. */
  readonly #parties = new Map<string, Set<Connection>>();
  readonly #sites = new Map<string, Site>();
  /** Sites by how many connections they have; the one that has used its own least of late stands first. */
  readonly #bySize = new SitesBySize();
  /** By the addresses of both ends; one whose client went before it was accepted has none. */
  readonly #byEnds = new Map<string, Connection>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  /** Requests that are not begun, by party. */
  readonly #waiting = new Map<string, number>();
  #count = 0;
  /** Bytes kept of requests. */
  readonly bodies: SharedBytes;
  /** Bytes kept of answers. */
  readonly unsent: SharedBytes;

  /** Whether a peer asks on behalf of many, and may have more connections than one of those. */
  readonly #isProxy: (peer: string | undefined) => boolean;

  constructor(limits: ConnectionLimits, isProxy: (peer: string | undefined) => boolean) {
    this.#limits = limits;
    this.#isProxy = isProxy;
    this.bodies = new SharedBytes(BODY_BYTES);
    this.unsent = new SharedBytes(UNSENT_BYTES);
  }

  get count(): number {
    return this.#count;
  }

  /** @returns ends the watch */
  watch(server: Server): () => void {
    server.on('connection', (socket: Socket) => this.#admit(socket));
    // Over TLS requests come on another socket than connections do.
    server.on('secureConnection', (secure: Socket) => {
      const known = this.#byEnds.get(endsOf(secure));
      if (known) this.#bySocket.set(secure, known);
    });
    const timer = setInterval(() => this.#sweep(), Math.min(SWEEP_MS, this.#limits.answer_ms));
    timer.unref();
    return () => clearInterval(timer);
  }

  /**
   * Takes a request, and has it answered when those before it on its connection are: their answers have
   * left the process then, so that nobody collects answers here that they do not read. One too many ends
   * the connection.
   */
  begin(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    const connection = this.#bySocket.get(request.socket);
    if (!connection) {
      answer();
      return;
    }
    const { asked } = connection;
    forgetAnswered(asked);
    const isCrowd = (this.#waiting.get(connection.party) ?? 0) >= MAX_WAITING;
    if (asked.length >= (isCrowd ? 1 : MAX_PIPELINED)) {
      connection.socket.destroy();
      return;
    }
    const before = asked.at(-1);
    if (!this.#keep(request, response, { party: connection.party, waits: before !== undefined })) {
      connection.socket.destroy();
      return;
    }
    const now = performance.now();
    const own: Asked = { request, response, since: now };
    asked.push(own);
    if (now > connection.moved + MOVE_MS) this.#move(connection, now);
    if (before) {
      this.#wait(connection, 1);
      before.response.once('close', () => {
        // Of a connection that is gone none waits.
        if (connection.waiting > 0) this.#wait(connection, -1);
        own.since = performance.now();
        if (!connection.socket.destroyed) answer();
      });
    } else answer();
  }

  /** Counts what the socket has not taken of an answer until the client has taken it. */
  sent(response: ServerResponse, kept = 0): void {
    const { socket } = response;
    // Of an answer to somebody who has gone nothing is kept, and its end has been told.
    if (!socket || socket.destroyed || response.closed) return;
    const bytes = Math.max(socket.writableLength, kept);
    const connection = bytes > 0 ? this.#bySocket.get(socket) : undefined;
    if (!connection) return;
    // Registered first: who is given up is closed at once.
    response.once('close', () => connection.unsent.release());
    if (!connection.unsent.grow(bytes)) connection.socket.destroy();
  }

  #wait(connection: Connection, more: number): void {
    const { party } = connection;
    connection.waiting += more;
    const waiting = (this.#waiting.get(party) ?? 0) + more;
    if (waiting > 0) this.#waiting.set(party, waiting);
    else this.#waiting.delete(party);
  }

  /** @returns whether there is room for its head; of the body it is known once that comes */
  #keep(
    request: IncomingMessage,
    response: ServerResponse,
    { party, waits }: { party: string; waits: boolean },
  ): boolean {
    if (request instanceof GatheredRequest) {
      request.gather((giveUp) => {
        whenDone(request, response, () => request.release());
        return this.bodies.hold(party, giveUp);
      });
    }
    const bytes = weighHead(request);
    if (bytes <= SHORT_HEAD && !waits) return true;
    const hold = this.bodies.hold(party, () => request.socket.destroy());
    if (!hold.grow(bytes)) return false;
    // Work on it begins at once, or soon: but where a body has to come first that may take its time.
    if (request.complete || !waitsForBody(request)) hold.settle();
    else request.once('end', () => hold.settle());
    whenDone(request, response, () => hold.release());
    return true;
  }

  #move(connection: Connection, now: number): void {
    connection.moved = now;
    const mates = this.#parties.get(connection.party);
    if (!mates?.delete(connection)) return;
    mates.add(connection);
    const { site } = connection;
    site.delete(connection);
    site.add(connection);
    this.#bySize.place(site, site.size);
  }

  #admit(socket: Socket): void {
    const party = partyOf(socket.remoteAddress ?? '');
    const { max_connections, max_connections_per_address } = this.#limits;
    const own = this.#parties.get(party);
    const isFull =
      (own?.size ?? 0) >= max_connections_per_address && !this.#isProxy(socket.remoteAddress)
        ? !this.#evict(own ?? [])
        : this.#count >= max_connections && !this.#evict(this.#bySize.connections());
    if (isFull) {
      socket.destroy();
      return;
    }
    const unsent = this.unsent.hold(party, () => socket.destroy());
    const name = siteOfParty(party);
    const site: Site = this.#sites.get(name) ?? new Set();
    const connection = {
      socket,
      party,
      site,
      asked: [],
      waiting: 0,
      moved: Number.NEGATIVE_INFINITY,
      unsent,
    };
    const mates = this.#parties.get(party) ?? new Set<Connection>();
    mates.add(connection);
    this.#parties.set(party, mates);
    this.#sites.set(name, site.add(connection));
    this.#bySize.place(site, site.size - 1);
    const ends = endsOf(socket);
    this.#byEnds.set(ends, connection);
    this.#bySocket.set(socket, connection);
    this.#count += 1;
    socket.once('close', () => {
      this.#remove(connection);
      if (this.#byEnds.get(ends) === connection) this.#byEnds.delete(ends);
    });
  }

  #remove(connection: Connection): void {
    connection.unsent.release();
    this.#wait(connection, -connection.waiting);
    const mates = this.#parties.get(connection.party);
    if (!mates?.delete(connection)) return;
    this.#count -= 1;
    if (mates.size === 0) this.#parties.delete(connection.party);
    const { site } = connection;
    site.delete(connection);
    this.#bySize.place(site, site.size + 1);
    if (site.size === 0) this.#sites.delete(siteOfParty(connection.party));
  }

  #evict(connections: Iterable<Connection>): boolean {
    let looks = 0;
    for (const connection of connections) {
      looks += 1;
      if (looks > LOOKS) return false;
      forgetAnswered(connection.asked);
      if (connection.asked.some(({ request }) => request.complete)) continue;
      this.#remove(connection);
      connection.socket.destroy();
      return true;
    }
    return false;
  }

  /** Gives up answers that nobody takes. */
  #sweep(): void {
    const before = performance.now() - this.#limits.answer_ms;
    for (const mates of this.#parties.values()) {
      for (const { asked, socket } of mates) {
        forgetAnswered(asked);
        const [first] = asked;
        if (first?.response.headersSent && first.since < before) socket.destroy();
      }
    }
  }
}

/** Sites in the order in which they give way: those that have most first. */
class SitesBySize {
  /** The place in the list is their size. */
  readonly #sites: Set<Site>[] = [];

  /** Puts a site to the end of those of its size. */
  place(site: Site, sizeBefore: number): void {
    this.#sites[sizeBefore]?.delete(site);
    if (site.size === 0) return;
    while (this.#sites.length <= site.size) this.#sites.push(new Set());
    this.#sites[site.size]?.add(site);
  }

  *connections(): Generator<Connection, void, undefined> {
    while (this.#sites.at(-1)?.size === 0) this.#sites.pop();
    for (let size = this.#sites.length - 1; size > 0; size--) {
      for (const site of this.#sites[size] ?? []) yield* site;
    }
  }
}

/** Answers go out in the order of the requests. A listener for each would cost a tenth of a read. */
function forgetAnswered(asked: Asked[]): void {
  while (asked[0]?.response.writableFinished || asked[0]?.response.closed) asked.shift();
}

/** The same for a connection and for what TLS makes of it, and for no other that is open. */
export const endsOf = (socket: Socket): string =>
  `${socket.remoteAddress}|${socket.remotePort}|${socket.localAddress}`;

/** Once a request is answered, or its client has gone, and nothing is done for it any more. */
function whenDone(request: IncomingMessage, response: ServerResponse, done: () => void): void {
  response.once('close', () => {
    const work = request instanceof GatheredRequest ? request.work : undefined;
    if (work) work.then(done, done);
    else done();
  });
}

/** What a pair of a query takes besides its characters, once it is read. */
const PAIR = 64;
/** A shorter target is none of many pairs. */
const SHORT_TARGET = 256;

function weighTarget(url: string): number {
  if (url.length <= SHORT_TARGET) return url.length;
  let pairs = 0;
  for (let at = url.indexOf('&'); at >= 0; at = url.indexOf('&', at + 1)) pairs += 1;
  return url.length + pairs * PAIR;
}

/** About how many bytes a head takes: a field of three characters as much as one of a hundred. */
function weighHead({ rawHeaders, url = '' }: IncomingMessage): number {
  let bytes = weighTarget(url) + (rawHeaders.length / 2) * FIELD;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

const waitsForBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionLimits } from '../config/connections.ts';
import { SharedBytes } from '../core/fairness/shared-bytes.ts';
import { addressOf, endsOf, partyOfSocket } from '../sockets/peer.ts';
import { noteNewcomer } from '../sockets/turn-length.ts';
import { ConnectionLines, type Site } from './connection-lines.ts';
import { GivingWay } from './giving-way.ts';
import { LongAnswers, type OnItsWay, type Weight } from './long-answers.ts';
import { forgetAnswered, type Line, letGoOfRequest, RequestsInOrder } from './requests-in-order.ts';
import type { SentResponse } from './response.ts';
import { findTaken, noteTaken, type Taking } from './taking.ts';
import type { Unattended } from './unattended.ts';

/** A connection, and where it stands among others. */
interface Connection extends Line {
  site: Site<Connection>;
  /** As of the last look at whether it can give way. */
  taking: Taking;
  came: number;
  /** When it was last put to the end of its line. */
  moved: number;
  /** What is on its way of an answer. */
  onItsWay: OnItsWay;
}

/** Bytes of answers that clients have not taken yet. */
const UNSENT_BYTES = { total: 64 << 20, each: 32 << 20, last: 8 << 20 };
/** Lines are kept in order to this many milliseconds: moving costs, and requests are many. */
const MOVE_MS = 500;
const SWEEP_MS = 5_000;
/** Connections that are closed in one turn of the event loop because their answers are late. */
const FEW = 256;

/**
 * Bounds the connections of a server, all of them and those of an address. One too many takes the place
 * of the one that has been of least use: of the network and site that has most, and has used them least of late,
 * the longest unused on which nothing is being answered, which those are that are idle, silent, slow to ask, or do not
 * take what they asked for. Where all are of use, those who have most make room for those who have fewer.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  /** By party; the longest unused stands first. */
  readonly #parties = new Map<string, Set<Connection>>();
  readonly #lines = new ConnectionLines<Connection>();
  /** By the addresses of both ends; one whose client went before it was accepted has none. */
  readonly #byEnds = new Map<string, Connection>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  #count = 0;
  readonly #requests = new RequestsInOrder();
  /** Bytes kept of answers that are on their way. */
  readonly unsent = new SharedBytes(UNSENT_BYTES);
  readonly #long = new LongAnswers(this.unsent);
  /** Whether a peer asks on behalf of many, and may have more connections than one of those. */
  readonly #isProxy: (peer: string | undefined) => boolean;
  readonly #givingWay: GivingWay<Connection>;

  constructor(limits: ConnectionLimits, isProxy: (peer: string | undefined) => boolean) {
    this.#limits = limits;
    this.#isProxy = isProxy;
    this.#givingWay = new GivingWay(isProxy, (connection, now) => this.#use(connection, now));
  }

  /** Bytes kept of requests. */
  get bodies(): SharedBytes {
    return this.#requests.bodies;
  }

  /** What is done for clients that have gone. */
  get unattended(): Unattended {
    return this.#requests.unattended;
  }

  /** Bytes kept of answers that wait to begin. */
  get waiting(): number {
    return this.#long.held;
  }

  get count(): number {
    return this.#count;
  }

  /** Bytes that are kept of requests that wait for others on their connections. */
  get queued(): number {
    return this.#requests.queued;
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

  /** Takes a request, and has it answered when those before it on its connection are. */
  begin(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    const connection = this.#bySocket.get(request.socket);
    if (!connection) {
      answer();
      return;
    }
    const now = performance.now();
    this.#use(connection, now);
    this.#requests.begin(connection, { request, response }, now, answer);
  }

  /** Sends a long answer when there is room for what its client does not take at once. */
  sendInTurn(
    response: ServerResponse,
    { weight, body }: { weight: Weight; body: SentResponse['body'] },
    send: () => void,
  ): void {
    const { socket } = response;
    const connection = socket ? this.#bySocket.get(socket) : undefined;
    if (!connection) {
      send();
      return;
    }
    const begin = (): void => {
      // It was not slow while it waited here.
      const [own] = connection.asked;
      if (own?.response === response) own.since = performance.now();
      send();
    };
    const giveUp = (): void => void connection.socket.destroy();
    this.#long.take(connection.party, response, { weight, body, begin, giveUp });
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
    const { onItsWay } = connection;
    response.once('close', () => this.#long.done(onItsWay));
    this.#long.note(onItsWay);
    const head = letGoOfRequest(connection.asked[0], response);
    if (!onItsWay.unsent.grow(bytes + head)) connection.socket.destroy();
  }

  /** Puts it to the end of its line. */
  #use(connection: Connection, now: number): void {
    if (now <= connection.moved + MOVE_MS) return;
    connection.moved = now;
    const mates = this.#parties.get(connection.party);
    if (!mates?.delete(connection)) return;
    mates.add(connection);
    this.#lines.use(connection.site, connection);
  }

  #admit(socket: Socket): void {
    noteNewcomer();
    const party = partyOfSocket(socket);
    if (!this.#makeRoom(socket, party)) {
      socket.destroy();
      return;
    }
    const connection = this.#add(socket, party);
    const ends = endsOf(socket);
    this.#byEnds.set(ends, connection);
    this.#bySocket.set(socket, connection);
    socket.once('close', () => {
      this.#remove(connection);
      if (this.#byEnds.get(ends) === connection) this.#byEnds.delete(ends);
    });
  }

  #makeRoom(socket: Socket, party: string): boolean {
    const { max_connections, max_connections_per_address } = this.#limits;
    const own = this.#parties.get(party);
    const givingWay = this.#givingWay;
    if (own && own.size >= max_connections_per_address && !this.#isProxy(addressOf(socket))) {
      return this.#end(givingWay.findUnused(own, this.#lines.sizesOf(party)));
    }
    if (this.#count < max_connections) return true;
    return this.#end(
      givingWay.findUnused(this.#lines, this.#lines.sizesOf(party)) ??
        givingWay.findOfMost(this.#lines, party),
    );
  }

  #end(connection: Connection | undefined): boolean {
    if (!connection) return false;
    this.#remove(connection);
    connection.socket.destroy();
    return true;
  }

  #add(socket: Socket, party: string): Connection {
    const came = performance.now();
    const taking = { at: undefined, since: came };
    const giveUp = (): void => void socket.destroy();
    const onItsWay: OnItsWay = {
      party,
      unsent: this.unsent.hold(party, giveUp),
      since: 0,
      giveUp,
      taken: () => findTaken(socket),
      stood: { at: undefined, since: 0 },
    };
    const site = this.#lines.siteOf(party);
    const moved = Number.NEGATIVE_INFINITY;
    const connection = {
      socket,
      party,
      site,
      asked: [],
      taking,
      came,
      waiting: 0,
      moved,
      onItsWay,
    };
    this.#lines.add(site, connection);
    this.#parties.getOrInsertComputed(party, () => new Set()).add(connection);
    this.#count += 1;
    return connection;
  }

  #remove(connection: Connection): void {
    this.#long.done(connection.onItsWay);
    this.#requests.end(connection);
    const mates = this.#parties.get(connection.party);
    if (!mates?.delete(connection)) return;
    this.#count -= 1;
    if (mates.size === 0) this.#parties.delete(connection.party);
    this.#lines.delete(connection.site, connection);
  }

  /** Gives up answers that nobody takes, and looks how far the others are taken. */
  #sweep(): void {
    const now = performance.now();
    const before = now - this.#limits.answer_ms;
    const late: Socket[] = [];
    for (const mates of this.#parties.values()) {
      for (const { asked, socket, taking } of mates) {
        forgetAnswered(asked);
        const [first] = asked;
        if (!first?.response.headersSent) continue;
        noteTaken(taking, findTaken(socket), now);
        if (first.since < before) late.push(socket);
      }
    }
    closeFew(late);
  }
}

/** Closing costs some ten microseconds each, and thousands may be late in the same moment. */
function closeFew(sockets: Socket[]): void {
  for (const socket of sockets.splice(0, FEW)) socket.destroy();
  if (sockets.length > 0) setImmediate(() => closeFew(sockets));
}

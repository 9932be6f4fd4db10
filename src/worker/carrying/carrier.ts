import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
} from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type ServerOptions, WebSocketServer } from 'ws';
import type { ClosedReason } from '../../broker/sessions/connections/connection.ts';
import { shakeInTurns } from '../../sockets/handshakes.ts';
import { KEEP_ALIVE_MS } from '../../sockets/keep-alive.ts';
import { readAnswerLater } from '../../sockets/reading.ts';
import { refuseUpgrade, takeUpgrades } from '../../sockets/upgrades.ts';
import {
  type Carried,
  type Cut,
  MOST_CARRIED,
  type SessionGrant,
  type Upstream,
} from '../upstream.ts';
import { PROXY_PATH, SUBPROTOCOL } from '../wire/handshake.ts';
import { readHelloNames, sessionOf } from '../wire/hello-names.ts';
import { type Brought, type Errand, HOP_PROTOCOL } from '../wire/hop.ts';
import { CarriedSession, FRESH_MS } from './carried-session.ts';
import { CLOSING_MS } from './client-stream.ts';
import { CarriedConnection } from './connection.ts';
import { Ends, openOf } from './ends.ts';
import { Errands } from './errands.ts';
import { HopDesk } from './hop-desk.ts';
import { Newcomers } from './newcomers.ts';
import type { WorkerCredentials } from './worker-credentials.ts';

/** The first message of TLS, and the request after the hand-shake, must come within this. */
const PATIENCE_MS = 10_000;
/** Signatures of sessions are quick: who waits behind many silent ones of the same address need not wait long. */
const QUIET_MS = 100;
/** A longer message of a WebSocket is no piece of a stream. */
const MESSAGE_BYTES = 1 << 20;
/** Its types lack the time for closing. */
const UPGRADES: ServerOptions & { closeTimeout: number } = {
  noServer: true,
  handleProtocols: () => SUBPROTOCOL,
  perMessageDeflate: false,
  maxPayload: MESSAGE_BYTES,
  closeTimeout: CLOSING_MS,
  // Who asks and does not read the answers would have them kept without end: see the connection's own.
  autoPong: false,
};
/** How often sessions are looked through that have ended or that nobody uses. */
const SWEEP_MS = 500;

/** A client that has proved itself, until it has asked for what it came for. */
interface Admitted {
  session: CarriedSession;
  patience: NodeJS.Timeout;
}

/** An alert before any key is agreed on (RFC 8446 §6): fatal, internal_error. */
const INTERNAL_ERROR = Buffer.from([21, 3, 3, 0, 2, 2, 80]);

/**
 * The worker's listener and all that it carries. It asks `upstream` for everything that is not
 * about bytes, and keeps nothing but what is under way.
 */
export class Carrier {
  readonly #upstream: Upstream;
  readonly #most: number;
  readonly #server: Server;
  readonly #http: HttpServer;
  readonly #upgrades = new WebSocketServer(UPGRADES);
  readonly #sessions = new Map<string, CarriedSession>();
  readonly #lookups = new Map<string, Promise<CarriedSession>>();
  /** By the connection that TLS has made. */
  readonly #admitted = new WeakMap<Socket, Admitted>();
  /** When each is over and told, and both its ends are closed. */
  readonly #connections = new Map<CarriedConnection, Promise<void>>();
  readonly #desk: HopDesk;
  readonly #errands = new Errands();
  readonly #ends: Ends;
  readonly #newcomers = new Newcomers();
  readonly #sockets = new Set<Socket>();
  readonly #sweep: NodeJS.Timeout;

  /** @param most connections at any time */
  constructor(upstream: Upstream, most = MOST_CARRIED) {
    this.#upstream = upstream;
    this.#most = most;
    this.#ends = new Ends(upstream);
    // A worker that was not sent here is a stranger, whatever certificate it once had.
    this.#desk = new HopDesk(
      upstream,
      (secure) => this.#server.emit('secureConnection', secure),
      (secure) => this.#newcomers.proved(secure),
    );
    this.#http = this.#httpServer();
    const asking = { keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
    this.#server = createServer({ noDelay: true, ...asking }, (socket) => this.#accept(socket));
    shakeInTurns(this.#server, PATIENCE_MS, { quiet_ms: QUIET_MS });
    this.#server.prependListener('connection', (socket: Socket) => {
      this.#newcomers.add(socket);
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#sweep = setInterval(() => this.#sweepThrough(), SWEEP_MS);
    this.#sweep.unref();
  }

  /** @throws Error when the address cannot be had */
  listen(at: { host: string; port: number }): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(at.port, at.host, () => {
        this.#server.off('error', reject);
        // One that could not be accepted: an error that nobody hears ends the process.
        this.#server.on('error', () => {});
        const { port } = this.#server.address() as AddressInfo;
        resolve({ host: at.host, port });
      });
    });
  }

  /** What this worker proves itself by towards other workers. */
  prove(credentials: WorkerCredentials): void {
    this.#desk.prove(credentials);
    this.#errands.prove(credentials);
  }

  /** Dials an endpoint for another worker. @throws Failure `unresolved` */
  bring(errand: Errand): Promise<Brought> {
    return this.#errands.run(errand);
  }

  /** Bytes of all that is open, or has ended without the server having heard of it yet; and what it has brought to others. */
  carried(): Carried {
    return { open: openOf(this.#connections.keys()), brought: this.#errands.brought() };
  }

  /** Ends what it carries of some sessions, and some connections besides. */
  cut(cuts: readonly Cut[], connection_ids: readonly string[] = []): void {
    const reasons = new Map(cuts.map(({ session_id, reason }) => [session_id, reason]));
    const ids = new Set(connection_ids);
    this.#cutWhere(({ session, traffic, hasEnded }) => {
      // One that has ended was closed since the server was told so: a slow client still takes the last of it.
      const isClosed = !hasEnded && traffic !== undefined && ids.has(traffic.connection_id);
      return reasons.get(session.id) ?? (isClosed ? 'system error' : undefined);
    });
    // Its client is answered when it says that it leaves; whether anybody else comes in, the server is asked.
    for (const session_id of reasons.keys()) this.#sessions.get(session_id)?.outlive();
    this.#errands.cut({ session_ids: reasons, connection_ids: ids });
  }

  /** Ends everything, since the server that it belongs to is not to be reached. */
  cutAll(reason: ClosedReason): void {
    this.#cutWhere(() => reason);
    this.#sessions.clear();
    this.#errands.cutAll();
  }

  /** Takes nothing new, ends what there is, and returns once the server has been told. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const told = [...this.#connections.values()];
    this.#ends.close();
    this.cutAll('system error');
    await Promise.allSettled(told);
    for (const socket of this.#sockets) socket.destroy();
    this.#http.close();
    await closed;
  }

  #cutWhere(why: (connection: CarriedConnection) => ClosedReason | undefined): void {
    for (const connection of this.#connections.keys()) {
      const reason = why(connection);
      if (reason) connection.cut(reason);
    }
  }

  /** Those that have run out are ended; those that nobody uses are forgotten. */
  #sweepThrough(): void {
    this.#cutWhere(({ session }) => (session.hasRunOut ? 'timed out' : undefined));
    const used = new Set([...this.#connections.keys()].map(({ session }) => session));
    const stale = performance.now() - FRESH_MS;
    for (const session of this.#sessions.values()) {
      if (!used.has(session) && session.looked_up < stale) this.#sessions.delete(session.id);
    }
  }

  /** A client whose first message is there as a whole: that names its session. */
  async #accept(socket: Socket): Promise<void> {
    socket.on('error', () => socket.destroy());
    // What `shakeInTurns` has put back.
    const read: unknown = socket.read();
    const hello = Buffer.isBuffer(read) ? read : undefined;
    const names = hello && readHelloNames(hello);
    if (hello && names?.protocols.includes(HOP_PROTOCOL)) {
      socket.unshift(hello);
      this.#desk.accept(socket);
      return;
    }
    const session_id = names && sessionOf(names);
    const session = session_id && (await this.#session(session_id).catch(() => undefined));
    if (socket.destroyed) return;
    if (!hello || !session) {
      // Closed when it is sent: nothing is read here, so that whoever stays would not be seen to leave.
      socket.write(INTERNAL_ERROR);
      socket.destroySoon();
      return;
    }
    socket.unshift(hello);
    session.tls.emit('connection', socket);
    readAnswerLater(socket);
  }

  #session(session_id: string): Promise<CarriedSession> {
    const known = this.#sessions.get(session_id);
    const isFresh = known && performance.now() - known.looked_up < FRESH_MS;
    if (isFresh && !known.hasRunOut) return Promise.resolve(known);
    const running = this.#lookups.get(session_id);
    if (running) return running;
    const lookup = this.#lookUp(session_id).finally(() => this.#lookups.delete(session_id));
    this.#lookups.set(session_id, lookup);
    return lookup;
  }

  async #lookUp(session_id: string): Promise<CarriedSession> {
    const grant = await this.#upstream.lookUp({ session_id });
    if (grant.left_ms <= 0) throw new Error('the session has run out');
    const known = this.#sessions.get(session_id);
    if (known) {
      known.refresh(grant);
      return known;
    }
    return this.#add(grant);
  }

  #add(grant: SessionGrant): CarriedSession {
    const session = new CarriedSession(grant, this.#upstream, (secure, admitting) => {
      // Until somebody else listens: an error that nobody hears would end the thread and all that it carries.
      secure.on('error', () => secure.destroy());
      this.#newcomers.proved(secure);
      this.#server.emit('secureConnection', secure);
      // The runtime's own limits of time hold for servers that listen themselves.
      const patience = setTimeout(() => secure.destroy(), PATIENCE_MS);
      secure.once('close', () => clearTimeout(patience));
      this.#admitted.set(secure, { session: admitting, patience });
      this.#http.emit('connection', secure);
    });
    this.#sessions.set(session.id, session);
    return session;
  }

  #httpServer(): HttpServer {
    const server = createHttpServer({ maxHeaderSize: 8 << 10 });
    server.on('request', (_request, response) => {
      response.writeHead(404, { connection: 'close' }).end();
    });
    takeUpgrades(server, (request, secure, head) => this.#upgrade(request, secure, head));
    server.on('clientError', (_error, socket) => socket.destroy());
    return server;
  }

  #upgrade(request: IncomingMessage, secure: TLSSocket, head: Buffer): void {
    const admitted = this.#admitted.get(secure);
    const [path] = (request.url ?? '').split('?');
    if (path !== PROXY_PATH) {
      refuseUpgrade(secure, '404 Not Found');
      return;
    }
    if (!admitted || !offers(request, SUBPROTOCOL)) {
      refuseUpgrade(secure, '500 Internal Server Error');
      return;
    }
    if (this.#connections.size >= this.#most) {
      refuseUpgrade(secure, '503 Service Unavailable');
      return;
    }
    const { session, patience } = admitted;
    this.#upgrades.handleUpgrade(request, secure, head, (ws) => {
      clearTimeout(patience);
      const by = { ws, secure, upstream: this.#upstream, hops: this.#desk, ends: this.#ends };
      const connection = new CarriedConnection(session, by);
      const run = connection.run().finally(() => this.#connections.delete(connection));
      this.#connections.set(connection, run);
    });
  }
}

const offers = ({ headers }: IncomingMessage, protocol: string): boolean =>
  (headers['sec-websocket-protocol'] ?? '').split(',').some((one) => one.trim() === protocol);

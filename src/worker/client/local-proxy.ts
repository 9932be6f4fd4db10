import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { SessionDialer } from './dialer.ts';
import { isOrderly, type Refusal, refusalOfClose } from './refusal.ts';
import { Relay } from './relay.ts';
import { SessionRefused } from './session-stream.ts';

/** What was carried so far. */
export interface Tally {
  open: number;
  total: number;
  bytes_up: number;
  bytes_down: number;
  /** -1: unlimited, or not known yet. */
  connections_left: number;
}

/** Why a proxy takes no connection any more. */
export type ProxyEnd =
  | { why: 'stopped' | 'expired' }
  /** The limit of connections, and the last one is over. */
  | { why: 'used up' }
  | { why: 'refused'; refusal: Refusal };

export interface ProxyOptions {
  dialer: SessionDialer;
  /** Unix milliseconds. */
  expires_ms: number;
  /** Of a connection that could not be made, while the next one might. */
  onRefusal(refusal: Refusal): void;
  /** A connection was ended by the other side, as all are when the session is over. */
  onWorkerEnd(): void;
}

/** Longer than this a timer cannot be set, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Listens on this machine and carries each connection through a session. */
export class LocalProxy {
  /** Settled once, when nothing is taken and nothing carried any more. */
  readonly ended: Promise<ProxyEnd>;
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #relays = new Set<Relay>();
  readonly #sockets = new Set<Socket>();
  #deadline: NodeJS.Timeout | undefined;
  readonly #end = Promise.withResolvers<ProxyEnd>();
  #over: ProxyEnd | undefined;
  /** Connections that are carried, or on their way to be. */
  #under_way = 0;
  /** Somebody waits until there are none. */
  #idle: PromiseWithResolvers<void> | undefined;
  /** Of connections that are over. */
  readonly #past = { total: 0, bytes_up: 0, bytes_down: 0 };
  #connections_left = -1;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.ended = this.#end.promise;
    // Each end is passed on by itself, and nothing is read before there is somewhere to put it.
    this.#server = createServer(
      { allowHalfOpen: true, pauseOnConnect: true, noDelay: true },
      (socket) => void this.#carry(socket),
    );
    this.#awaitDeadline();
  }

  #awaitDeadline(): void {
    const left = this.#options.expires_ms - Date.now();
    if (left <= 0) this.#stop({ why: 'expired' });
    else this.#deadline = setTimeout(() => this.#awaitDeadline(), Math.min(left, LONGEST_TIMER));
  }

  /** @returns where it listens. @throws Error when the address cannot be had */
  listen(at: { host: string; port: number }): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(at.port, at.host, () => {
        this.#server.off('error', reject);
        // A connection that cannot be accepted is none; the next one may be.
        this.#server.on('error', () => {});
        const { address, port } = this.#server.address() as AddressInfo;
        resolve({ host: address, port });
      });
    });
  }

  get tally(): Tally {
    const { total, bytes_up, bytes_down } = this.#past;
    const open = this.#relays.size;
    const tally = { open, total: total + open, bytes_up, bytes_down };
    for (const relay of this.#relays) {
      tally.bytes_up += relay.bytes_up;
      tally.bytes_down += relay.bytes_down;
    }
    return { ...tally, connections_left: this.#connections_left };
  }

  /** Resolves when nothing is carried at that moment. */
  async idle(): Promise<void> {
    while (this.#under_way > 0) {
      this.#idle ??= Promise.withResolvers<void>();
      await this.#idle.promise;
    }
  }

  /** Ends everything at once. */
  stop(): void {
    this.#stop({ why: 'stopped' });
  }

  /** Ends everything at once, since the session is over. */
  fail(refusal: Refusal): void {
    this.#stop({ why: 'refused', refusal });
  }

  async #carry(socket: Socket): Promise<void> {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // What follows is its close.
    socket.on('error', () => {});
    if (this.#over?.why === 'refused') {
      socket.resetAndDestroy();
      return;
    }
    this.#under_way += 1;
    try {
      const connection = await this.#options.dialer.dial();
      this.#note(connection.result.connections_left);
      const relay = new Relay(connection, {
        source: socket,
        sink: socket,
        abort: () => socket.resetAndDestroy(),
      });
      if (this.#over && this.#over.why !== 'used up') {
        relay.run();
        relay.stop();
        return;
      }
      this.#relays.add(relay);
      const { by, code, reason } = await relay.run();
      this.#relays.delete(relay);
      this.#past.total += 1;
      this.#past.bytes_up += relay.bytes_up;
      this.#past.bytes_down += relay.bytes_down;
      if (by === 'worker') this.#ended(code, reason);
    } catch (error) {
      socket.resetAndDestroy();
      if (!(error instanceof SessionRefused)) throw error;
      this.#refused(error.refusal);
    } finally {
      this.#under_way -= 1;
      if (this.#under_way === 0) {
        this.#idle?.resolve();
        this.#idle = undefined;
        this.#settle();
      }
    }
  }

  /** At 0 nobody else is let in; those that are there go on. */
  #note(connections_left: number): void {
    if (connections_left < 0) return;
    const known = this.#connections_left;
    // Answers to connections of the same moment come in any order.
    this.#connections_left = known < 0 ? connections_left : Math.min(known, connections_left);
    if (this.#connections_left > 0) return;
    this.#over ??= { why: 'used up' };
    this.#server.close();
  }

  #ended(code: number, reason: string): void {
    if (isOrderly(code)) this.#options.onWorkerEnd();
    else this.#refused(refusalOfClose(code, reason));
  }

  #refused(refusal: Refusal): void {
    if (this.#over) return;
    if (!refusal.is_final) {
      // Whoever is told of the end can find out why, and say that.
      if (refusal.kind !== 'cut') this.#options.onRefusal(refusal);
      if (refusal.kind === 'cut' || refusal.kind === 'broken off') this.#options.onWorkerEnd();
      return;
    }
    this.#over = { why: 'refused', refusal };
    this.#server.close();
  }

  #stop(end: ProxyEnd): void {
    if (!this.#over || this.#over.why === 'used up') this.#over = end;
    this.#server.close();
    for (const relay of this.#relays) relay.stop();
    for (const socket of this.#sockets) socket.destroy();
    this.#settle();
  }

  #settle(): void {
    if (!this.#over) return;
    clearTimeout(this.#deadline);
    this.#end.resolve(this.#over);
  }
}

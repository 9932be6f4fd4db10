import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type WebSocket from 'ws';
import type { RawData } from 'ws';
import { type ClosedReason, TOFU_LENGTH } from '../../broker/sessions/connections/connection.ts';
import { Failure } from '../../core/failure.ts';
import type { HopDesk, Reached } from '../hops/desk.ts';
import type { Traffic, Upstream } from '../upstream.ts';
import {
  ACTIVATION_FAILED,
  ACTIVATION_REFUSED,
  CANCEL_FAILED,
  type Closing,
  DONE,
  INVALID_HANDSHAKE,
  INVALID_TOFU,
  NO_PROXYING,
  NOT_AUTHORIZED,
  NOT_ESTABLISHED,
  SESSION_CANCELED,
  TOFU_NOT_ALLOWED,
} from '../wire/close-codes.ts';
import { decodeClientHandshake, encodeHandshakeResult } from '../wire/handshake.ts';
import type { CarriedSession } from './carried-session.ts';
import { dial, leave } from './endpoint.ts';

/** A client that has proved itself has so long for its first message. */
const FIRST_MESSAGE_MS = 60_000;

/** What comes of a connection: told to the server when it is over. */
interface Ending {
  closing: Closing;
  reason: ClosedReason;
}

const NETWORK_ERROR: Ending = { closing: DONE, reason: 'network error' };

/**
 * One connection of a session on its way from a client to the endpoint: hand-shake, permission,
 * dialling, then bytes both ways until either side ends.
 *
 * @see B-84
 */
export class CarriedConnection {
  readonly session: CarriedSession;
  readonly #ws: WebSocket;
  /** What the WebSocket runs on. */
  readonly #secure: TLSSocket;
  readonly #upstream: Upstream;
  readonly #hops: HopDesk;
  readonly #client: { address: string; port: number };
  #connection_id = '';
  #endpoint: Socket | undefined;
  #bytes_up = 0;
  #bytes_down = 0;
  /** What came behind the hand-shake before the endpoint was reached. */
  #early: Buffer[] = [];
  #isPumping = false;
  #ending: Ending | undefined;
  readonly #ended = Promise.withResolvers<void>();

  constructor(
    session: CarriedSession,
    by: { ws: WebSocket; secure: TLSSocket; upstream: Upstream; hops: HopDesk },
  ) {
    const { ws, secure } = by;
    this.session = session;
    this.#ws = ws;
    this.#secure = secure;
    this.#upstream = by.upstream;
    this.#hops = by.hops;
    this.#client = { address: secure.remoteAddress ?? '', port: secure.remotePort ?? 0 };
    ws.on('close', (code) => this.#clientLeft(code));
    // What follows is its close.
    ws.on('error', () => {});
  }

  /** Undefined before it is authorized. */
  get traffic(): Traffic | undefined {
    if (this.#connection_id === '') return undefined;
    return {
      connection_id: this.#connection_id,
      bytes_up: this.#bytes_up,
      bytes_down: this.#bytes_down,
    };
  }

  /** Carries it to its end. Never throws. */
  async run(): Promise<void> {
    try {
      const first = await this.#firstMessage();
      const ending = first ? await this.#begin(first) : closingWith(INVALID_HANDSHAKE);
      if (ending) this.#end(ending);
    } catch {
      this.#end({ closing: NOT_ESTABLISHED, reason: 'system error' });
    }
    await this.#ended.promise;
  }

  /** Ends it from the worker's side: its session is over, or the worker is. */
  cut(reason: ClosedReason): void {
    this.#end({ closing: DONE, reason });
    this.#ws.terminate();
    this.#endpoint?.destroy();
  }

  /** The first message; what comes after it waits. */
  #firstMessage(): Promise<Buffer | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), FIRST_MESSAGE_MS);
      let isFirst = true;
      this.#ws.on('message', (data, isBinary) => {
        const bytes = bytesOf(data);
        if (!isFirst) {
          this.#take(bytes);
          return;
        }
        isFirst = false;
        clearTimeout(timer);
        this.#ws.pause();
        resolve(isBinary ? bytes : undefined);
      });
      this.#ended.promise.finally(() => {
        clearTimeout(timer);
        resolve(undefined);
      });
    });
  }

  /** @returns how it ends if it does not go on */
  async #begin(first: Buffer): Promise<Ending | undefined> {
    const handshake = decodeClientHandshake(first);
    if (!handshake) return closingWith(INVALID_HANDSHAKE);
    const { tofu_token, cancels } = handshake;
    if (Buffer.byteLength(tofu_token) !== TOFU_LENGTH) return closingWith(INVALID_TOFU);
    if (cancels) return this.#cancel();
    return (await this.#admit(tofu_token)) ?? (await this.#authorize()) ?? this.#reach();
  }

  async #cancel(): Promise<Ending> {
    try {
      await this.#upstream.cancel({ session_id: this.session.id });
      return { closing: SESSION_CANCELED, reason: 'canceled' };
    } catch {
      return closingWith(CANCEL_FAILED);
    }
  }

  async #admit(tofu_token: string): Promise<Ending | undefined> {
    try {
      const admission = await this.session.admit(tofu_token);
      if (admission === 'other client') return closingWith(TOFU_NOT_ALLOWED);
      return admission === 'admitted' ? undefined : closingWith(ACTIVATION_REFUSED);
    } catch (error) {
      const isOther = error instanceof Failure && error.message.includes(TOFU_NOT_ALLOWED.reason);
      return closingWith(isOther ? TOFU_NOT_ALLOWED : ACTIVATION_FAILED);
    }
  }

  async #authorize(): Promise<Ending | undefined> {
    const { id, facts } = this.session;
    let connections_left: number;
    try {
      const authorized = await this.#upstream.authorize({ session_id: id });
      this.#connection_id = authorized.connection_id;
      connections_left = authorized.connections_left;
    } catch {
      return closingWith(NOT_AUTHORIZED);
    }
    if (this.#ending) {
      await this.#tell(this.#ending.reason);
      return this.#ending;
    }
    const { expires_ms, connection_limit } = facts;
    this.#ws.send(encodeHandshakeResult({ expires_ms, connection_limit, connections_left }));
    return undefined;
  }

  /** Dials the endpoint, says so, and lets the bytes flow. */
  async #reach(): Promise<Ending | undefined> {
    if (this.#ending) return this.#ending;
    const reached = await this.#dial().catch(() => undefined);
    if (!reached) return { closing: NO_PROXYING, reason: 'network error' };
    const { socket: endpoint, address, port } = reached;
    this.#endpoint = endpoint;
    if (this.#ending) {
      endpoint.destroy();
      return this.#ending;
    }
    endpoint.on('error', () => this.#end(NETWORK_ERROR));
    endpoint.on('close', () => this.#end(NETWORK_ERROR));
    try {
      await this.#upstream.connect({
        connection_id: this.#connection_id,
        client_tcp_address: this.#client.address,
        client_tcp_port: this.#client.port,
        endpoint_tcp_address: address,
        endpoint_tcp_port: port,
      });
    } catch {
      endpoint.destroy();
      return closingWith(NOT_ESTABLISHED);
    }
    if (!this.#ending) this.#pump(endpoint);
    return undefined;
  }

  /** Itself, or through a worker that may. @throws Error when that cannot be */
  async #dial(): Promise<Reached> {
    const { dials, endpoint } = this.session.facts;
    if (!dials) return this.#hops.reach(this.#connection_id);
    const socket = await dial(endpoint);
    return { socket, address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 };
  }

  #pump(endpoint: Socket): void {
    this.#isPumping = true;
    const secure = this.#secure;
    endpoint.on('data', (bytes) => {
      if (this.#ending) return;
      this.#bytes_down += bytes.length;
      this.#ws.send(bytes);
      if (secure.writableNeedDrain) endpoint.pause();
    });
    secure.on('drain', () => endpoint.resume());
    endpoint.on('drain', () => this.#ws.resume());
    // All that it has sent is on its way to the client by now, and the close comes behind it.
    endpoint.on('end', () => this.#end(closingWith(DONE)));
    const early = this.#early;
    this.#early = [];
    for (const bytes of early) this.#write(endpoint, bytes);
    if (!endpoint.writableNeedDrain) this.#ws.resume();
  }

  #take(bytes: Buffer): void {
    if (this.#ending) return;
    if (this.#endpoint && this.#isPumping) this.#write(this.#endpoint, bytes);
    else this.#early.push(bytes);
  }

  #write(endpoint: Socket, bytes: Buffer): void {
    this.#bytes_up += bytes.length;
    if (!endpoint.write(bytes)) this.#ws.pause();
  }

  #clientLeft(code: number): void {
    const isOrderly = code === 1000 || code === 1001 || code === 1005;
    this.#end({ closing: DONE, reason: isOrderly ? 'closed by end-user' : 'network error' });
  }

  /** Once; what is on its way to either side is let go through. */
  #end(ending: Ending): void {
    if (this.#ending) return;
    this.#ending = ending;
    const { code, reason } = ending.closing;
    // Paused, it would not see the client's answer.
    this.#ws.resume();
    this.#ws.close(code, reason);
    if (this.#endpoint) leave(this.#endpoint);
    void this.#tell(ending.reason).finally(() => this.#ended.resolve());
  }

  async #tell(reason: ClosedReason): Promise<void> {
    const { traffic } = this;
    if (!traffic) return;
    // What the server does not hear now, it finds out by itself.
    await this.#upstream.close({ ends: [{ ...traffic, reason }] }).catch(() => {});
  }
}

const closingWith = (closing: Closing): Ending => ({ closing, reason: 'unknown' });

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

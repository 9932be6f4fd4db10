import { createConnection, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type WebSocket from 'ws';
import type { RawData } from 'ws';
import { type ClosedReason, TOFU_LENGTH } from '../../broker/sessions/connections/connection.ts';
import { Failure } from '../../core/failure.ts';
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

/** A client that has proved itself has so long for its first message. */
const FIRST_MESSAGE_MS = 60_000;
/** An endpoint that does not answer is given up after this. */
const DIAL_MS = 30_000;
/** What an endpoint has not taken so long after its client has gone is dropped. */
const LINGER_MS = 60_000;
/** After so long without a byte the system asks whether the other machine is still there. */
const KEEP_ALIVE_MS = 30_000;

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
    { ws, secure, upstream }: { ws: WebSocket; secure: TLSSocket; upstream: Upstream },
  ) {
    this.session = session;
    this.#ws = ws;
    this.#secure = secure;
    this.#upstream = upstream;
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
    const endpoint = await dial(this.session.facts.endpoint).catch(() => undefined);
    if (!endpoint) return { closing: NO_PROXYING, reason: 'network error' };
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
        endpoint_tcp_address: endpoint.remoteAddress ?? '',
        endpoint_tcp_port: endpoint.remotePort ?? 0,
      });
    } catch {
      endpoint.destroy();
      return closingWith(NOT_ESTABLISHED);
    }
    if (!this.#ending) this.#pump(endpoint);
    return undefined;
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

/** Lets an endpoint have what it has not taken yet, for a while. */
function leave(endpoint: Socket): void {
  endpoint.resume();
  endpoint.end();
  const timer = setTimeout(() => endpoint.destroy(), LINGER_MS);
  endpoint.once('finish', () => endpoint.destroy());
  endpoint.once('close', () => clearTimeout(timer));
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** Of a session's endpoint, e.g. `tcp://[2001:db8::1]:22`. */
const ENDPOINT = /^[a-z]+:\/\/(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/;

/** @throws Error when the endpoint cannot be reached */
function dial(endpoint: string): Promise<Socket> {
  const [, bracketed, name, port] = ENDPOINT.exec(endpoint) ?? [];
  const host = bracketed ?? name ?? '';
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host, port: Number(port), noDelay: true });
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const timer = setTimeout(() => socket.destroy(new Error('it does not answer')), DIAL_MS);
    socket.once('error', reject);
    socket.once('close', () => clearTimeout(timer));
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type WebSocket from 'ws';
import type { ClosedReason } from '../../broker/sessions/connections/connection.ts';
import { proxySsh } from '../ssh/proxy.ts';
import type { ConnectionEnd, Traffic, Upstream } from '../upstream.ts';
import { CUT_OFF, DONE, NO_PROXYING, NOT_BINARY, NOT_ESTABLISHED } from '../wire/close-codes.ts';
import { encodeHandshakeResult } from '../wire/handshake.ts';
import { admit, authorizeConnection, cancelFor, readHandshake } from './admission.ts';
import type { CarriedSession } from './carried-session.ts';
import { sendBinary, takeBinary } from './client-frames.ts';
import { ClientStream } from './client-stream.ts';
import {
  closingWith,
  type Ending,
  endingOf,
  endingOfClose,
  LEFT,
  NETWORK_ERROR,
  untilRecorded,
} from './ending.ts';
import { breakOff, leave, parseEndpoint, untilClosed, writeTogether } from './endpoint.ts';
import type { Ends } from './ends.ts';
import type { HopDesk } from './hop-desk.ts';
import { beginInjected } from './injected.ts';

/** A client that has proved itself has so long for its first message. */
const FIRST_MESSAGE_MS = 60_000;
/** It is a token of 20 letters and a number. */
const FIRST_MESSAGE_BYTES = 4096;
/** Bytes that are kept of what one side has sent and the other has not taken: then it is not read from. */
const KEPT_BYTES = 256 << 10;
/** A client that has not taken so many bytes yet is not answered when it asks whether the worker is there. */
const UNTAKEN_BYTES = 64 << 10;

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
  readonly #ends: Ends;
  readonly #client: { client_tcp_address: string; client_tcp_port: number };
  #connection_id = '';
  #endpoint: Socket | undefined;
  /** The worker that has brought the endpoint, if that is another one. */
  #through: Pick<ConnectionEnd, 'egress_worker_id'> = {};
  /** Where this side speaks the client's protocol. */
  #stream: ClientStream | undefined;
  #bytes_up = 0;
  #bytes_down = 0;
  /** What came behind the hand-shake before the endpoint was reached. */
  #early: Buffer[] = [];
  #isPumping = false;
  #ending: Ending | undefined;
  /** Where it is recorded: settled once its recording is closed. */
  #recorded: Promise<unknown> | undefined;
  /** The server knows how it ended. */
  #isTold = false;
  readonly #ended = Promise.withResolvers<void>();
  readonly #clientGone: Promise<void>;

  constructor(
    session: CarriedSession,
    by: { ws: WebSocket; secure: TLSSocket; upstream: Upstream; hops: HopDesk; ends: Ends },
  ) {
    const { ws, secure } = by;
    this.session = session;
    this.#ws = ws;
    this.#secure = secure;
    this.#upstream = by.upstream;
    this.#hops = by.hops;
    this.#ends = by.ends;
    this.#clientGone = new Promise((resolve) => ws.once('close', () => resolve()));
    const { remoteAddress = '', remotePort = 0 } = secure;
    this.#client = { client_tcp_address: remoteAddress, client_tcp_port: remotePort };
    ws.on('close', (code) => this.#clientLeft(code));
    // What follows is its close.
    ws.on('error', () => {});
    ws.on('ping', (data) => {
      if (secure.writableLength < UNTAKEN_BYTES) ws.pong(data);
    });
  }

  /** Undefined before it is authorized, and when the server knows of its end. */
  get traffic(): Traffic | undefined {
    if (this.#connection_id === '' || this.#isTold) return undefined;
    return {
      connection_id: this.#connection_id,
      bytes_up: this.#bytes_up,
      bytes_down: this.#bytes_down,
    };
  }

  /** It is over, and so is what it was to carry: that is on its way at most. */
  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** Carries it until both ends are closed and the server knows how it ended. Never throws. */
  async run(): Promise<void> {
    try {
      const ending = await this.#begin(await this.#firstMessage());
      if (ending) this.#end(ending);
    } catch {
      this.#end({ closing: NOT_ESTABLISHED, reason: 'system error' });
    }
    await this.#ended.promise;
    await this.#clientGone;
    if (this.#endpoint) await untilClosed(this.#endpoint);
  }

  /**
   * Ends it from the worker's side: its session is over, or the worker is. What is on its way is lost, so neither
   * side is to take it for an end of what the other was sending.
   */
  cut(reason: ClosedReason): void {
    this.#end({ closing: CUT_OFF, reason }, breakOff);
    this.#ws.terminate();
    if (this.#endpoint) breakOff(this.#endpoint);
  }

  /** The first message; what comes after it waits. */
  #firstMessage(): Promise<Buffer | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), FIRST_MESSAGE_MS);
      let first: Buffer | undefined = Buffer.alloc(0);
      const take = (bytes: Buffer<ArrayBuffer>, isEnd: boolean): void => {
        if (!first) {
          this.#take(bytes);
          return;
        }
        first = Buffer.concat([first, bytes]);
        if (!isEnd && first.length <= FIRST_MESSAGE_BYTES) return;
        clearTimeout(timer);
        this.#ws.pause();
        resolve(first.length > FIRST_MESSAGE_BYTES ? undefined : first);
        first = undefined;
      };
      takeBinary({ ws: this.#ws, secure: this.#secure }, take, () => this.#end(LEFT));
      // No other messages are left than texts.
      this.#ws.on('message', () => {
        if (first) resolve(undefined);
        else this.#end({ closing: NOT_BINARY, reason: 'network error' });
      });
      this.#ended.promise.finally(() => {
        clearTimeout(timer);
        resolve(undefined);
      });
    });
  }

  /** @returns how it ends if it does not go on */
  async #begin(first: Buffer | undefined): Promise<Ending | undefined> {
    const handshake = readHandshake(first);
    if ('closing' in handshake) return handshake;
    if (handshake.cancels) return cancelFor(this.#upstream, this.session.id);
    return (
      (await admit(this.session, handshake.tofu_token)) ??
      (await this.#authorize()) ??
      this.#reach()
    );
  }

  async #authorize(): Promise<Ending | undefined> {
    const { id, facts } = this.session;
    const authorized = await authorizeConnection(this.#upstream, id);
    if ('closing' in authorized) return authorized;
    this.#connection_id = authorized.connection_id;
    if (this.#ending) {
      await this.#tell(this.#ending);
      return this.#ending;
    }
    this.#ws.send(encodeHandshakeResult({ ...facts, ...authorized }));
    return undefined;
  }

  /** Dials the endpoint, says so, and lets the bytes flow. */
  async #reach(): Promise<Ending | undefined> {
    if (this.#ending) return this.#ending;
    const { facts } = this.session;
    // Bytes that client and endpoint encrypt have no recorder, and what is recorded never flows past it.
    if (facts.recording_id !== '' && !facts.injects) return closingWith(NO_PROXYING);
    const reached = await this.#hops.dial(facts, this.#connection_id).catch(() => undefined);
    if (!reached) return { closing: NO_PROXYING, reason: 'network error' };
    const { socket: endpoint, address, port } = reached;
    this.#endpoint = endpoint;
    if (reached.worker_id) this.#through = { egress_worker_id: reached.worker_id };
    if (this.#ending) {
      endpoint.destroy();
      return this.#ending;
    }
    endpoint.on('error', () => facts.injects || this.#end(NETWORK_ERROR));
    endpoint.on('close', () => facts.injects || this.#end(NETWORK_ERROR));
    try {
      await this.#upstream.connect({
        connection_id: this.#connection_id,
        ...this.#client,
        endpoint_tcp_address: address,
        endpoint_tcp_port: port,
      });
    } catch {
      endpoint.destroy();
      return closingWith(NOT_ESTABLISHED);
    }
    if (this.#ending) return this.#ending;
    if (facts.injects) {
      const proxied = this.#proxy(endpoint);
      this.#recorded = facts.recording_id === '' ? undefined : proxied;
      return proxied;
    }
    this.#pump(endpoint);
    return undefined;
  }

  /** Logs in at the endpoint for the client, and speaks SSH with both. */
  async #proxy(endpoint: Socket): Promise<Ending> {
    const { id, facts } = this.session;
    const onFailure = (): void => this.cut('system error');
    const begun = { session_id: id, connection_id: this.#connection_id, facts, onFailure };
    const { watcher, grant } = await beginInjected(this.#upstream, begun);
    if (this.#ending) {
      await watcher?.close({ reason: this.#ending.reason });
      return this.#ending;
    }
    const client = new ClientStream(this.#ws, this.#secure, (bytes) => {
      this.#bytes_down += bytes;
    });
    this.#stream = client;
    for (const bytes of this.#early.splice(0)) this.#take(bytes);
    const { host: name } = parseEndpoint(facts.endpoint);
    const end = await proxySsh({ client, endpoint, name }, grant, watcher);
    await client.untilSent();
    return endingOf(end);
  }

  #pump(endpoint: Socket): void {
    this.#isPumping = true;
    endpoint.on('data', (bytes: Buffer) => {
      if (this.#ending) return;
      this.#bytes_down += bytes.length;
      sendBinary({ ws: this.#ws, secure: this.#secure }, bytes);
      if (this.#secure.writableLength >= KEPT_BYTES) endpoint.pause();
    });
    this.#secure.on('drain', () => endpoint.resume());
    endpoint.on('drain', () => this.#ws.resume());
    // All that it has sent is on its way to the client by now, and the close comes behind it.
    endpoint.on('end', () => this.#end(closingWith(DONE)));
    for (const bytes of this.#early.splice(0)) this.#write(endpoint, bytes);
    if (endpoint.writableLength < KEPT_BYTES) this.#ws.resume();
  }

  #take(bytes: Buffer): void {
    if (this.#ending) return;
    if (this.#stream) {
      this.#bytes_up += bytes.length;
      this.#stream.receive(bytes);
    } else if (this.#endpoint && this.#isPumping) this.#write(this.#endpoint, bytes);
    else this.#early.push(bytes);
  }

  #write(endpoint: Socket, bytes: Buffer): void {
    this.#bytes_up += bytes.length;
    writeTogether(endpoint, bytes);
    if (endpoint.writableLength >= KEPT_BYTES) this.#ws.pause();
  }

  #clientLeft(code: number): void {
    this.#stream?.destroy();
    this.#end(endingOfClose(code));
  }

  /** Once; unless told otherwise what is on its way to either side is let go through. */
  #end(ending: Ending, part: (endpoint: Socket) => void = leave): void {
    if (this.#ending) return;
    this.#ending = ending;
    // Paused, it would not see the client's answer.
    this.#ws.resume();
    this.#ws.close(ending.closing.code, ending.closing.reason);
    if (this.#endpoint) part(this.#endpoint);
    void untilRecorded(this.#recorded)
      .then(() => this.#tell(ending))
      .finally(() => this.#ended.resolve());
  }

  async #tell({ reason, because }: Ending): Promise<void> {
    if (!this.traffic) return;
    const end = { ...this.traffic, reason, ...this.#through };
    await this.#ends.tell(because ? { ...end, because } : end);
    this.#isTold = true;
  }
}

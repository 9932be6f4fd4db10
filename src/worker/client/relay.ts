import type { Readable, Writable } from 'node:stream';
import type { RawData } from 'ws';
import { isOrderly } from './refusal.ts';
import type { SessionConnection } from './session-stream.ts';

/** What somebody here reads and writes: a socket, or standard input and output. */
export interface LocalEnd {
  source: Readable;
  sink: Writable;
  /** Ends it so that it is not taken for the end of what was to come. */
  abort(): void;
}

/** How a connection ended. */
export interface RelayEnd {
  /** Who ended it. */
  by: 'client' | 'worker';
  /** Of the WebSocket's close. */
  code: number;
  reason: string;
}

/** Somebody who has been sent everything and goes on sending is not listened to longer than this. */
const LINGER_MS = 10_000;

/**
 * Carries bytes between a local end and a connection of a session, each side as fast as the other
 * takes them, until either ends.
 */
export class Relay {
  bytes_up = 0;
  bytes_down = 0;
  readonly #connection: SessionConnection;
  readonly #local: LocalEnd;
  readonly #ended = Promise.withResolvers<RelayEnd>();
  #by: RelayEnd['by'] | undefined;
  /** Nobody reads any more. */
  #isDiscarding = false;

  constructor(connection: SessionConnection, local: LocalEnd) {
    this.#connection = connection;
    this.#local = local;
  }

  /** Carries to the end, and returns once the local end has been given everything. */
  run(): Promise<RelayEnd> {
    const { ws, secure } = this.#connection;
    const { source, sink } = this.#local;
    ws.on('message', (data) => this.#down(bytesOf(data)));
    // What follows is its close.
    ws.on('error', () => {});
    ws.on('close', (code, reason) => this.#workerLeft(code, reason.toString()));
    sink.on('drain', () => ws.resume());
    sink.on('error', () => this.#nobodyReads());
    sink.on('close', () => this.#nobodyReads());
    secure.on('drain', () => source.resume());
    source.on('data', (bytes: Buffer) => this.#up(bytes));
    source.on('error', () => this.#clientLeft());
    source.on('end', () => this.#clientLeft());
    source.on('close', () => this.#clientLeft());
    if (source.destroyed || source.readableEnded) this.#clientLeft();
    // Both were made to wait.
    source.resume();
    ws.resume();
    return this.#ended.promise;
  }

  /** Breaks it off. */
  stop(): void {
    this.#by ??= 'client';
    this.#isDiscarding = true;
    this.#connection.ws.resume();
    this.#connection.ws.close(1000);
    this.#local.abort();
  }

  #up(bytes: Buffer): void {
    if (this.#by) return;
    const { ws, secure } = this.#connection;
    this.bytes_up += bytes.length;
    ws.send(bytes);
    if (secure.writableNeedDrain) this.#local.source.pause();
  }

  #down(bytes: Buffer): void {
    this.bytes_down += bytes.length;
    if (this.#isDiscarding) return;
    if (!this.#local.sink.write(bytes)) this.#connection.ws.pause();
  }

  /** All that it has sent is before the close; what is still on its way to it is delivered. */
  #clientLeft(): void {
    if (this.#by) return;
    this.#by = 'client';
    this.#connection.ws.close(1000);
  }

  #nobodyReads(): void {
    this.#isDiscarding = true;
    this.#clientLeft();
    // Paused, it would not see the worker's answer.
    this.#connection.ws.resume();
  }

  #workerLeft(code: number, reason: string): void {
    const end: RelayEnd = { by: this.#by ?? 'worker', code, reason };
    this.#by ??= 'worker';
    const { source, sink } = this.#local;
    // What it sends now goes nowhere; unread, it would have the system break off what was sent to it.
    source.resume();
    // One that nobody reads finishes nothing, and need not close either: standard output does neither.
    if (!isOrderly(code) || this.#isDiscarding) {
      this.#local.abort();
      this.#ended.resolve(end);
      return;
    }
    if (sink.destroyed || sink.writableFinished) {
      this.#ended.resolve(end);
      return;
    }
    const finish = (): void => {
      leave(source);
      this.#ended.resolve(end);
    };
    sink.once('finish', finish);
    sink.once('close', finish);
    sink.end();
  }
}

/** Hears somebody out for a while who has been sent everything. */
function leave(source: Readable): void {
  if (source.destroyed || source.readableEnded) return;
  const timer = setTimeout(() => source.destroy(), LINGER_MS);
  timer.unref();
  source.once('close', () => clearTimeout(timer));
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

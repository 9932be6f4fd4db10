import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type WebSocket from 'ws';
import { sendBinary } from './client-frames.ts';

/** A client that reads slowly has so long for what is on its way to it, once its connection is closed. */
export const CLOSING_MS = 300_000;

/** The client's side of a connection as a stream of bytes, for whoever speaks a protocol with it. */
export class ClientStream extends Duplex {
  readonly #ws: WebSocket;
  readonly #secure: TLSSocket;
  readonly #counts: (bytes: number) => void;

  /** @param counts is told of bytes that are sent */
  constructor(ws: WebSocket, secure: TLSSocket, counts: (bytes: number) => void) {
    super();
    this.#ws = ws;
    this.#secure = secure;
    this.#counts = counts;
  }

  /** What has come from the client. */
  receive(bytes: Buffer): void {
    if (!this.destroyed && !this.push(bytes)) this.#ws.pause();
  }

  override _read(): void {
    this.#ws.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#counts(bytes.length);
    const secure = this.#secure;
    sendBinary({ ws: this.#ws, secure }, bytes);
    if (!secure.writableNeedDrain) {
      done();
      return;
    }
    const goOn = (): void => {
      secure.off('drain', goOn);
      secure.off('close', goOn);
      done();
    };
    secure.on('drain', goOn);
    secure.on('close', goOn);
  }

  /** Returns once all that was written is on its way, or nobody is there to take it: who is late is cut off. */
  async untilSent(): Promise<void> {
    if (this.writableFinished || this.destroyed) return;
    const sent = Promise.withResolvers<void>();
    this.once('finish', sent.resolve);
    this.once('close', sent.resolve);
    const timer = setTimeout(() => {
      this.#ws.terminate();
      this.destroy();
    }, CLOSING_MS);
    await sent.promise;
    clearTimeout(timer);
  }
}

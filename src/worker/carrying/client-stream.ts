import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type WebSocket from 'ws';
import { sendBinary } from './client-frames.ts';

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
}

/** Returns once all that was written is on its way, or nobody is there to take it. */
export function untilSent(stream: ClientStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableFinished || stream.destroyed) {
      resolve();
      return;
    }
    stream.once('finish', resolve);
    stream.once('close', resolve);
  });
}

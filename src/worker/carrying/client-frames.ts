import type { TLSSocket } from 'node:tls';
import type WebSocket from 'ws';
import { BinaryFrames, binaryHead } from '../wire/frames.ts';

/** A client's WebSocket, and what it runs on. */
export interface Client {
  ws: WebSocket;
  secure: TLSSocket;
}

/**
 * Takes the bytes of binary messages past the library, which would wait for whole messages, copy them, and take
 * their masks off byte by byte: half of all that carrying costs. Everything else is the library's: the upgrade,
 * control frames, text, faults and the close. To be called before anything is read of the connection.
 *
 * @param leave called when the client has said that it leaves: it may stay connected for long after that
 */
export function takeBinary(
  { ws, secure }: Client,
  take: (bytes: Buffer<ArrayBuffer>, isEnd: boolean) => void,
  leave: () => void,
): void {
  const listeners = secure.listeners('data');
  if (listeners.length !== 1) throw new TypeError('the library reads the frames');
  secure.removeAllListeners('data');
  const frames = new BinaryFrames({
    piece: take,
    other(bytes) {
      for (const listener of listeners) listener.call(secure, bytes);
      // So it is at once for a close, and not before the next turn for a fault.
      if (ws.readyState === ws.CLOSING) leave();
    },
  });
  secure.on('data', (bytes: Buffer<ArrayBuffer>) => frames.add(bytes));
}

/** Sends bytes as one message, unless the WebSocket is being closed. */
export function sendBinary({ ws, secure }: Client, bytes: Buffer): void {
  if (ws.readyState !== ws.OPEN) return;
  secure.cork();
  secure.write(binaryHead(bytes.length));
  secure.write(bytes);
  secure.uncork();
}

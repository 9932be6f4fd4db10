import type { TLSSocket } from 'node:tls';
import type WebSocket from 'ws';
import { BinaryFrames, binaryHead } from '../wire/frames.ts';

/**
 * Takes the bytes of binary messages past the library, which would wait for whole messages, copy them, and take their
 * masks off byte by byte: half of all that carrying costs. Everything else is the library's: the upgrade, control frames,
 * text, faults and the close. To be called before anything is read of the connection.
 *
 * @param take called with each piece of a binary message, and whether it is the message's last
 */
export function takeBinary(
  secure: TLSSocket,
  take: (bytes: Buffer<ArrayBuffer>, isEnd: boolean) => void,
): void {
  const listeners = secure.listeners('data');
  if (listeners.length !== 1)
    throw new TypeError('one reads the frames, and nothing has been read');
  secure.removeAllListeners('data');
  const frames = new BinaryFrames({
    piece: take,
    other(bytes) {
      for (const listener of listeners) listener.call(secure, bytes);
    },
  });
  secure.on('data', (bytes: Buffer<ArrayBuffer>) => frames.add(bytes));
}

/** Sends bytes as one message, unless the WebSocket is being closed. */
export function sendBinary(ws: WebSocket, secure: TLSSocket, bytes: Uint8Array): void {
  if (ws.readyState !== ws.OPEN) return;
  secure.cork();
  secure.write(binaryHead(bytes.length));
  secure.write(bytes);
  secure.uncork();
}

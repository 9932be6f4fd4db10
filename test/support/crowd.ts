import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Many connections of one address, which do everything at the same moment. */
export interface Crowd {
  readonly sockets: readonly Socket[];
  /** Sends the same on all that are open. */
  say(text: string | Uint8Array): void;
  /** Resolves when most have been answered, or are closed. */
  answered(): Promise<void>;
  leave(): void;
}

/** @param localAddress the clients', in 127.0.0.0/8: each is a party of its own */
export async function gatherCrowd(
  port: number,
  count: number,
  localAddress = '127.0.0.2',
): Promise<Crowd> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
    // Who is turned away is closed.
    return socket.on('error', () => {}).resume();
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return {
    sockets,
    say(text) {
      for (const socket of sockets) if (socket.writable) socket.write(text);
    },
    answered: () => most(sockets),
    leave() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Nine of ten. */
const MOST = 0.9;

function most(sockets: readonly Socket[]): Promise<void> {
  let missing = Math.ceil(sockets.length * MOST);
  return new Promise((resolve) => {
    const count = (): void => {
      missing -= 1;
      if (missing === 0) resolve();
    };
    for (const socket of sockets) {
      if (socket.bytesRead > 0 || socket.closed) count();
      else Promise.race([once(socket, 'data'), once(socket, 'close')]).then(count, count);
    }
  });
}

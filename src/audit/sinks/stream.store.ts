import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { FedRecord, Sink } from './sink.ts';
import { createUnread, type Unread } from './unread.ts';

const CONNECT_MS = 10_000;
/** Bytes that are written at once. */
const PIECE = 65_536;
/** A server that has not read one of them for so long is left, and connected to anew. */
export const WRITE_MS = 30_000;
/** A server has nothing to say, but may repeat what it is sent, and some bytes more. */
const SAID_BYTES = 65_536;
/** How long a server has to end its side, at the end, after it has read all. */
const FINISH_MS = 1_000;

/**
 * A stream has no acknowledgement (RFC 6587 §3.1): what was written waits in the buffers of both systems, and is lost
 * when the connection breaks before the server has read it. The sink remembers how much that may be. A server that ends
 * the connection in good order had read what had come to it, as its system resets the connection otherwise
 * (RFC 1122 §4.2.2.13).
 *
 * @param options.write_ms how long the server has to read what it is sent
 * @param options.unread of a sink that has more than this stream
 */
export function openStream(
  target: NetConnectOpts,
  { write_ms, unread = createUnread() }: { write_ms: number; unread?: Unread },
  encode: (records: readonly FedRecord[]) => string,
): Required<Sink> {
  let socket: Socket | undefined;
  const ending = new AbortController();
  const drop = (): boolean => {
    socket?.destroy();
    socket = undefined;
    return unread.forget();
  };
  const findBreak = (): Error | undefined => {
    if (!socket || (socket.writable && !socket.readableEnded)) return undefined;
    const why = socket.errored?.message ?? 'closed by the other side';
    if (!socket.errored) unread.settleEnded();
    return drop() ? new Error(`the connection broke: ${why}`) : undefined;
  };
  return {
    async put(records) {
      ending.signal.throwIfAborted();
      const broken = findBreak();
      if (broken) throw broken;
      socket ??= await connectStream(target, ending.signal);
      try {
        const bytes = Buffer.from(encode(records));
        await writePieces(socket, bytes, write_ms);
        unread.add(records.at(-1)?.seq ?? 0, bytes.length);
      } catch (error) {
        // The next attempt connects anew.
        drop();
        throw error;
      }
    },
    reopen: () => {},
    close: async () => {
      ending.abort();
      drop();
    },
    reading: {
      sure: unread.sure,
      findBreak,
      async finish() {
        if (!socket || (await endsInOrder(socket))) unread.settleAll();
      },
    },
  };
}

/** @param ending destroys the connection, at whatever point it is */
function connectStream(target: NetConnectOpts, ending: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, signal: ending });
    const timer = setTimeout(() => socket.destroy(new Error('no connection in time')), CONNECT_MS);
    socket.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    // Nothing is to be read; reading on shows when the other side closes.
    socket.on('data', () => {
      if (socket.bytesRead <= SAID_BYTES + socket.bytesWritten) return;
      socket.destroy(new Error('the log server sends more than it is sent'));
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.setKeepAlive(true, CONNECT_MS);
      socket.unref();
      resolve(socket);
    });
  });
}

/** Piece by piece: a server that is slow, but reads, has as long as it takes. */
async function writePieces(socket: Socket, bytes: Buffer, write_ms: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += PIECE) {
    await writeStream(socket, bytes.subarray(at, at + PIECE), write_ms);
  }
}

function writeStream(socket: Socket, bytes: Uint8Array, write_ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (): void => {
      clearTimeout(timer);
      reject(socket.errored ?? new Error('the connection was closed'));
    };
    const timer = setTimeout(() => reject(new Error('what was sent is not read')), write_ms);
    timer.unref();
    socket.once('close', ended);
    socket.write(bytes, (error) => {
      clearTimeout(timer);
      socket.off('close', ended);
      if (error) reject(error);
      else resolve();
    });
  });
}

/** Ends this side. @returns whether the other, which then reads to the end, does the same in time */
function endsInOrder(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    if (socket.closed) return resolve(false);
    const timer = setTimeout(() => resolve(false), FINISH_MS);
    timer.unref();
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(socket.readableEnded && !socket.errored);
    });
    socket.end();
  });
}

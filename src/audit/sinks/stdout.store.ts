import { constants, fstatSync, openSync, write } from 'node:fs';
import { Socket } from 'node:net';
import { encodeSinkLine } from '../sink-line.ts';
import type { Sink } from './sink.ts';

const STDOUT = 1;

/**
 * Lines on standard output. Nobody may read it, or slowly: `process.stdout` would then hold the
 * server, so pipes and sockets are written without waiting, and files in another thread.
 */
export function openStdoutSink(): Sink {
  let socket: Socket | undefined;
  const ending = new AbortController();
  return {
    async put(records) {
      ending.signal.throwIfAborted();
      const text = records.map((record) => `${encodeSinkLine(record)}\n`).join('');
      const found = fstatSync(STDOUT);
      if (!found.isFIFO() && !found.isSocket()) return writeWhole(Buffer.from(text), ending.signal);
      if (!socket || socket.destroyed) socket = openPipe(found.isFIFO());
      await writeSocket(socket, text);
    },
    reopen: () => {},
    async close() {
      ending.abort();
      socket?.destroy();
      socket = undefined;
    },
  };
}

function openPipe(isPipe: boolean): Socket {
  // Opened again, so that not waiting holds for us alone and not for all who have the pipe.
  const flags = constants.O_WRONLY | constants.O_NONBLOCK;
  const fd = isPipe ? openSync('/proc/self/fd/1', flags) : STDOUT;
  const socket = new Socket({ fd, readable: false, writable: true });
  // A broken pipe shows in the write that meets it.
  socket.on('error', () => {});
  socket.unref();
  return socket;
}

function writeSocket(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Given up at the end, a write never calls back.
    const ended = (): void => reject(new Error('standard output was closed'));
    socket.once('close', ended);
    socket.write(text, (error) => {
      socket.off('close', ended);
      if (error) reject(error);
      else resolve();
    });
  });
}

async function writeWhole(bytes: Buffer, ending: AbortSignal): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    ending.throwIfAborted();
    at += await new Promise<number>((resolve, reject) => {
      write(STDOUT, bytes, at, bytes.length - at, null, (error, written) =>
        error ? reject(error) : resolve(written),
      );
    });
  }
}

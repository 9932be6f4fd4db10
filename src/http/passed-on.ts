import type { Server, Socket } from 'node:net';
import { notePassedOn } from '../sockets/peer.ts';
import { startReading, stopReading } from '../sockets/reading.ts';
import { parseProxyHeader } from './proxy-header.ts';

/**
 * Has connections of trusted proxies begin with a header that says whose they are (the PROXY protocol). Whatever comes
 * from others is theirs, and begins with no header. Call after everything else listens to connections.
 *
 * @param isProxy whether a peer is believed
 * @param patience milliseconds in which the header must come
 */
export function readPassedOn(
  server: Server,
  isProxy: (peer: string | undefined) => boolean,
  patience: number,
): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const begin = (socket: Socket): void => {
    for (const listener of listeners) listener.call(server, socket);
  };
  server.on('connection', (socket: Socket) => {
    if (!isProxy(socket.remoteAddress)) {
      begin(socket);
      return;
    }
    readHeader(socket, patience, (client) => {
      if (client !== undefined) notePassedOn(socket, client);
      begin(socket);
    });
  });
}

/** Takes the header off; a connection without a good one is closed. */
function readHeader(
  socket: Socket,
  patience: number,
  whole: (client: string | undefined) => void,
): void {
  let come = Buffer.alloc(0);
  const close = (): void => void socket.destroy();
  const timer = setTimeout(close, patience);
  const forget = (): void => clearTimeout(timer);
  const inspect = (): void => {
    const more: unknown = socket.read();
    if (!Buffer.isBuffer(more)) return;
    come = Buffer.concat([come, more]);
    const header = parseProxyHeader(come);
    if (header === 'incomplete') return;
    if (header === 'malformed') {
      close();
      return;
    }
    forget();
    for (const [event, listener] of Object.entries(while_reading)) socket.off(event, listener);
    stopReading(socket);
    // The stream goes by its listeners of before until this turn is over.
    setImmediate(() => {
      if (socket.destroyed) return;
      startReading(socket);
      whole(header.address);
      // The one who reads it now stands ready.
      const rest = come.subarray(header.length);
      if (rest.length > 0) socket.unshift(rest);
    });
  };
  const while_reading = { readable: inspect, end: close, error: close, close: forget };
  for (const [event, listener] of Object.entries(while_reading)) socket.on(event, listener);
}

/** What sessions lead to in tests: servers of this process on ports of this machine. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Scope } from './node-process.ts';

/** Listens, and lets `serve` talk to whoever comes; all is ended with the test. @returns the port */
export async function startEndpoint(
  scope: Scope,
  serve: (socket: Socket) => void,
): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => open.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.after(async () => {
    server.close();
    for (const socket of open) socket.destroy();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

/** Says what it is told. */
export const echo = (socket: Socket): void => {
  socket.pipe(socket);
};

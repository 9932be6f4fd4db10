/** A port of this machine that leads through a session, for other people's clients. */

import { randomBytes } from 'node:crypto';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { decodeAuthorizationToken } from '../../src/broker/sessions/authorization-token.ts';
import { openSessionStream } from '../../src/worker/client/session-stream.ts';
import type { Scope } from './node-process.ts';

/** Each connection to it is one of the session. */
export async function openSessionPort(test: Scope, authorization_token: string): Promise<number> {
  const session = decodeAuthorizationToken(authorization_token);
  if (!session) throw new Error('no authorization token');
  const [address = ''] = session.worker_addresses;
  const tofu_token = randomBytes(10).toString('hex');
  const sockets = new Set<Socket>();
  const server = createServer(async (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    try {
      const { stream } = await openSessionStream(session, address, tofu_token);
      pipeline(socket, stream, socket, () => {
        stream.destroy();
        socket.destroy();
      });
    } catch {
      socket.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  test.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

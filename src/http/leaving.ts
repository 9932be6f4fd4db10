import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FeedTurns } from '../sockets/feed.ts';
import { partyOfSocket } from '../sockets/peer.ts';

/**
 * Closes connections a few at a time where many are to be closed in the same moment: because their clients have gone,
 * have been idle for too long, or the server closes. Each costs ten microseconds and more, and of one
 * network there may be thousands; by itself the runtime closes them all before anybody else has a turn.
 * Call before anything else listens to connections.
 */
export function closeInTurns(server: Server, secure: boolean, turns: FeedTurns): void {
  const idle = { areClosed: false };
  const closeIdle = server.closeIdleConnections;
  server.closeIdleConnections = () => {
    idle.areClosed = true;
    try {
      closeIdle.call(server);
    } finally {
      idle.areClosed = false;
    }
  };
  const watch = (socket: Socket): void => {
    const { destroy } = socket;
    const close = (error?: Error): void => void destroy.call(socket, error);
    socket.destroy = (error) => {
      if (idle.areClosed) closeIfSilent(socket, turns, close);
      else if (isReset(error)) turns.begin(partyOfSocket(socket), () => close(error));
      else close(error);
      return socket;
    };
  };
  server.on('connection', watch);
  if (secure) server.on('secureConnection', watch);
  // Where somebody listens, the runtime leaves it to them to close.
  server.on('timeout', (socket: Socket) => closeIfSilent(socket, turns, () => socket.destroy()));
}

/** Closes a connection that has long been silent, unless its client asks something before its turn has come. */
function closeIfSilent(socket: Socket, turns: FeedTurns, close: () => void): void {
  const { bytesRead } = socket;
  turns.begin(partyOfSocket(socket), () => {
    if (socket.bytesRead === bytesRead) close();
  });
}

/** Whether it was said by the system that the client is gone. */
const isReset = (error: NodeJS.ErrnoException | undefined): boolean => error?.syscall === 'read';

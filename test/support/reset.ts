import type { Socket } from 'node:net';

/**
 * Breaks a connection off at once. One that is ending already is closed instead: libuv resets no socket that is being
 * shut down, its handle would never close, and the process would not end.
 */
export function reset(socket: Socket): void {
  if (socket.writable) socket.resetAndDestroy();
  else socket.destroy();
}

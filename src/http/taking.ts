import type { Socket } from 'node:net';

/** How far a client had taken what is sent to it when that was looked at, and since when it is so. */
export interface Taking {
  at: number | undefined;
  since: number;
}

/**
 * Notes how far a client has taken what is sent to it. One that has taken all does not stand still: the next piece is
 * being made.
 *
 * @param at undefined for all
 * @returns milliseconds that it has stood still, as far as that was looked at
 */
export function noteTaken(taking: Taking, at: number | undefined, now: number): number {
  if (at !== undefined && at === taking.at) return now - taking.since;
  taking.at = at;
  taking.since = now;
  return 0;
}

/**
 * How much of what was written the system has taken; undefined where it has taken all. Over TLS the socket has written
 * nothing by itself, and it is known all the same.
 */
export function findTaken(socket: Socket): number | undefined {
  const left = socket.writableLength + bytesQueued(socket);
  return left > 0 ? socket.bytesWritten - left : undefined;
}

/** Bytes that a socket has given to the runtime and the system has not taken yet. */
function bytesQueued(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  const queued: unknown =
    typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'writeQueueSize') : 0;
  return typeof queued === 'number' ? queued : 0;
}

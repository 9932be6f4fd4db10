import type { ServerResponse } from 'node:http';

/**
 * Tells once, and never at once, when a client has gone before being answered; also who asks when that is
 * past is told.
 *
 * @returns what takes the listener away again
 */
export function onGone(response: ServerResponse, listener: () => void): () => void {
  if (!response.closed) {
    // Until it is answered a response closes for one reason only.
    response.once('close', listener);
    return () => response.off('close', listener);
  }
  let isWanted = true;
  queueMicrotask(() => {
    if (isWanted) listener();
  });
  return () => {
    isWanted = false;
  };
}

import type { ClosedReason } from '../../broker/sessions/connections/connection.ts';
import type { ProxyEnd } from '../ssh/proxy.ts';
import { type Closing, DONE, ENDPOINT_LOST, NO_PROXYING } from '../wire/close-codes.ts';

/** What comes of a connection: told to the server when it is over. */
export interface Ending {
  closing: Closing;
  reason: ClosedReason;
  /** Where the reason alone does not tell. */
  because?: string | undefined;
}

/** The endpoint is lost. */
export const NETWORK_ERROR: Ending = { closing: ENDPOINT_LOST, reason: 'network error' };

/** The client has said that it leaves. */
export const LEFT: Ending = { closing: DONE, reason: 'closed by end-user' };

/** What comes of one whose client has closed its WebSocket (RFC 6455 §7.4.1), or is gone without that. */
export function endingOfClose(code: number): Ending {
  const isOrderly = code === 1000 || code === 1001 || code === 1005;
  return isOrderly ? LEFT : { closing: DONE, reason: 'network error' };
}

export const closingWith = (closing: Closing): Ending => ({ closing, reason: 'unknown' });

/** What comes of one that spoke SSH. */
export function endingOf({ by, because }: ProxyEnd): Ending {
  switch (by) {
    case 'client':
      return LEFT;
    case 'endpoint':
      return closingWith(DONE);
    case 'refused host key':
      return { closing: NO_PROXYING, reason: 'host key refused', because };
    case 'refused log-in':
      return { closing: NO_PROXYING, reason: 'log-in refused', because };
    case 'fault':
      return { closing: NO_PROXYING, reason: 'network error', because };
  }
}

const RECORDED_MS = 10_000;

/**
 * Waits until a recording is closed, or cannot be, and not for ever: with the last connection of a session its
 * recording ends, and takes no more.
 */
export async function untilRecorded(work: Promise<unknown> | undefined): Promise<void> {
  if (!work) return;
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, RECORDED_MS);
  await Promise.race([work.catch(() => {}), late.promise]);
  clearTimeout(timer);
}

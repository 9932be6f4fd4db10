import { TOFU_LENGTH } from '../../broker/sessions/connections/connection.ts';
import { Failure } from '../../core/failure.ts';
import type { Upstream } from '../upstream.ts';
import {
  ACTIVATION_FAILED,
  ACTIVATION_REFUSED,
  CANCEL_FAILED,
  INVALID_HANDSHAKE,
  INVALID_TOFU,
  NO_WORKER,
  NOT_AUTHORIZED,
  SESSION_CANCELED,
  TOFU_NOT_ALLOWED,
} from '../wire/close-codes.ts';
import { type ClientHandshake, decodeClientHandshake } from '../wire/handshake.ts';
import type { CarriedSession } from './carried-session.ts';
import { closingWith, type Ending } from './ending.ts';

/** What a client says first, or how its connection ends that has said nothing, or nothing of the kind. */
export function readHandshake(first: Uint8Array | undefined): ClientHandshake | Ending {
  const handshake = first && decodeClientHandshake(first);
  if (!handshake) return closingWith(INVALID_HANDSHAKE);
  const isToken = Buffer.byteLength(handshake.tofu_token) === TOFU_LENGTH;
  return isToken ? handshake : closingWith(INVALID_TOFU);
}

/** Cancels a session for its client. @returns how the connection ends that asked for it */
export async function cancelFor(upstream: Upstream, session_id: string): Promise<Ending> {
  try {
    await upstream.cancel({ session_id });
    return { closing: SESSION_CANCELED, reason: 'canceled' };
  } catch {
    return closingWith(CANCEL_FAILED);
  }
}

/** Judges a client by its token. @returns how its connection ends; undefined when it goes on */
export async function admit(
  session: CarriedSession,
  tofu_token: string,
): Promise<Ending | undefined> {
  try {
    const admission = await session.admit(tofu_token);
    if (admission === 'other client') return closingWith(TOFU_NOT_ALLOWED);
    return admission === 'admitted' ? undefined : closingWith(ACTIVATION_REFUSED);
  } catch (error) {
    const isOther = error instanceof Failure && error.message.includes(TOFU_NOT_ALLOWED.reason);
    return closingWith(isOther ? TOFU_NOT_ALLOWED : ACTIVATION_FAILED);
  }
}

/** Has the server let one more connection in to a session, or says how it ends. */
export async function authorizeConnection(
  upstream: Upstream,
  session_id: string,
): Promise<Awaited<ReturnType<Upstream['authorize']>> | Ending> {
  try {
    return await upstream.authorize({ session_id });
  } catch (error) {
    const isUnavailable = error instanceof Failure && error.kind === 'unavailable';
    return closingWith(isUnavailable ? NO_WORKER : NOT_AUTHORIZED);
  }
}

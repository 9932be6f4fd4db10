/** How a worker ends a WebSocket: a code (RFC 6455 §7.4) and a reason that clients look at. */
export interface Closing {
  code: number;
  reason: string;
}

// Reasons are part of the protocol: clients give up, or tell that a session is in use, by these texts.

export const INVALID_HANDSHAKE: Closing = { code: 1008, reason: 'invalid handshake received' };
export const INVALID_TOFU: Closing = { code: 1003, reason: 'invalid tofu token' };
export const TOFU_NOT_ALLOWED: Closing = { code: 1008, reason: 'tofu token not allowed' };
export const SESSION_CANCELED: Closing = { code: 1000, reason: 'session canceled' };
export const CANCEL_FAILED: Closing = { code: 1011, reason: 'unable to cancel session' };
export const ACTIVATION_REFUSED: Closing = { code: 1011, reason: 'refusing to activate session' };
export const ACTIVATION_FAILED: Closing = { code: 1011, reason: 'unable to activate session' };
export const NOT_AUTHORIZED: Closing = { code: 1011, reason: 'unable to authorize connection' };
/** The server cannot be asked just now. Clients that are told that they are not authorized do not come again. */
export const NO_WORKER: Closing = { code: 1011, reason: 'worker id is empty' };
/** After the hand-shake, too, all messages are binary. */
export const NOT_BINARY: Closing = { code: 1003, reason: 'unexpected frame type' };
/** A code of the protocol's own. */
export const NO_PROXYING: Closing = { code: 3000, reason: 'unable to setup proxying' };
export const NOT_ESTABLISHED: Closing = { code: 1011, reason: 'unable to establish proxy' };
/** The endpoint has not ended what it was sending, but was lost: what has come of it may be half of it. */
export const ENDPOINT_LOST: Closing = { code: 1011, reason: 'endpoint broke off' };
/** By the worker: the session is over, or the worker is. */
export const CUT_OFF: Closing = { code: 1011, reason: 'connection cut off' };
export const DONE: Closing = { code: 1000, reason: 'done' };

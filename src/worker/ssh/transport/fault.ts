import { MESSAGE, readFarewell } from './messages.ts';

/** Why a connection cannot go on, in words that either side may hear. */
export class SshFault extends Error {
  /** For `SSH_MSG_DISCONNECT` (RFC 4253 §11.1). */
  readonly code: number;

  constructor(message: string, code: number = PROTOCOL_ERROR) {
    super(message);
    this.code = code;
  }
}

/** It has left. */
export class PeerEnded extends SshFault {}

/** @param message that came where another one must; undefined at the end */
export function faultInExchange(message: Buffer | undefined): SshFault {
  if (!message) return new PeerEnded('the connection has ended');
  return message[0] === MESSAGE.DISCONNECT
    ? new PeerEnded(`the connection was ended: ${readFarewell(message)}`)
    : new SshFault('another message stands in its key exchange', KEY_EXCHANGE_FAILED);
}

export const PROTOCOL_ERROR = 2;
export const KEY_EXCHANGE_FAILED = 3;
export const MAC_ERROR = 5;
export const HOST_KEY_NOT_VERIFIABLE = 9;
export const BY_APPLICATION = 11;
export const NO_MORE_AUTH_METHODS = 14;

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { partyOf } from '../core/fairness/party.ts';

/** The address at the other end, of a proxy where there is one. */
export const peerOf = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? '';

/** Under what a socket is counted; of one whose client went before it was accepted nothing is known. */
export const partyOfSocket = ({ remoteAddress }: Socket): string => partyOf(remoteAddress ?? '');

/** The same for a connection and for what TLS makes of it, and for no other that is open. */
export const endsOf = (socket: Socket): string =>
  `${socket.remoteAddress}|${socket.remotePort}|${socket.localAddress}`;

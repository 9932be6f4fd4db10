import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { partyOf } from '../core/fairness/party.ts';

/** Who is at the other end of a connection that a proxy passes on, as that has said at its beginning. */
const passedOn = new WeakMap<Socket, string>();

export function notePassedOn(socket: Socket, address: string): void {
  passedOn.set(socket, address);
}

/** What TLS makes of a connection is that client's, too. */
export function sharePassedOn(socket: Socket, secure: Socket): void {
  const address = passedOn.get(socket);
  if (address !== undefined) passedOn.set(secure, address);
}

/** The address at the other end; undefined for one whose client went before it was accepted. */
export const addressOf = (socket: Socket): string | undefined =>
  passedOn.get(socket) ?? socket.remoteAddress;

/** The address at the other end, of a proxy where there is one that does not say who that is. */
export const peerOf = ({ socket }: IncomingMessage): string => addressOf(socket) ?? '';

/** Under what a socket is counted; of one whose client went before it was accepted nothing is known. */
export const partyOfSocket = (socket: Socket): string => partyOf(addressOf(socket) ?? '');

/** The same for a connection and for what TLS makes of it, and for no other that is open. */
export const endsOf = (socket: Socket): string =>
  `${socket.remoteAddress}|${socket.remotePort}|${socket.localAddress}`;

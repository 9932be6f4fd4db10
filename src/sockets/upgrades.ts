import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/** Takes a connection over once its client has asked for another protocol; `head` is what came behind the request. */
type Taking = (request: IncomingMessage, secure: TLSSocket, head: Buffer) => void;

/** Has the upgrades of a server over TLS taken that have no body. */
export function takeUpgrades(server: EventEmitter, take: Taking): void {
  server.on('upgrade', (request: IncomingMessage, given: Duplex, head: Buffer) => {
    const secure = request.socket as TLSSocket;
    // Until a body is there, the runtime hands over a stream that is not the connection and lacks most of what one has.
    if (given === secure) {
      take(request, secure, head);
      return;
    }
    // It fails with the connection, and an error that nobody hears ends the thread and all that it carries.
    given.on('error', () => {});
    refuseUpgrade(secure, '400 Bad Request');
  });
}

/** @param status the code and its words */
export function refuseUpgrade(secure: TLSSocket, status: string): void {
  secure.write(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  // Nothing is read here: whoever stays would not be seen to leave.
  secure.destroySoon();
}

import { createConnection, type LookupFunction, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { KEEP_ALIVE_MS } from '../../sockets/keep-alive.ts';

/** An endpoint that does not answer is given up after this. */
const DIAL_MS = 30_000;
/** What an endpoint has not taken so long after its client has gone is dropped. */
const LINGER_MS = 60_000;
/** What is read of an endpoint after its client has gone, at most. */
const LINGER_BYTES = 16 << 20;

/** Of a session's endpoint, e.g. `tcp://[2001:db8::1]:22`. */
const ENDPOINT = /^[a-z]+:\/\/(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/;

/** Where an endpoint's URL leads to. */
export function parseEndpoint(endpoint: string): { host: string; port: number } {
  const [, bracketed, name, port] = ENDPOINT.exec(endpoint) ?? [];
  return { host: bracketed ?? name ?? '', port: Number(port) };
}

/**
 * @param lookup of its name, if not the system's
 * @throws Error when the endpoint cannot be reached
 */
export function dial(endpoint: string, lookup?: LookupFunction): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({
      ...parseEndpoint(endpoint),
      noDelay: true,
      ...(lookup ? { lookup } : {}),
    });
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const timer = setTimeout(() => socket.destroy(new Error('it does not answer')), DIAL_MS);
    socket.once('error', reject);
    socket.once('close', () => clearTimeout(timer));
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

/**
 * Lets an endpoint have what it has not taken yet, for a while. It is read from until it ends as well: a
 * connection that is closed with something unread is reset, and the other side then loses what it has not read.
 * One that goes on and on is not listened to for long.
 */
export function leave(endpoint: Socket): void {
  const most = endpoint.bytesRead + LINGER_BYTES;
  endpoint.on('data', () => {
    if (endpoint.bytesRead > most) breakOff(endpoint);
  });
  endpoint.resume();
  // Not before it has taken everything: what is dropped after all is broken off. It may have been ended already.
  if (endpoint.writableLength === 0 || endpoint instanceof TLSSocket) endpoint.end();
  else if (endpoint.writable) endpoint.write('', () => endpoint.end());
  const timer = setTimeout(() => breakOff(endpoint), LINGER_MS);
  endpoint.once('close', () => clearTimeout(timer));
}

/**
 * Ends a connection so that its other side does not take that for the end of what was to come: by a reset. What is on
 * its way is lost. One that TLS runs on cannot be reset, and is closed.
 */
export function breakOff(socket: Socket): void {
  // One that is being shut down cannot be reset, and would stay open.
  const isEnding = socket.writableEnded && !socket.writableFinished;
  if (socket.destroyed || isEnding || socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/** When it is closed. */
export async function untilClosed(endpoint: Socket): Promise<void> {
  if (!endpoint.closed) await new Promise((resolve) => endpoint.once('close', resolve));
}

/** Writes bytes; pieces that come in one go are written in one. */
export function writeTogether(endpoint: Socket, bytes: Buffer): void {
  if (endpoint.writableCorked === 0) {
    endpoint.cork();
    setImmediate(() => endpoint.uncork());
  }
  endpoint.write(bytes);
}

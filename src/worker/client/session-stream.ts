import type { Duplex } from 'node:stream';
import {
  checkServerIdentity,
  connect,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import WebSocket, { type ClientOptions, createWebSocketStream } from 'ws';
import type { SessionAuthorization } from '../../broker/sessions/authorization-token.ts';
import { hostOf } from '../../broker/sessions/session-certificate.ts';
import { sessionKey } from '../../broker/sessions/session-key.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { encodePem } from '../../core/pem.ts';
import { KEEP_ALIVE_MS } from '../../sockets/keep-alive.ts';
import {
  decodeHandshakeResult,
  encodeClientHandshake,
  type HandshakeResult,
  PROXY_PATH,
  SUBPROTOCOL,
} from '../wire/handshake.ts';
import { type Refusal, refusalOfClose, refusalOfError } from './refusal.ts';

/** A worker that does not answer is given up after this. */
const PATIENCE_MS = 30_000;
/** A longer message of a WebSocket is no piece of a stream. */
const MESSAGE_BYTES = 4 << 20;
/** An endpoint that takes slowly has as long as a session may last for what is on its way to it. */
const CLOSING_MS = 24 * 3_600_000;

/** A connection through a session whose handshake is over; its WebSocket is paused. */
export interface SessionConnection {
  ws: WebSocket;
  /** What the WebSocket runs on. */
  secure: TLSSocket;
  result: HandshakeResult;
}

/** The same as a stream: bytes both ways. */
export interface SessionStream {
  stream: Duplex;
  result: HandshakeResult;
}

/** Why a worker does not carry a connection. */
export class SessionRefused extends Error {
  /** Of the WebSocket's close; 0 before there was one. */
  readonly code: number;
  readonly refusal: Refusal;

  constructor(code: number, message: string, refusal: Refusal = refusalOfClose(code, message)) {
    super(message);
    this.code = code;
    this.refusal = refusal;
  }
}

export type ReachedSession = Pick<
  SessionAuthorization,
  'session_id' | 'certificate' | 'private_key'
>;

/**
 * Opens one connection through a session.
 *
 * @param address    of the worker, `host:port`
 * @param tofu_token 20 characters, the same for all connections of one client
 * @throws SessionRefused, also when the worker cannot be reached
 */
export async function openConnection(
  session: ReachedSession,
  address: string,
  tofu_token: string,
): Promise<SessionConnection> {
  const { ws, secure, begun } = await openWebSocket(session, address, (ws) => {
    ws.send(encodeClientHandshake({ tofu_token, cancels: false }));
    return firstMessage(ws);
  });
  const result = decodeHandshakeResult(await begun);
  if (!result) {
    ws.terminate();
    throw new SessionRefused(1002, 'the worker’s answer is none');
  }
  return { ws, secure, result };
}

/** The same as a stream. @throws SessionRefused */
export async function openSessionStream(
  session: ReachedSession,
  address: string,
  tofu_token: string,
): Promise<SessionStream> {
  const { ws, result } = await openConnection(session, address, tofu_token);
  const stream = createWebSocketStream(ws);
  // One that was cut waits without end for what it cannot write any more.
  stream.once('end', () => {
    if (ws.readyState === WebSocket.CLOSED) stream.destroy();
  });
  return { stream, result };
}

/** Ends a session, by the client that has used it. @throws SessionRefused */
export async function cancelSession(
  session: ReachedSession,
  address: string,
  tofu_token: string,
): Promise<void> {
  const { ws, begun } = await openWebSocket(session, address, (ws) => {
    ws.send(encodeClientHandshake({ tofu_token, cancels: true }));
    return closeOf(ws);
  });
  const timer = setTimeout(() => ws.terminate(), PATIENCE_MS);
  const { code, reason } = await begun;
  clearTimeout(timer);
  if (code !== 1000) throw new SessionRefused(code, reason);
}

function closeOf(ws: WebSocket): Promise<{ code: number; reason: string }> {
  // What follows is its close.
  ws.on('error', () => {});
  return new Promise((resolve) => {
    ws.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
}

function firstMessage(ws: WebSocket): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const timer = setTimeout(() => ws.terminate(), PATIENCE_MS);
  const closed = (code: number, reason: Buffer): void => {
    reject(new SessionRefused(code, reason.toString()));
  };
  ws.once('message', (data) => {
    clearTimeout(timer);
    ws.off('close', closed);
    // What follows belongs to the stream, whose reader is not there yet.
    ws.pause();
    resolve(Buffer.isBuffer(data) ? data : Buffer.from(data as ArrayBuffer));
  });
  ws.once('close', closed);
  // What follows is its close.
  ws.on('error', () => clearTimeout(timer));
  return promise;
}

/** Its types lack the time for closing. */
const OPTIONS: ClientOptions & { closeTimeout: number } = {
  perMessageDeflate: false,
  handshakeTimeout: PATIENCE_MS,
  maxPayload: MESSAGE_BYTES,
  closeTimeout: CLOSING_MS,
  // Masks keep what a page in a browser sends from looking like a request to whatever stands between
  // (RFC 6455 §10.3). Here nothing stands between, since the connection is encrypted from end to end
  // for two ends that have one key; a mask of zeros spares both of them a pass over every byte.
  generateMask: (mask) => mask.fill(0),
};

/** @param begin called as soon as it is open: before anything that the worker sends is read */
async function openWebSocket<Begun>(
  session: ReachedSession,
  address: string,
  begin: (ws: WebSocket) => Promise<Begun>,
): Promise<{ ws: WebSocket; secure: TLSSocket; begun: Promise<Begun> }> {
  try {
    const secure = await openTls(session, address);
    const ws = new WebSocket(`ws://${address}${PROXY_PATH}`, SUBPROTOCOL, {
      ...OPTIONS,
      createConnection: () => secure,
    });
    return await new Promise((resolve, reject) => {
      ws.once('error', reject);
      ws.once('open', () => resolve({ ws, secure, begun: begin(ws) }));
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    throw new SessionRefused(0, message, refusalOfError(error, address));
  }
}

/**
 * The session's own certificate is all that either side trusts. Read once for a session, since each
 * of its connections would take half a millisecond for it.
 */
const contextOf = memoizeWeak((session: ReachedSession): SecureContext => {
  const certificate = encodePem('CERTIFICATE', session.certificate);
  return createSecureContext({
    cert: certificate,
    key: sessionKey(session.private_key).export({ type: 'pkcs8', format: 'pem' }),
    ca: certificate,
    minVersion: 'TLSv1.3',
  });
});

function openTls(session: ReachedSession, address: string): Promise<TLSSocket> {
  const secure = connect({
    host: hostOf(address),
    port: Number(address.slice(address.lastIndexOf(':') + 1)),
    servername: session.session_id,
    ALPNProtocols: ['http/1.1', session.session_id],
    secureContext: contextOf(session),
    checkServerIdentity: (_host, shown) => checkServerIdentity(session.session_id, shown),
  });
  secure.setNoDelay(true);
  secure.setKeepAlive(true, KEEP_ALIVE_MS);
  return new Promise((resolve, reject) => {
    secure.setTimeout(PATIENCE_MS, () => {
      secure.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }));
    });
    secure.once('error', reject);
    secure.once('secureConnect', () => {
      secure.setTimeout(0);
      secure.off('error', reject);
      resolve(secure);
    });
  });
}

import type { Duplex } from 'node:stream';
import { connect, type TLSSocket } from 'node:tls';
import WebSocket, { createWebSocketStream } from 'ws';
import type { SessionAuthorization } from '../../broker/sessions/authorization-token.ts';
import { hostOf } from '../../broker/sessions/session-certificate.ts';
import { sessionKey } from '../../broker/sessions/session-key.ts';
import { encodePem } from '../../core/pem.ts';
import {
  decodeHandshakeResult,
  encodeClientHandshake,
  type HandshakeResult,
  PROXY_PATH,
  SUBPROTOCOL,
} from '../wire/handshake.ts';

/** A worker that does not answer is given up after this. */
const PATIENCE_MS = 30_000;

/** A connection through a session: bytes both ways. */
export interface SessionStream {
  stream: Duplex;
  result: HandshakeResult;
}

/** Why a worker does not carry a connection. */
export class SessionRefused extends Error {
  /** Of the WebSocket's close; 0 before there was one. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

type Reached = Pick<SessionAuthorization, 'session_id' | 'certificate' | 'private_key'>;

/**
 * Opens one connection through a session.
 *
 * @param address    of the worker, `host:port`
 * @param tofu_token 20 characters, the same for all connections of one client
 * @throws SessionRefused, or Error when the worker cannot be reached
 */
export async function openSessionStream(
  session: Reached,
  address: string,
  tofu_token: string,
): Promise<SessionStream> {
  const ws = await openWebSocket(session, address);
  const answer = firstMessage(ws);
  ws.send(encodeClientHandshake({ tofu_token, cancels: false }));
  const result = decodeHandshakeResult(await answer);
  if (!result) {
    ws.terminate();
    throw new SessionRefused(0, 'the worker’s answer is none');
  }
  const stream = createWebSocketStream(ws);
  // One that was cut waits without end for what it cannot write any more.
  stream.once('end', () => {
    if (ws.readyState === WebSocket.CLOSED) stream.destroy();
  });
  return { stream, result };
}

/** Ends a session, by the client that has used it. @throws SessionRefused */
export async function cancelSession(
  session: Reached,
  address: string,
  tofu_token: string,
): Promise<void> {
  const ws = await openWebSocket(session, address);
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  ws.send(encodeClientHandshake({ tofu_token, cancels: true }));
  const { code, reason } = await closed;
  if (code !== 1000) throw new SessionRefused(code, reason);
}

function firstMessage(ws: WebSocket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    ws.once('message', (data) => {
      // What follows belongs to the stream, whose reader is not there yet.
      ws.pause();
      resolve(Buffer.isBuffer(data) ? data : Buffer.from(data as ArrayBuffer));
    });
    ws.once('close', (code, reason) => reject(new SessionRefused(code, reason.toString())));
    ws.once('error', reject);
  });
}

async function openWebSocket(session: Reached, address: string): Promise<WebSocket> {
  const secure = await openTls(session, address);
  const ws = new WebSocket(`ws://${address}${PROXY_PATH}`, SUBPROTOCOL, {
    createConnection: () => secure,
    perMessageDeflate: false,
    handshakeTimeout: PATIENCE_MS,
  });
  await new Promise<void>((resolve, reject) => {
    ws.once('open', resolve);
    ws.once('error', reject);
  });
  return ws;
}

/** The session's own certificate is all that either side trusts. */
function openTls(session: Reached, address: string): Promise<TLSSocket> {
  const certificate = encodePem('CERTIFICATE', session.certificate);
  const host = hostOf(address);
  const secure = connect({
    host,
    port: Number(address.slice(address.lastIndexOf(':') + 1)),
    servername: session.session_id,
    ALPNProtocols: ['http/1.1', session.session_id],
    cert: certificate,
    key: sessionKey(session.private_key).export({ type: 'pkcs8', format: 'pem' }),
    ca: certificate,
    minVersion: 'TLSv1.3',
  });
  secure.setNoDelay(true);
  return new Promise((resolve, reject) => {
    secure.setTimeout(PATIENCE_MS, () => secure.destroy(new Error('the worker does not answer')));
    secure.once('error', reject);
    secure.once('secureConnect', () => {
      secure.setTimeout(0);
      secure.off('error', reject);
      resolve(secure);
    });
  });
}

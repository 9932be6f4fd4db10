import { ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FeedTurns } from '../sockets/feed.ts';
import { partyOfSocket } from '../sockets/peer.ts';
import { COMMON_HEADERS } from './common-headers.ts';

/** Why the parser gave a connection up; each is answered in the API's own form. */
const REFUSALS: Readonly<Record<string, { status: number; because: string }>> = {
  HPE_INVALID_METHOD: { status: 405, because: 'unsupported operation: the verb is not known' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, because: 'the chunk extensions are too long' },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    because: 'the request line and headers are too long, or too many',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, because: 'the request did not arrive in time' },
};

const NO_HTTP = { status: 400, because: 'the request is not valid HTTP/1.1' };

/**
 * What is sent to a client whose bytes could not be read as a request. Nothing of them is repeated.
 *
 * @param code of the parser's error, e.g. `HPE_INVALID_METHOD`
 */
function clientErrorResponse(code: string | undefined): string {
  const { status, because } = REFUSALS[code ?? ''] ?? NO_HTTP;
  const body = `${JSON.stringify({ errors: [because] })}\n`;
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(COMMON_HEADERS).map(([name, value]) => `${name}: ${value}`),
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

type ClientError = Error & { code?: string };

/**
 * Answers on connections that no request came from, and ends them. Those that are too late are so all at once: how
 * late they are is looked at every few seconds.
 */
export function refuseInTurns(turns: FeedTurns): (error: ClientError, socket: Socket) => void {
  return (error, socket) => {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') refuseClient(error, socket);
    else turns.begin(partyOfSocket(socket), () => refuseClient(error, socket));
  };
}

function refuseClient(error: ClientError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  // In the middle of an answer it would be read as part of that.
  if (socket.writable && !isBeingAnswered(socket)) socket.write(clientErrorResponse(error.code));
  socket.destroy(error);
}

/** Whether an answer is on its way here whose head has left: Node keeps it under this name. */
function isBeingAnswered(socket: Socket): boolean {
  const message: unknown = Reflect.get(socket, '_httpMessage');
  return message instanceof ServerResponse && message.headersSent;
}

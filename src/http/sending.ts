import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { makeFor } from '../core/asking.ts';
import { COMMON_HEADERS } from './common-headers.ts';
import { GatheredRequest } from './request-body.ts';
import type { LongBody } from './route.ts';
import type { Dressed } from './wire/vault.ts';

// How answers leave: when in a turn of the event loop, and in which pieces.

/** The address at the other end, of a proxy where there is one. */
export const peerOf = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? '';

interface Outgoing {
  request: IncomingMessage;
  response: ServerResponse;
  dressed: Dressed;
  /** Whose request it is; absent: the peer's. */
  asker?: string;
}

/** Milliseconds of a turn that sending may take; then others come first. */
const SEND_MS = 5;

/**
 * Sends the answers of one turn of the event loop one after the other at its end. With a client on the
 * same machine that took a third off the CPU time of a read; the likely reason is that each
 * write wakes a sleeping client on this thread's time. Over a network less may be gained.
 */
export function batchSending(sendOne: (outgoing: Outgoing) => void): (outgoing: Outgoing) => void {
  let waiting: Outgoing[] = [];
  const flush = (): void => {
    const batch = waiting;
    const until = performance.now() + SEND_MS;
    let sent = 0;
    for (const outgoing of batch) {
      // The clock is looked at now and then only: a usual batch is of few answers.
      if (sent > 0 && sent % 16 === 0 && performance.now() > until) break;
      sendOne(outgoing);
      sent += 1;
    }
    waiting = batch.slice(sent);
    if (waiting.length > 0) setImmediate(flush);
  };
  return (outgoing) => {
    if (waiting.length === 0) setImmediate(flush);
    waiting.push(outgoing);
  };
}

/** @returns bytes that are kept for the answer besides what the socket holds of it */
export function send(
  request: IncomingMessage,
  response: ServerResponse,
  dressed: Dressed,
  asker = peerOf(request),
): number {
  const { status, body } = dressed;
  const headers: OutgoingHttpHeaders = { ...COMMON_HEADERS, ...dressed.headers };
  if (status !== 204 && status !== 304) {
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body ? body.length : 0;
    if (length !== undefined) headers['content-length'] = length;
  }
  if (dressed.cookies) headers['set-cookie'] = [...dressed.cookies];
  if (leavesRest(request, status)) headers.connection = 'close';
  response.writeHead(status, headers);
  if (request.method === 'HEAD' || body === undefined) response.end();
  // Text is given as text: head and body then leave in one packet and one system call.
  else if (typeof body === 'string') endWithText(response, body);
  else if (!('pieces' in body)) endWithBytes(response, body);
  else if (body.length !== undefined && body.length <= SHORT_BODY) {
    response.end(Buffer.concat([...body.pieces()]));
  } else {
    const pieces = makeFor(asker, unhurried(body));
    pipeline(Readable.from(pieces, { objectMode: false }), response, () => {});
    return body.length === undefined ? PAGE_KEPT : PIECE_KEPT;
  }
  return 0;
}

/** Whether the rest of a request is not read to its end; the connection cannot carry another then. */
function leavesRest(request: IncomingMessage, status: number): boolean {
  if (status === 413) return true;
  if (request instanceof GatheredRequest && request.isSpoilt) return true;
  // A body of no announced length might go on for ever.
  return !request.complete && request.headers['transfer-encoding'] !== undefined;
}

/** Longer text is turned into bytes here: the socket would take three times the room to do it. */
function endWithText(response: ServerResponse, body: string): void {
  response.end(body.length > SHORT_BODY ? Buffer.from(body) : body);
}

/** As text short bytes leave in one system call, too; copying longer ones would cost more than that. */
function endWithBytes(response: ServerResponse, body: Uint8Array): void {
  if (body.length > SHORT_BYTES) response.end(body);
  else {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
    response.end(bytes.toString('latin1'), 'latin1');
  }
}

const SHORT_BYTES = 4096;

/**
 * The pieces of a long body, other work in between: a client that takes them as fast as they
 * are made would otherwise have the event loop to itself.
 */
async function* unhurried(body: LongBody): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of body.pieces()) {
    yield piece;
    await nextTurn();
  }
}

/** Bodies up to this length are sent in one piece, which is quicker. */
const SHORT_BODY = 64 << 10;
/** What is kept of a longer one while it is sent, as a piece that waits. */
const PIECE_KEPT = 32 << 10;
/** And of one that is made while it is sent: a page of the list that it is made of. */
const PAGE_KEPT = 256 << 10;

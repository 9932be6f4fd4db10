import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { LongBody, SizedBody } from '../app/result.ts';
import { makeFor } from '../core/fairness/asking.ts';
import { nextBreath } from '../core/fairness/breath.ts';
import { partyOf } from '../core/fairness/party.ts';
import { SiteTurns } from '../core/fairness/site-turns.ts';
import { peerOf } from '../sockets/peer.ts';
import { endOfTurn } from '../sockets/turn-length.ts';
import { COMMON_HEADERS } from './common-headers.ts';
import { PAGE_KEPT, PIECE_KEPT } from './long-answers.ts';
import { GatheredRequest } from './request-body.ts';
import type { ForwardedBody, SentResponse } from './response.ts';

// How answers leave: when in a turn of the event loop, and in which pieces.

/** An answer on its way to a client. */
export interface Outgoing {
  request: IncomingMessage;
  response: ServerResponse;
  encoded: SentResponse;
  /** Whose request it is; absent: the peer's. */
  asker?: string;
}

/** The clock is read after so many answers only: those of a usual turn are few. */
const BETWEEN_CHECKS = 4;

/**
 * Sends the answers of one turn of the event loop one after the other at its end. With a client on the
 * same machine that took a third off the CPU time of a read; the likely reason is that each
 * write wakes a sleeping client on this thread's time. Over a network less may be gained. Those that have
 * to wait for a later turn, and those that come behind them, go by the sites of those who asked.
 */
export function batchSending(sendOne: (outgoing: Outgoing) => void): (outgoing: Outgoing) => void {
  let fresh: Outgoing[] = [];
  const late = new SiteTurns<Outgoing>();
  let isDue = false;
  const sendAtEnd = (): void => {
    if (isDue) return;
    isDue = true;
    setImmediate(flush);
  };
  const wait = (outgoing: Outgoing): void => {
    late.add(partyOf(outgoing.asker ?? peerOf(outgoing.request)), outgoing);
  };
  const sendLate = (until: number): void => {
    for (let sent = 1; ; sent += 1) {
      const outgoing = late.take();
      if (!outgoing) return;
      sendOne(outgoing);
      if (sent % BETWEEN_CHECKS === 0 && performance.now() > until) return;
    }
  };
  const flush = (): void => {
    const batch = fresh;
    fresh = [];
    isDue = false;
    const until = endOfTurn();
    if (late.isEmpty) for (const outgoing of sendBatch(batch, sendOne, until)) wait(outgoing);
    else {
      for (const outgoing of batch) wait(outgoing);
      sendLate(until);
    }
    if (!late.isEmpty) sendAtEnd();
  };
  return (outgoing) => {
    fresh.push(outgoing);
    sendAtEnd();
  };
}

/** @returns those for which there was no time */
function sendBatch(
  batch: readonly Outgoing[],
  sendOne: (outgoing: Outgoing) => void,
  until: number,
): readonly Outgoing[] {
  let sent = 0;
  for (const outgoing of batch) {
    sendOne(outgoing);
    sent += 1;
    if (sent % BETWEEN_CHECKS === 0 && performance.now() > until) return batch.slice(sent);
  }
  return [];
}

/** @returns bytes that are kept for the answer besides what the socket holds of it */
export function send(
  request: IncomingMessage,
  response: ServerResponse,
  encoded: SentResponse,
  asker = peerOf(request),
): number {
  const { status, body } = encoded;
  const headers: OutgoingHttpHeaders = { ...COMMON_HEADERS, ...encoded.headers };
  if (status !== 204 && status !== 304) {
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body ? body.length : 0;
    if (length !== undefined) headers['content-length'] = length;
  }
  if (encoded.cookies) headers['set-cookie'] = [...encoded.cookies];
  if (leavesRest(request, status)) headers.connection = 'close';
  response.writeHead(status, headers);
  if (request.method === 'HEAD' || body === undefined) response.end();
  // Text is given as text: head and body then leave in one packet and one system call.
  else if (typeof body === 'string') endWithText(response, body);
  else if (!('pieces' in body)) endWithBytes(response, body);
  else if (isShort(body)) response.end(Buffer.concat([...body.pieces()]));
  else {
    const pieces = makeFor(asker, unhurried(body));
    pipeline(Readable.from(pieces, { objectMode: false }), response, () => {});
    return body.length === undefined ? PAGE_KEPT : PIECE_KEPT;
  }
  return 0;
}

const isShort = (body: LongBody | ForwardedBody): body is SizedBody =>
  body.length !== undefined && body.length <= SHORT_BODY;

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
 * The pieces of a long body, each in a turn of whoever asked for it: a client that takes them as fast as they are made
 * would otherwise have the event loop to itself, and so would thousands that take one each.
 */
async function* unhurried(
  body: LongBody | ForwardedBody,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of body.pieces()) {
    await nextBreath();
    yield piece;
  }
}

/** Bodies up to this length are sent in one piece, which is quicker. */
const SHORT_BODY = 64 << 10;

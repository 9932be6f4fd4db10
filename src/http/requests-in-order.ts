import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Counts } from '../core/fairness/counts.ts';
import { type Hold, SharedBytes } from '../core/fairness/shared-bytes.ts';
import { waitsForBody, weighHead } from './head-weight.ts';
import { GatheredRequest } from './request-body.ts';
import { Unattended } from './unattended.ts';

/** A request, and its answer. */
export interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
  /** When it was begun: milliseconds of a clock that only goes on. */
  since: number;
  /** Keeps count of a long head while it is worked on. */
  head?: Hold;
}

/** A connection, and what is asked on it. */
export interface Line {
  readonly socket: Socket;
  readonly party: string;
  /** In their order; those that are answered go at the next check. */
  readonly asked: Asked[];
  /** How many of them are not begun. */
  waiting: number;
}

/** Bytes of requests, whole heads and bodies, that are kept while they come and are worked on. */
const BODY_BYTES = { total: 64 << 20, each: 32 << 20 };
/** What the head of a usual request comes to is not counted: it is what anybody's connection costs anyway. */
const SHORT_HEAD = 4 << 10;
/** Requests that wait for the answers before them, by what each takes. */
const WAITING_BYTES = { total: 32 << 20, each: 8 << 20 };
/** A request that waits takes so much besides its head: the objects that stand for it and for its answer. */
const WAITING = 4 << 10;
/** Requests that may wait on one connection for the answers before them. */
const MAX_PIPELINED = 32;
/** And on all connections of an address: each costs a little again when its connection goes. */
const MAX_WAITING = 2_048;

/**
 * Requests that are begun on each connection one after the other, and what is kept of them meanwhile: the answers before
 * one have left the process by then, so that nobody collects answers here that they do not read.
 */
export class RequestsInOrder {
  /** Bytes kept of requests. */
  readonly bodies = new SharedBytes(BODY_BYTES);
  /** What is done for clients that have gone. */
  readonly unattended = new Unattended();
  /** What is kept of requests that wait on their connections. */
  readonly #queued = new SharedBytes(WAITING_BYTES);
  /** Requests that are not begun, by party. */
  readonly #waiting = new Counts();

  /** Bytes that are kept of requests that wait for others on their connections. */
  get queued(): number {
    return this.#queued.held;
  }

  /** Takes a request, and has it answered when its turn comes. One too many ends the connection. */
  begin(
    line: Line,
    { request, response }: Pick<Asked, 'request' | 'response'>,
    now: number,
    answer: () => void,
  ): void {
    const { asked } = line;
    forgetAnswered(asked);
    const isCrowd = this.#waiting.get(line.party) >= MAX_WAITING;
    if (asked.length >= (isCrowd ? 1 : MAX_PIPELINED)) {
      line.socket.destroy();
      return;
    }
    const before = asked.at(-1);
    const own: Asked = { request, response, since: now };
    asked.push(own);
    if (request instanceof GatheredRequest) {
      request.gather((giveUp) => {
        whenDone(request, response, () => request.release());
        return this.bodies.hold(line.party, giveUp);
      }, before !== undefined);
    }
    if (before) this.#queue(line, own, { before: before.response, answer });
    else this.#answer(line, own, answer);
  }

  /** Its connection is closed. */
  end(line: Line): void {
    this.#wait(line, -line.waiting);
    for (const { request, response } of line.asked.splice(0)) {
      if (response.writableFinished || !(request instanceof GatheredRequest)) continue;
      if (request.work) this.unattended.add(request.asker, request.work);
    }
  }

  /** Until its turn comes it can be given up for others: its client may be the one who holds it up. */
  #queue(
    line: Line,
    own: Asked,
    { before, answer }: { before: ServerResponse; answer: () => void },
  ): void {
    const { request } = own;
    const place = this.#queued.hold(line.party, () => line.socket.destroy());
    this.#wait(line, 1);
    before.once('close', () => {
      place.release();
      // Of a connection that is gone none waits.
      if (line.waiting > 0) this.#wait(line, -1);
      if (line.socket.destroyed) return;
      own.since = performance.now();
      if (request instanceof GatheredRequest) request.begin();
      this.#answer(line, own, answer);
    });
    if (!place.grow(WAITING + weighHead(request))) line.socket.destroy();
  }

  #answer({ party, socket }: Line, own: Asked, answer: () => void): void {
    if (this.#keepHead(party, own)) answer();
    else socket.destroy();
  }

  #wait(line: Line, more: number): void {
    line.waiting += more;
    this.#waiting.add(line.party, more);
  }

  /** @returns whether there is room for it */
  #keepHead(party: string, own: Asked): boolean {
    const { request, response } = own;
    const bytes = weighHead(request);
    if (bytes <= SHORT_HEAD) return true;
    const hold = this.bodies.hold(party, () => request.socket.destroy());
    if (!hold.grow(bytes)) return false;
    // Work on it begins at once, or soon: but where a body has to come first that may take its time.
    if (request.complete || !waitsForBody(request)) hold.settle();
    else request.once('end', () => hold.settle());
    own.head = hold;
    whenDone(request, response, () => hold.release());
    return true;
  }
}

/** Answers go out in the order of the requests. A listener for each would cost a tenth of a read. */
export function forgetAnswered(asked: Asked[]): void {
  while (asked[0]?.response.writableFinished || asked[0]?.response.closed) asked.shift();
}

/**
 * Who does not take an answer holds no room for requests with what was asked: its body is of no more use, and its head is
 * counted with the answer, which can be given up for others.
 *
 * @returns bytes of the head
 */
export function letGoOfRequest(own: Asked | undefined, response: ServerResponse): number {
  if (own?.response !== response) return 0;
  const { request, head } = own;
  if (request instanceof GatheredRequest && request.complete) request.release();
  if (!head) return 0;
  head.release();
  return weighHead(request);
}

/** Once a request is answered, or its client has gone, and nothing is done for it any more. */
function whenDone(request: IncomingMessage, response: ServerResponse, done: () => void): void {
  const end = (): void => {
    const work = request instanceof GatheredRequest ? request.work : undefined;
    if (work) work.then(done, done);
    else done();
  };
  // What is begun for a client that has gone ends no sooner than what is done now.
  if (response.closed) queueMicrotask(end);
  else response.once('close', end);
}

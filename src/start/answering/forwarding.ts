import { doRequest, makeFor } from '../../core/fairness/asking.ts';
import { partyOf } from '../../core/fairness/party.ts';
import type { SharedBytes } from '../../core/fairness/shared-bytes.ts';
import type { Door, RequestHandler } from '../../http/frame.ts';
import { beginInTurn, goOnInTurn } from '../../http/in-turn.ts';
import type { HttpRequest } from '../../http/request.ts';
import { refuseForRoom } from '../../http/request-body.ts';
import type { SentResponse } from '../../http/response.ts';
import type { Dialogue } from './dialogue.ts';
import type { ForwardedAnswer, ForwardedHead, ForwardedPieces } from './messages.ts';

// Requests that are answered in one place go there from the thread that has their connection. What they bring is read
// there first, so that it is bounded where it came in; what they are answered goes back in the pieces in which it is sent.

/** The side that has the connections. */
export class Forwarding {
  readonly #dialogue: Dialogue;
  readonly #requests = new Map<number, HttpRequest>();
  #next = 0;

  constructor(dialogue: Dialogue) {
    this.#dialogue = dialogue;
  }

  /** Has a request answered by the supervisor. @throws Failure `unavailable` when that has ended */
  async forward(request: HttpRequest, door: Door): Promise<SentResponse> {
    const id = this.#next++;
    this.#requests.set(id, request);
    const stop = request.onGone?.(() => this.#dialogue.say({ type: 'gone', request: id }));
    let isInPieces = false;
    try {
      const head = { door, ...headOf(request) };
      const answer = (await this.#dialogue.ask({
        type: 'request',
        request: id,
        head,
      })) as ForwardedAnswer;
      isInPieces = inPieces(answer.body);
      return this.#responseOf(id, answer);
    } finally {
      // Pieces may never be asked for: then it is by its going that the client lets go of them.
      if (!isInPieces) stop?.();
      this.#requests.delete(id);
    }
  }

  /** @throws Failure as `HttpRequest.readBody` */
  async readBody(id: number, limit: number): Promise<Uint8Array> {
    const request = this.#requests.get(id);
    if (!request) throw new TypeError('a body was read of a request that is answered');
    return alone(await request.readBody(limit));
  }

  #responseOf(id: number, { body, cookies, ...rest }: ForwardedAnswer): SentResponse {
    const answer = { ...rest, ...(cookies && { cookies }) };
    if (!inPieces(body)) return { ...answer, body };
    const pieces = (): AsyncGenerator<Uint8Array> => this.#pieces(id);
    const { length, kept } = body;
    return {
      ...answer,
      body: length === undefined ? { length, kept, pieces } : { length, pieces },
    };
  }

  async *#pieces(request: number): AsyncGenerator<Uint8Array> {
    let isWhole = false;
    try {
      for (;;) {
        const piece = (await this.#dialogue.ask({ type: 'piece', request })) as
          | Uint8Array
          | undefined;
        isWhole = piece === undefined;
        if (!piece) return;
        yield piece;
      }
    } finally {
      // Whoever waits for the rest does not any more.
      if (!isWhole) this.#dialogue.say({ type: 'let go', request });
    }
  }
}

const headOf = (request: HttpRequest): Omit<ForwardedHead, 'door'> => ({
  method: request.method,
  url: request.url,
  headers: request.headers,
  raw_headers: request.raw_headers,
  remote_address: request.remote_address,
  has_come: request.hasCome(),
});

const inPieces = (body: ForwardedAnswer['body']): body is ForwardedPieces =>
  typeof body === 'object' && !(body instanceof Uint8Array);

/** In memory of their own: with a part of something longer all of that would be copied to the other thread. */
const alone = (bytes: Uint8Array): Uint8Array =>
  bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);

/** Shorter bodies go in one piece. */
const SHORT = 64 << 10;

/** What of a request stays with the supervisor while it is answered, or its answer taken. */
interface Kept {
  gone: Set<() => void>;
  is_gone: boolean;
  pieces: AsyncIterator<Uint8Array> | undefined;
}

/** Who answers a target, by the door by which it was asked for. */
export type Handlers = Readonly<Record<Door, (target: string) => RequestHandler>>;

/** The supervisor's side, for one thread. */
export class Forwarded {
  readonly #dialogue: Dialogue;
  readonly #handlers: Handlers;
  /** Where bytes are counted that are made of bodies. */
  readonly #bodies: SharedBytes;
  readonly #requests = new Map<number, Kept>();

  constructor(dialogue: Dialogue, handlers: Handlers, bodies: SharedBytes) {
    this.#dialogue = dialogue;
    this.#handlers = handlers;
    this.#bodies = bodies;
  }

  /** Requests that are answered now, and answers that are taken. */
  get count(): number {
    return this.#requests.size;
  }

  async answer(id: number, { door, ...head }: ForwardedHead): Promise<ForwardedAnswer> {
    const kept: Kept = { gone: new Set(), is_gone: false, pieces: undefined };
    this.#requests.set(id, kept);
    const hold = this.#bodies.hold(partyOf(head.remote_address), () => {});
    hold.settle();
    try {
      const request: HttpRequest = {
        ...head,
        readBody: async (limit) => {
          const asked = { type: 'read body', request: id, limit } as const;
          return goOnInTurn((await this.#dialogue.ask(asked)) as Uint8Array);
        },
        hasCome: () => head.has_come,
        keep(bytes) {
          if (!hold.grow(bytes)) throw refuseForRoom();
        },
        onGone: (listener) => onGone(kept, listener),
      };
      const handler = this.#handlers[door](head.url);
      const response = await doRequest(head.remote_address, () =>
        beginInTurn(request, () => handler.handle(request)),
      );
      return await this.#sendOff(kept, response, head);
    } finally {
      hold.release();
      if (!kept.pieces) this.#requests.delete(id);
    }
  }

  async piece(id: number): Promise<Uint8Array | undefined> {
    const kept = this.#requests.get(id);
    const next = await kept?.pieces?.next();
    if (next && !next.done) return alone(next.value);
    this.#requests.delete(id);
    return undefined;
  }

  gone(id: number): void {
    const kept = this.#requests.get(id);
    if (!kept) return;
    kept.is_gone = true;
    for (const listener of kept.gone) listener();
    // Nobody asks for the rest of what is answered already.
    if (kept.pieces) this.letGo(id);
  }

  letGo(id: number): void {
    const kept = this.#requests.get(id);
    this.#requests.delete(id);
    void kept?.pieces?.return?.().catch(() => {});
  }

  /** The thread has ended: nobody waits for anything. */
  end(): void {
    for (const id of [...this.#requests.keys()]) {
      this.gone(id);
      this.letGo(id);
    }
  }

  async #sendOff(
    kept: Kept,
    response: SentResponse,
    { method, remote_address }: Pick<ForwardedHead, 'method' | 'remote_address'>,
  ): Promise<ForwardedAnswer> {
    const { status, headers, cookies, body } = response;
    const answer = { status, headers, cookies };
    if (body instanceof Uint8Array) return { ...answer, body: alone(body) };
    if (body === undefined || typeof body === 'string') return { ...answer, body };
    if (body.length !== undefined && body.length <= SHORT && method !== 'HEAD') {
      const pieces: Uint8Array[] = [];
      for await (const piece of body.pieces()) pieces.push(piece);
      return { ...answer, body: Buffer.concat(pieces) };
    }
    // Of a HEAD, and of whoever has gone, no piece is asked for.
    if (method !== 'HEAD' && !kept.is_gone) {
      kept.pieces = makeFor(remote_address, eachOf(body.pieces()))[Symbol.asyncIterator]();
    }
    const memory = body.length === undefined ? body.kept : undefined;
    return { ...answer, body: { length: body.length, kept: memory } };
  }
}

async function* eachOf(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

function onGone(kept: Kept, listener: () => void): () => void {
  kept.gone.add(listener);
  if (kept.is_gone) queueMicrotask(() => kept.gone.has(listener) && listener());
  return () => kept.gone.delete(listener);
}

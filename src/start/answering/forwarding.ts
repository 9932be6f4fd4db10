import { doRequest } from '../../core/fairness/asking.ts';
import { partyOf } from '../../core/fairness/party.ts';
import type { SharedBytes } from '../../core/fairness/shared-bytes.ts';
import type { Door, RequestHandler } from '../../http/frame.ts';
import type { HttpRequest } from '../../http/request.ts';
import { refuseForRoom } from '../../http/request-body.ts';
import type { SentResponse } from '../../http/response.ts';
import type { Dialogue } from './dialogue.ts';
import type { ForwardedAnswer, ForwardedHead } from './messages.ts';

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
    try {
      const head = { door, ...headOf(request) };
      const answer = await this.#dialogue.ask({ type: 'request', request: id, head });
      return this.#responseOf(id, answer as ForwardedAnswer);
    } finally {
      stop?.();
      this.#requests.delete(id);
    }
  }

  /** @throws Failure as `HttpRequest.readBody` */
  readBody(id: number, limit: number): Promise<Uint8Array> {
    const request = this.#requests.get(id);
    if (!request) throw new TypeError('a body was read of a request that is answered');
    return request.readBody(limit);
  }

  #responseOf(id: number, { body, cookies, ...rest }: ForwardedAnswer): SentResponse {
    const answer = { ...rest, ...(cookies && { cookies }) };
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
      return { ...answer, body };
    }
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

  async answer(id: number, { door, ...head }: ForwardedHead): Promise<ForwardedAnswer> {
    const kept: Kept = { gone: new Set(), is_gone: false, pieces: undefined };
    this.#requests.set(id, kept);
    const hold = this.#bodies.hold(partyOf(head.remote_address), () => {});
    hold.settle();
    try {
      const request: HttpRequest = {
        ...head,
        readBody: async (limit) =>
          (await this.#dialogue.ask({ type: 'read body', request: id, limit })) as Uint8Array,
        hasCome: () => head.has_come,
        keep(bytes) {
          if (!hold.grow(bytes)) throw refuseForRoom();
        },
        onGone: (listener) => onGone(kept, listener),
      };
      const handler = this.#handlers[door](head.url);
      const response = await doRequest(head.remote_address, () => handler.handle(request));
      return await this.#sendOff(kept, response);
    } finally {
      hold.release();
      if (!kept.pieces) this.#requests.delete(id);
    }
  }

  async piece(id: number): Promise<Uint8Array | undefined> {
    const kept = this.#requests.get(id);
    const next = await kept?.pieces?.next();
    if (next && !next.done) return next.value;
    this.#requests.delete(id);
    return undefined;
  }

  gone(id: number): void {
    const kept = this.#requests.get(id);
    if (!kept) return;
    kept.is_gone = true;
    for (const listener of kept.gone) listener();
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

  async #sendOff(kept: Kept, response: SentResponse): Promise<ForwardedAnswer> {
    const { status, headers, cookies, body } = response;
    const answer = { status, headers, cookies };
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
      return { ...answer, body };
    }
    if (body.length !== undefined && body.length <= SHORT) {
      const pieces: Uint8Array[] = [];
      for await (const piece of body.pieces()) pieces.push(piece);
      return { ...answer, body: Buffer.concat(pieces) };
    }
    kept.pieces = eachOf(body.pieces());
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

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { SharedBytes } from '../../core/fairness/shared-bytes.ts';
import type { RequestHandler } from '../../http/frame.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { SentResponse } from '../../http/response.ts';
import { Dialogue } from './dialogue.ts';
import { Forwarded, Forwarding, type Handlers } from './forwarding.ts';

/** Both sides, on one thread. */
function connect(t: TestContext, handle: RequestHandler['handle']) {
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  const handler = { handle } as Partial<RequestHandler> as RequestHandler;
  const handlers: Handlers = { api: () => handler, 'relying parties': () => handler };
  const supervisor = new Dialogue(port1, {
    answer: (asked) => {
      if (asked.type === 'request') return forwarded.answer(asked.request, asked.head);
      if (asked.type === 'piece') return forwarded.piece(asked.request);
      throw new TypeError(asked.type);
    },
    hear: (said) => {
      if (said.type === 'gone') forwarded.gone(said.request);
      else if (said.type === 'let go') forwarded.letGo(said.request);
    },
  });
  const forwarded = new Forwarded(supervisor, handlers, new SharedBytes({ total: 100, each: 100 }));
  const dialogue = new Dialogue(port2, {
    answer: (asked) => {
      if (asked.type !== 'read body') throw new TypeError(asked.type);
      return forwarding.readBody(asked.request, asked.limit);
    },
    hear: () => {},
  });
  const forwarding = new Forwarding(dialogue);
  return { forwarded, forwarding };
}

/** A request whose client can go. */
function newRequest(given: Partial<HttpRequest> = {}): { request: HttpRequest; go(): void } {
  const listeners = new Set<() => void>();
  const request: HttpRequest = {
    method: 'GET',
    url: '/v1/pki/crl',
    headers: {},
    raw_headers: [],
    remote_address: '192.0.2.1',
    readBody: async () => new Uint8Array(0),
    hasCome: () => true,
    keep: () => {},
    onGone(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    ...given,
  };
  const go = (): void => {
    for (const listener of listeners) listener();
  };
  return { request, go };
}

const LONG = 1 << 20;
const PIECE = 64 << 10;

/** A long list of which each piece is a part. */
const partsOf = (whole: Uint8Array): SentResponse => ({
  status: 200,
  headers: {},
  body: {
    length: whole.length,
    *pieces() {
      for (let at = 0; at < whole.length; at += PIECE) yield whole.subarray(at, at + PIECE);
    },
  },
});

async function piecesOf({ body }: SentResponse): Promise<Uint8Array[]> {
  assert.ok(typeof body === 'object' && !(body instanceof Uint8Array));
  const pieces: Uint8Array[] = [];
  for await (const piece of body.pieces()) pieces.push(piece);
  return pieces;
}

const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

test('parts of what is long are handed on without the rest of it', async (t) => {
  const whole = Uint8Array.from({ length: LONG }, (_, at) => at % 251);
  const { forwarding, forwarded } = connect(t, async () => partsOf(whole));
  const answer = await forwarding.forward(newRequest().request, 'api');
  const pieces = await piecesOf(answer);
  assert.deepEqual(Buffer.concat(pieces), Buffer.from(whole));
  assert.deepEqual(
    pieces.filter(({ buffer, length }) => buffer.byteLength !== length),
    [],
  );
  assert.equal(forwarded.count, 0);
});

test('a short answer, and a body, are handed on without what lies beside them', async (t) => {
  const pool = new Uint8Array(LONG);
  const part = pool.subarray(10, 13);
  const read: Uint8Array[] = [];
  const { forwarding } = connect(t, async (request) => {
    read.push(await request.readBody(10));
    return { status: 200, headers: {}, body: part };
  });
  const { request } = newRequest({ method: 'POST', readBody: async () => part });
  const { body } = await forwarding.forward(request, 'api');
  assert.ok(body instanceof Uint8Array);
  for (const bytes of [body, ...read]) {
    assert.deepEqual([bytes.length, bytes.buffer.byteLength], [3, 3]);
  }
  assert.equal(read.length, 1);
});

test('of an answer of which nobody asks for a piece nothing stays', async (t) => {
  const { forwarding, forwarded } = connect(t, async () => partsOf(new Uint8Array(LONG)));
  const head = newRequest({ method: 'HEAD' });
  const { body } = await forwarding.forward(head.request, 'api');
  assert.equal(typeof body === 'object' && body.length, LONG);
  assert.equal(forwarded.count, 0);

  const left = newRequest();
  await forwarding.forward(left.request, 'api');
  assert.equal(forwarded.count, 1);
  left.go();
  await soon();
  assert.equal(forwarded.count, 0);
});

test('of an answer that is made for nobody any more nothing stays', async (t) => {
  const made = Promise.withResolvers<SentResponse>();
  const { forwarding, forwarded } = connect(t, () => made.promise);
  for (const go of ['client', 'thread'] as const) {
    const asked = newRequest();
    const answering = forwarding.forward(asked.request, 'api');
    await soon();
    if (go === 'client') asked.go();
    else forwarded.end();
    await soon();
    made.resolve(partsOf(new Uint8Array(LONG)));
    await answering;
    assert.equal(forwarded.count, 0, go);
  }
});

test('who goes in the middle of an answer ends its making', async (t) => {
  let isEnded = false;
  const { forwarding, forwarded } = connect(t, async () => ({
    status: 200,
    headers: {},
    body: {
      length: undefined,
      async *pieces() {
        try {
          for (;;) yield new Uint8Array(10);
        } finally {
          isEnded = true;
        }
      },
    },
  }));
  const { request, go } = newRequest();
  const { body } = await forwarding.forward(request, 'api');
  assert.ok(typeof body === 'object' && !(body instanceof Uint8Array));
  let taken = 0;
  for await (const piece of body.pieces()) {
    taken += piece.length;
    if (taken < 50) continue;
    go();
    break;
  }
  await soon();
  assert.deepEqual([isEnded, forwarded.count], [true, 0]);
});

import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The HTTP verb LIST belongs to the Vault API, and Node's parser refuses it before any
 * handler runs. So a request line's `LIST` becomes `LINK` on its way to the parser: the same
 * length, known to it, and used by nobody; the router maps it back.
 *
 * Only a message's first bytes may change, so messages are told apart here: a head ends at an
 * empty line, a body by its Content-Length. After a chunked body the count starts anew at the
 * first packet that begins with a letter of a method; LIST never carries a body itself.
 */
export const LIST_AS_PARSED = 'LINK';

const [L, I, S, T, N, K] = Buffer.from('LISTNK', 'latin1');
const HEAD_END = Buffer.from('\r\n\r\n', 'latin1');
/** Node's own limit is 16 KiB; beyond this the parser has long refused the message. */
const MAX_HEAD = 64 * 1024;

interface Framing {
  /** Bytes of the method seen so far; beyond 4 nothing of it matters any more. */
  position: number;
  /** The method's bytes so far are those of `LIST`. */
  matches: boolean;
  /** Bytes of the head seen in earlier packets; undefined while a body is passing. */
  head: Buffer | undefined;
  /** Bytes of a body still to come; Infinity for a chunked one. */
  body: number;
}

/** Lets `server` accept the verb LIST. Call once, before it listens. */
export function acceptListVerb(server: Server, secure: boolean): void {
  // After the HTTP server's own listener: adding one for `data` then takes the socket back
  // from the native parser, and being first among them comes before the parser.
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
    const framing = startMessage();
    socket.prependListener('data', (chunk: Buffer) => {
      rewriteListVerb(framing, chunk);
    });
  });
}

/** The state of a connection on which nothing has arrived yet. */
export function startMessage(): Framing {
  return { position: 0, matches: true, head: Buffer.alloc(0), body: 0 };
}

/** Changes the method bytes of every `LIST` message that begins in `chunk`, in place. */
export function rewriteListVerb(framing: Framing, chunk: Buffer): void {
  let at = 0;
  while (at < chunk.length) {
    if (framing.head === undefined) {
      if (framing.body === Number.POSITIVE_INFINITY) {
        if (at > 0 || !endsChunkedBody(chunk)) return;
        reset(framing);
        continue;
      }
      const passed = Math.min(framing.body, chunk.length - at);
      framing.body -= passed;
      at += passed;
      if (framing.body === 0) reset(framing);
      continue;
    }
    rewriteMethod(framing, chunk, at);
    const before = framing.head.length;
    const joined =
      before === 0 ? chunk.subarray(at) : Buffer.concat([framing.head, chunk.subarray(at)]);
    const end = joined.indexOf(HEAD_END, Math.max(0, before - 3));
    if (end < 0) {
      framing.head = joined.length > MAX_HEAD ? Buffer.alloc(0) : Buffer.from(joined);
      return;
    }
    at += end + HEAD_END.length - before;
    framing.body = bodyLength(joined.subarray(0, end).toString('latin1'));
    framing.head = undefined;
    if (framing.body === 0) reset(framing);
  }
}

function reset(framing: Framing): void {
  framing.position = 0;
  framing.matches = true;
  framing.head = Buffer.alloc(0);
  framing.body = 0;
}

const WANTED = [L, I, S, T];

function rewriteMethod(framing: Framing, chunk: Buffer, start: number): void {
  for (let at = start; at < chunk.length && framing.position < 4 && framing.matches; at++) {
    // Empty lines before a request line are skipped, as the parser does (RFC 9112 §2.2).
    if (framing.position === 0 && (chunk[at] === 0x0d || chunk[at] === 0x0a)) continue;
    framing.matches = chunk[at] === WANTED[framing.position];
    // No other method begins with `LIS`, so the third byte can change before the fourth is seen.
    if (framing.matches && framing.position === 2 && N !== undefined) chunk[at] = N;
    if (framing.matches && framing.position === 3 && K !== undefined) chunk[at] = K;
    framing.position++;
  }
}

function bodyLength(head: string): number {
  if (/\r\ntransfer-encoding:/i.test(head)) return Number.POSITIVE_INFINITY;
  const length = /\r\ncontent-length:[ \t]*(\d{1,15})[ \t]*(?:\r\n|$)/i.exec(head);
  return length ? Number(length[1]) : 0;
}

/** A packet after a chunked body that begins a new request: `METHOD /`. */
function endsChunkedBody(chunk: Buffer): boolean {
  return /^[A-Z]{3,7} \/[^\r\n]* HTTP\/1\.[01]\r\n/.test(
    chunk.subarray(0, 8192).toString('latin1'),
  );
}

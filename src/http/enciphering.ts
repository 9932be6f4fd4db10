import type { Socket } from 'node:net';

/** Bytes that TLS is given at once: four records (RFC 8446 §5.1). */
const SLICE = 64 << 10;
/** A text of no more characters is surely no longer than that. */
const SHORT_TEXT = SLICE / 4;

type Done = (error?: Error | null) => void;

/**
 * Has TLS take what is written in slices, each when the one before has left. By itself it enciphers a long answer at
 * once, and keeps the room that took until the connection ends: a thousand bytes for each thousand
 * of the longest answer, counted nowhere, of each of thousands of idle connections.
 */
export function encipherInSlices(secure: Socket): void {
  const write = secure._write;
  const writeAll = (pieces: Slices, done: Done): void => {
    const { value, done: isOver } = pieces.next();
    if (isOver) done();
    else {
      const next: Done = (error) => (error ? done(error) : writeAll(pieces, done));
      Reflect.apply(write, secure, [value, 'buffer', next]);
    }
  };
  secure._write = (chunk: unknown, encoding, done) => {
    if (typeof chunk === 'string' && chunk.length <= SHORT_TEXT) {
      write.call(secure, chunk, encoding, done);
    } else writeAll(slicesOf([bytesOf(chunk, encoding)]), done);
  };
  secure._writev = (chunks, done) => {
    const pieces = chunks.map(({ chunk, encoding }) => bytesOf(chunk, encoding));
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    // A head and a short body leave as one record.
    writeAll(slicesOf(length <= SLICE ? [Buffer.concat(pieces)] : pieces), done);
  };
}

type Slices = Generator<Uint8Array, void, undefined>;

function* slicesOf(pieces: readonly Uint8Array[]): Slices {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += SLICE) yield piece.subarray(at, at + SLICE);
  }
}

function bytesOf(chunk: unknown, encoding: BufferEncoding): Uint8Array {
  if (typeof chunk === 'string') return Buffer.from(chunk, encoding);
  if (chunk instanceof Uint8Array) return chunk;
  throw new TypeError('only texts and bytes are sent');
}

/** A longer first message is no client's: usual ones have two thousand bytes at most. */
export const HELLO_BYTES = 16 << 10;

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;

/**
 * Whether a TLS client's first message is there to its end, which may come in several records; also
 * whether what came is none, so that nothing has to be waited for.
 *
 * @see RFC 8446 §4, §5.1
 */
export function isWholeHello(bytes: Uint8Array): boolean {
  let told = 0;
  let expected = Number.POSITIVE_INFINITY;
  const head: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== HANDSHAKE) return true;
    if (at + 5 > bytes.length) return false;
    const length = ((bytes[at + 3] ?? 0) << 8) | (bytes[at + 4] ?? 0);
    const start = at + 5;
    const end = Math.min(start + length, bytes.length);
    for (let n = start; n < end && head.length < 4; n++) head.push(bytes[n] ?? 0);
    if (head.length > 0 && head[0] !== CLIENT_HELLO) return true;
    const [, a, b, c] = head;
    if (a !== undefined && b !== undefined && c !== undefined) {
      expected = 4 + ((a << 16) | (b << 8) | c);
    }
    told += end - start;
    // The last record is to be there to its end: before that nobody reads it.
    if (told >= expected && start + length <= bytes.length) return true;
    at = start + length;
  }
  return false;
}

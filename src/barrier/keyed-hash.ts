import { createHmac, hash } from 'node:crypto';

/** Bytes of a block of SHA-256, and of what comes out of it. */
const BLOCK = 64;
const DIGEST = 32;
/** Data of up to so many bytes is hashed the short way: a token, a name. */
const SHORT = 512;

/**
 * HMAC-SHA-256 with one key, of texts that are mostly short (RFC 2104). Node's own makes two objects of
 * the hash for each, which takes longer than the hashing; each request has its token hashed.
 */
export class KeyedHash {
  readonly #key: Uint8Array;
  /** The key's block as each of the two hashes begins, and room for what follows it. */
  readonly #inner = Buffer.alloc(BLOCK + SHORT, 0x36);
  readonly #outer = Buffer.alloc(BLOCK + DIGEST, 0x5c);

  /** @param key at most 64 bytes; kept, and overwritten with `wipe` */
  constructor(key: Uint8Array) {
    if (key.length > BLOCK) throw new RangeError('a key of more than 64 bytes');
    this.#key = key;
    for (const [at, byte] of key.entries()) {
      this.#inner[at] = byte ^ 0x36;
      this.#outer[at] = byte ^ 0x5c;
    }
  }

  of(data: string | Uint8Array): Buffer {
    if (isLong(data)) return createHmac('sha256', this.#key).update(data).digest();
    this.#hashInner(data);
    return hash('sha256', this.#outer, 'buffer');
  }

  /** The same as a text, which takes half as long as the bytes and then their text. */
  textOf(data: string | Uint8Array, encoding: 'hex' | 'base64url'): string {
    if (isLong(data)) return createHmac('sha256', this.#key).update(data).digest(encoding);
    this.#hashInner(data);
    return hash('sha256', this.#outer, encoding);
  }

  wipe(): void {
    for (const bytes of [this.#key, this.#inner, this.#outer]) bytes.fill(0);
  }

  #hashInner(data: string | Uint8Array): void {
    const length = typeof data === 'string' ? this.#inner.write(data, BLOCK) : this.#put(data);
    // By way of a text: bytes would come in memory of their own, which takes longer than to hash.
    const inner = hash('sha256', this.#inner.subarray(0, BLOCK + length), 'latin1');
    this.#inner.fill(0, BLOCK, BLOCK + length);
    this.#outer.write(inner, BLOCK, 'latin1');
  }

  #put(data: Uint8Array): number {
    this.#inner.set(data, BLOCK);
    return data.length;
  }
}

/** A text's unit takes three bytes at most. */
const isLong = (data: string | Uint8Array): boolean =>
  (typeof data === 'string' ? 3 : 1) * data.length > SHORT;

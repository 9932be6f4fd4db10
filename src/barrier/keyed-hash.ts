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
    // A text's unit takes three bytes at most.
    if ((typeof data === 'string' ? 3 : 1) * data.length > SHORT) {
      return createHmac('sha256', this.#key).update(data).digest();
    }
    const length = typeof data === 'string' ? this.#inner.write(data, BLOCK) : this.#put(data);
    const inner = hash('sha256', this.#inner.subarray(0, BLOCK + length), 'buffer');
    this.#inner.fill(0, BLOCK, BLOCK + length);
    this.#outer.set(inner, BLOCK);
    return hash('sha256', this.#outer, 'buffer');
  }

  wipe(): void {
    for (const bytes of [this.#key, this.#inner, this.#outer]) bytes.fill(0);
  }

  #put(data: Uint8Array): number {
    this.#inner.set(data, BLOCK);
    return data.length;
  }
}

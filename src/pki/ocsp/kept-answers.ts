import type { Revocation } from '../mount-state/revocations.store.ts';

/**
 * A signed answer, and what it was made of besides the request's own bytes and what is configured: whoever
 * keeps answers begins anew when that changes, and none holds a mount state of the past.
 */
export interface KeptAnswer {
  serial: string;
  /** Of that serial number, when the answer was signed. */
  revocation: Revocation | undefined;
  /** How many writes of revocations had ended when that was last looked up. */
  writes: number;
  /** Its thisUpdate, Unix seconds. */
  signed_at: number;
  /** Its nextUpdate, Unix seconds; undefined: it has none. */
  until: number | undefined;
  /** Seconds for which it is kept, where it took long to sign. */
  keeps?: number;
  /** OCSPResponse, DER. */
  body: Uint8Array;
  /** Tells it from other answers. */
  tag: string;
}

/** Answers are kept for this long, in seconds. */
const LIFETIME = 10;

/** Answers with a shorter validity, in seconds, are signed each time. */
const LEAST_VALIDITY = 100 * LIFETIME;

/** Requests of one certificate have about 80 bytes; longer ones are of no ordinary client. */
const LONGEST_REQUEST = 256;

/** What an answer takes besides the bytes of its request and its own. */
const ENTRY_BYTES = 512;

/** Signed answers without a nonce, by the request's bytes or those of its CertID, that take no more than some bytes in all. */
export class KeptAnswers {
  readonly #most: number;
  /** The one that was signed first stands first. */
  readonly #answers = new Map<string, KeptAnswer>();
  #bytes = 0;

  constructor(most_bytes: number) {
    this.#most = most_bytes;
  }

  /**
   * The answer to these bytes, if one was signed a moment ago. Whether the revocation still is what
   * it was is for the caller to say.
   *
   * @param now Unix seconds
   */
  find(mount_id: string, der: Uint8Array, now: number): KeptAnswer | undefined {
    if (der.length > LONGEST_REQUEST) return undefined;
    const key = keyOf(mount_id, der);
    const known = this.#answers.get(key);
    if (!known) return undefined;
    const age = now - known.signed_at;
    if (age >= 0 && age < (known.keeps ?? LIFETIME)) return known;
    this.#forget(key);
    return undefined;
  }

  /** @param validity seconds from thisUpdate to nextUpdate; 0: the answer has no nextUpdate */
  keep(mount_id: string, der: Uint8Array, answer: KeptAnswer, validity: number): void {
    if (der.length > LONGEST_REQUEST || validity < LEAST_VALIDITY) return;
    const key = keyOf(mount_id, der);
    this.#forget(key);
    this.#answers.set(key, answer);
    this.#bytes += weigh(key, answer);
    for (const oldest of this.#answers.keys()) {
      if (this.#bytes <= this.#most) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const known = this.#answers.get(key);
    if (!known) return;
    this.#answers.delete(key);
    this.#bytes -= weigh(key, known);
  }

  get size(): number {
    return this.#answers.size;
  }
}

const weigh = (key: string, { body }: KeptAnswer): number => key.length + body.length + ENTRY_BYTES;

function keyOf(mount_id: string, der: Uint8Array): string {
  const text = Buffer.from(der.buffer, der.byteOffset, der.length).toString('latin1');
  return `${mount_id}/${text}`;
}

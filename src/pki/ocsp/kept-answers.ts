import type { Revocation } from '../revocation/store.ts';

/** A signed answer, and everything that it was made of besides the request's own bytes. */
export interface KeptAnswer {
  /** By identity: both are loaded anew when configuration changes. */
  authority: object;
  config: object;
  serial: string;
  /** Of that serial number, when the answer was signed. */
  revocation: Revocation | undefined;
  /** How many writes of revocations had ended when that was last looked up. */
  writes: number;
  /** Its thisUpdate, Unix seconds. */
  signed_at: number;
  /** OCSPResponse, DER. */
  body: Uint8Array;
}

/** Answers are kept for this long, in seconds. */
const LIFETIME = 10;

/** Answers with a shorter validity, in seconds, are signed each time. */
const LEAST_VALIDITY = 100 * LIFETIME;

/** Requests of one certificate have about 80 bytes; longer ones are of no ordinary client. */
const LONGEST_REQUEST = 256;

/**
 * Signed answers without a nonce, by the request's bytes. With a key and an answer of some
 * hundred bytes each, and at most `most` of them, they take a few megabytes.
 */
export class KeptAnswers {
  readonly #most: number;
  readonly #answers = new Map<string, KeptAnswer>();

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * The answer to these bytes, if one was signed a moment ago of the same authority and
   * configuration. Whether the revocation still is what it was is for the caller to say.
   *
   * @param now Unix seconds
   */
  find(
    mount_id: string,
    der: Uint8Array,
    ground: Pick<KeptAnswer, 'authority' | 'config'>,
    now: number,
  ): KeptAnswer | undefined {
    if (der.length > LONGEST_REQUEST) return undefined;
    const key = keyOf(mount_id, der);
    const known = this.#answers.get(key);
    if (!known) return undefined;
    const age = now - known.signed_at;
    const isCurrent =
      known.authority === ground.authority &&
      known.config === ground.config &&
      age >= 0 &&
      age < LIFETIME;
    if (isCurrent) return known;
    this.#answers.delete(key);
    return undefined;
  }

  /** @param validity seconds from thisUpdate to nextUpdate; 0: the answer has no nextUpdate */
  keep(mount_id: string, der: Uint8Array, answer: KeptAnswer, validity: number): void {
    if (der.length > LONGEST_REQUEST || validity < LEAST_VALIDITY) return;
    const key = keyOf(mount_id, der);
    this.#answers.delete(key);
    if (this.#answers.size >= this.#most) {
      // The one that was signed first.
      const [oldest] = this.#answers.keys();
      if (oldest !== undefined) this.#answers.delete(oldest);
    }
    this.#answers.set(key, answer);
  }

  get size(): number {
    return this.#answers.size;
  }
}

function keyOf(mount_id: string, der: Uint8Array): string {
  const text = Buffer.from(der.buffer, der.byteOffset, der.length).toString('latin1');
  return `${mount_id}/${text}`;
}

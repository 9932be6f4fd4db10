import type { Revocation } from '../mount-state/revocations.store.ts';
import { AnswerRing, hashOf } from './answer-ring.ts';

/** A signed answer, and what it was made of besides the request's own bytes and what is configured. */
export interface KeptAnswer {
  serial: string;
  /** Of that serial number, when the answer was signed. */
  revocation: Pick<Revocation, 'issuer_id' | 'revoked_at_ms' | 'reason'> | undefined;
  /** What writes of revocations had come to when that was last looked up. */
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

/** One that was found again, and where. */
export interface FoundAnswer extends KeptAnswer {
  /** In this thread's own ring; undefined: another thread keeps it. */
  at: number | undefined;
}

/** Answers are kept for this long, in seconds. */
const LIFETIME = 10;

/** Answers with a shorter validity, in seconds, are signed each time. */
const LEAST_VALIDITY = 100 * LIFETIME;

/** Requests of one certificate have about 80 bytes; longer ones are of no ordinary client. */
const LONGEST_REQUEST = 256;

/**
 * Signed answers without a nonce, by the request's bytes or those of its CertID, in memory that the threads of the process
 * share: each keeps its own in a part of it, and finds those of all. What was kept first goes first.
 */
export class KeptAnswers {
  readonly #rings: readonly AnswerRing[];
  readonly #own: AnswerRing;

  /**
   * @param shared the memory of all parts
   * @param of how many threads have a part of it
   * @param own the part of this one: nobody else keeps anything there
   */
  constructor(shared: SharedArrayBuffer, { of, own }: { of: number; own: number }) {
    const length = Math.floor(shared.byteLength / of / PART) * PART;
    const rings = Array.from(
      { length: of },
      (_, at) => new AnswerRing(shared, at * length, length),
    );
    const [mine] = rings.splice(own, 1);
    if (!mine) throw new TypeError('there is no such part');
    this.#own = mine;
    this.#rings = [mine, ...rings];
  }

  /**
   * The answer to these bytes, if one was signed a moment ago. Whether the revocation still is what
   * it was is for the caller to say.
   *
   * @param place what else the answer goes by
   * @param now Unix seconds
   */
  find(place: string, der: Uint8Array, now: number): FoundAnswer | undefined {
    if (der.length > LONGEST_REQUEST) return undefined;
    const key = keyOf(place, der);
    const hash = hashOf(key);
    for (const ring of this.#rings) {
      const found = ring.find(key, hash);
      if (!found) continue;
      const { writes, at, body } = found;
      const told = parseTold(found.told);
      const age = now - told.signed_at;
      if (age < 0 || age >= (told.keeps ?? LIFETIME)) continue;
      if (told.until !== undefined && now >= told.until) continue;
      return { ...told, writes, body, at: ring === this.#own ? at : undefined };
    }
    return undefined;
  }

  /** @param validity seconds from thisUpdate to nextUpdate; 0: the answer has no nextUpdate */
  keep(place: string, der: Uint8Array, answer: KeptAnswer, validity: number): void {
    if (der.length > LONGEST_REQUEST || validity < LEAST_VALIDITY) return;
    const { body, writes, ...told } = answer;
    this.#own.keep(keyOf(place, der), { writes, told: writeTold(told), body });
  }

  /** Notes that an answer is as it should be after so many writes, too. */
  confirm({ at }: FoundAnswer, writes: number): void {
    if (at !== undefined) this.#own.setWrites(at, writes);
  }
}

type Told = Omit<KeptAnswer, 'body' | 'writes'>;

/** Words, which are read more quickly than JSON; none has a space in it, and an empty one says that there is none. */
function writeTold({ signed_at, until, keeps, serial, tag, revocation }: Told): string {
  const known = revocation && [revocation.revoked_at_ms, revocation.reason, revocation.issuer_id];
  return [signed_at, until ?? '', keeps ?? '', serial, tag, ...(known ?? [])].join(' ');
}

function parseTold(told: string): Told {
  const [signed_at, until, keeps, serial = '', tag = '', revoked_at_ms, reason, issuer_id = ''] =
    told.split(' ');
  const revocation =
    revoked_at_ms === undefined
      ? undefined
      : { revoked_at_ms: Number(revoked_at_ms), reason: Number(reason), issuer_id };
  return {
    serial,
    revocation,
    signed_at: Number(signed_at),
    until: until === '' ? undefined : Number(until),
    ...(keeps !== '' && { keeps: Number(keeps) }),
    tag,
  };
}

/** Parts are of whole pages. */
const PART = 4096;

function keyOf(place: string, der: Uint8Array): Uint8Array {
  const of = Buffer.byteLength(place);
  const key = Buffer.allocUnsafe(of + 1 + der.length);
  key.write(place);
  key[of] = 0;
  key.set(der, of + 1);
  return key;
}

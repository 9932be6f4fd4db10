import { timingSafeEqual } from 'node:crypto';
import { Failure } from '../core/failure.ts';
import {
  type EnvelopeContext,
  envelopeKeyId,
  NONCE_LENGTH,
  openEnvelope,
  sealEnvelope,
} from './envelope.ts';
import { KeyedHash } from './keyed-hash.ts';
import {
  copyKeyring,
  dataKey,
  hashKey,
  KEYRING_KEY_RANDOMNESS,
  type Keyring,
  type KeyringRow,
  openKeyring,
  type Purpose,
  wipeKeyring,
  wrapKeyringKey,
} from './keyring.ts';
import { type Listener, tellAll } from './listeners.ts';

/** The keys while they are usable, with those derived from them so far. */
interface Unsealed {
  keyring: Keyring;
  /** By purpose and term. */
  dataKeys: Map<string, Uint8Array>;
  hashKeys: Map<Purpose, KeyedHash>;
  /** Values sealed with the newest term since it was unsealed here, on whatever thread: one number. */
  encryptions: BigInt64Array<SharedArrayBuffer>;
}

/** The keys as they are given to another thread of the process. */
export interface HandedKeys {
  /** A copy, which whoever gets it wipes. */
  keyring: Keyring;
  /** See `Unsealed`. */
  encryptions: SharedArrayBuffer;
}

/**
 * The keys of the running server, and the only place that holds them. Sealed, it holds none:
 * nothing can be opened, sealed or looked up by keyed hash, and every attempt is a Failure
 * `unavailable`. Memory only; what is stored belongs to `store.ts`.
 */
export class Barrier {
  readonly #randomBytes: (length: number) => Uint8Array;
  readonly #onUnseal: Listener[] = [];
  readonly #onSeal: Listener[] = [];
  readonly #onReload: Listener[] = [];
  #unsealed: Unsealed | undefined;
  /** What listeners do that were told last of an unsealing, a sealing or other keys. */
  #unsealing: Promise<void> | undefined;
  #sealing: Promise<void> = Promise.resolve();
  #reloading: Promise<void> = Promise.resolve();
  #sealings = 0;

  constructor(randomBytes: (length: number) => Uint8Array) {
    this.#randomBytes = randomBytes;
  }

  get sealed(): boolean {
    return this.#unsealed === undefined;
  }

  /** How often it was sealed: who unseals has to begin after the last time. */
  get sealings(): number {
    return this.#sealings;
  }

  /** Calls `listener` whenever the server has been unsealed, before the unsealing is answered. */
  onUnseal(listener: Listener): void {
    this.#onUnseal.push(listener);
  }

  /** Calls `listener` whenever the server has been sealed; the keys are gone by then. */
  onSeal(listener: Listener): void {
    this.#onSeal.push(listener);
  }

  /** Calls `listener` when there are other keys than before, before {@link reload} resolves. */
  onReload(listener: Listener): void {
    this.#onReload.push(listener);
  }

  /** The keys for another thread of this process; undefined while sealed. */
  handOver(): HandedKeys | undefined {
    if (!this.#unsealed) return undefined;
    const { keyring, encryptions } = this.#unsealed;
    return { keyring: copyKeyring(keyring), encryptions: encryptions.buffer };
  }

  /** Takes over the keys of the thread that holds them for all, in the place of those before. */
  async follow({ keyring, encryptions }: HandedKeys): Promise<void> {
    const counted = new BigInt64Array(encryptions);
    if (this.#unsealed === undefined) await this.#open(keyring, counted);
    else await this.#replace(this.#unsealed, keyring, counted);
  }

  /**
   * Takes over a keyring: the server is unsealed from here on. One that is already open stays;
   * whoever comes second waits as well until the listeners are done.
   *
   * @param since {@link sealings} when the unsealing began: a sealing that came later stays
   * @returns false if there was one, with nothing opened
   */
  async unseal(keyring: Keyring, since: number): Promise<boolean> {
    if (since !== this.#sealings) {
      wipeKeyring(keyring);
      return false;
    }
    if (this.#unsealed !== undefined) {
      wipeKeyring(keyring);
      await this.#unsealing;
      return true;
    }
    await this.#open(keyring, newCount());
    return true;
  }

  async #open(keyring: Keyring, encryptions: Unsealed['encryptions']): Promise<void> {
    this.#unsealed = { keyring, dataKeys: new Map(), hashKeys: new Map(), encryptions };
    const unsealing = tellAll(this.#onUnseal);
    this.#unsealing = unsealing;
    try {
      await unsealing;
    } finally {
      if (this.#unsealing === unsealing) this.#unsealing = undefined;
    }
  }

  /** Wipes every key: the server is sealed from here on. Whoever comes second waits as well until the listeners are done. */
  seal(): Promise<void> {
    this.#sealings += 1;
    const unsealed = this.#unsealed;
    if (unsealed !== undefined) {
      this.#unsealed = undefined;
      forgetDerived(unsealed);
      wipeKeyring(unsealed.keyring);
      const telling = tellAll(this.#onSeal);
      this.#sealing = telling.catch(() => {});
      return telling;
    }
    return this.#sealing;
  }

  /**
   * Encrypts a value for the column of a row, with the newest generation of the purpose's key.
   *
   * @throws Failure `unavailable` when sealed
   */
  encrypt(purpose: Purpose, place: EnvelopeContext, plaintext: Uint8Array): Uint8Array {
    const unsealed = this.#require();
    const { term } = unsealed.keyring;
    const key = dataKeyOf(unsealed, purpose, term);
    if (key === undefined) throw new Error(`the keyring has no generation ${term}`);
    Atomics.add(unsealed.encryptions, 0, 1n);
    const nonce = this.#randomBytes(NONCE_LENGTH);
    return sealEnvelope({ key, key_id: term, nonce, place, plaintext });
  }

  /**
   * Decrypts what {@link encrypt} made for the same purpose and place. The caller wipes what must
   * not stay in memory.
   *
   * @throws Failure `unavailable` when sealed, or when another node has made a newer generation
   *   that this one has not loaded yet
   * @throws Error if the value was changed or moved
   */
  decrypt(purpose: Purpose, place: EnvelopeContext, sealed: Uint8Array): Uint8Array {
    const unsealed = this.#require();
    const term = envelopeKeyId(sealed);
    if (term === undefined) throw new Error(`${placeText(place)} holds no sealed value`);
    const key = dataKeyOf(unsealed, purpose, term);
    if (key === undefined) {
      throw new Failure('unavailable', 'keys are being renewed, try again', { retry_after: 1 });
    }
    const opened = openEnvelope({ key, place, sealed });
    if (opened === undefined) throw new Error(`${placeText(place)} does not open: it was changed`);
    return opened;
  }

  /**
   * A keyed hash (HMAC-SHA-256) that stays the same for the life of the installation, so rows
   * can be looked up by it. Nobody without the keys can check a guess against it.
   *
   * @throws Failure `unavailable` when sealed
   */
  hmac(purpose: Purpose, data: string | Uint8Array): Buffer {
    return this.#hashOf(purpose).of(data);
  }

  /** As {@link Barrier.hmac}, as a text. */
  hmacText(purpose: Purpose, data: string | Uint8Array, encoding: 'hex' | 'base64url'): string {
    return this.#hashOf(purpose).textOf(data, encoding);
  }

  #hashOf(purpose: Purpose): KeyedHash {
    const { keyring, hashKeys } = this.#require();
    return hashKeys.getOrInsertComputed(purpose, () => new KeyedHash(hashKey(keyring, purpose)));
  }

  /**
   * The newest generation of data keys.
   *
   * @returns its number, when it was made (Unix seconds), and how many values this node has sealed with it by now
   * @throws Failure `unavailable` when sealed
   */
  generation(): { term: number; created_at: number; encryptions: number } {
    const { keyring, encryptions } = this.#require();
    const created_at = keyring.generations.get(keyring.term)?.created_at ?? 0;
    return { term: keyring.term, created_at, encryptions: Number(Atomics.load(encryptions, 0)) };
  }

  /**
   * Makes the next generation of data keys, as a row to be stored. It is in use once
   * {@link reload} is given it back, that is, after it is durable.
   *
   * @param created_at Unix seconds
   * @throws Failure `unavailable` when sealed
   */
  nextGeneration(created_at: number): KeyringRow {
    const { keyring } = this.#require();
    const random = this.#randomBytes(KEYRING_KEY_RANDOMNESS);
    const term = keyring.term + 1;
    return wrapKeyringKey({ root_key: keyring.root_key, use: 'data', term, random, created_at });
  }

  /**
   * Takes the stored keys again, after this node or another one has added some. Whoever finds them taken waits as well
   * until the listeners are done.
   */
  async reload(rows: readonly KeyringRow[]): Promise<void> {
    const unsealed = this.#unsealed;
    if (unsealed === undefined) return;
    const old = unsealed.keyring;
    const isNew = rows.some((row) => row.use === 'data' && !old.generations.has(row.term));
    if (!isNew) return this.#reloading;
    await this.#replace(unsealed, openKeyring(Uint8Array.from(old.root_key), rows), newCount());
  }

  #replace(
    unsealed: Unsealed,
    keyring: Keyring,
    encryptions: Unsealed['encryptions'],
  ): Promise<void> {
    forgetDerived(unsealed);
    wipeKeyring(unsealed.keyring);
    this.#unsealed = { keyring, dataKeys: new Map(), hashKeys: new Map(), encryptions };
    const telling = tellAll(this.#onReload);
    this.#reloading = telling.catch(() => {});
    return telling;
  }

  /**
   * Whether these bytes are the root key in use, compared in constant time.
   *
   * @throws Failure `unavailable` when sealed
   */
  holdsRootKey(candidate: Uint8Array): boolean {
    const { root_key } = this.#require().keyring;
    return candidate.length === root_key.length && timingSafeEqual(candidate, root_key);
  }

  #require(): Unsealed {
    if (this.#unsealed === undefined) throw new Failure('unavailable', 'Vault is sealed');
    return this.#unsealed;
  }
}

const newCount = (): Unsealed['encryptions'] =>
  new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));

function dataKeyOf(unsealed: Unsealed, purpose: Purpose, term: number): Uint8Array | undefined {
  const id = `${purpose}/${term}`;
  const known = unsealed.dataKeys.get(id);
  if (known !== undefined) return known;
  const generation = unsealed.keyring.generations.get(term);
  if (generation === undefined) return undefined;
  const key = dataKey(generation, purpose);
  unsealed.dataKeys.set(id, key);
  return key;
}

function forgetDerived(unsealed: Unsealed): void {
  for (const key of unsealed.dataKeys.values()) key.fill(0);
  for (const key of unsealed.hashKeys.values()) key.wipe();
  unsealed.dataKeys.clear();
  unsealed.hashKeys.clear();
}

function placeText(place: EnvelopeContext): string {
  return `${place.table}.${place.column} of row ${place.row}`;
}

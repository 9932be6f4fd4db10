import { timingSafeEqual } from 'node:crypto';
import { Failure } from '../core/failure.ts';
import {
  type EnvelopeContext,
  envelopeKeyId,
  NONCE_LENGTH,
  openEnvelope,
  sealEnvelope,
} from './envelope.ts';
import { GenerationUse, type SharedUse } from './generation-use.ts';
import { KeyedHash } from './keyed-hash.ts';
import {
  copyKeyring,
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
import { dataKeyOf, forgetDerived, inUse, type Unsealed, type Uses } from './unsealed.ts';

/** The keys as they are given to another thread of the process. */
export interface HandedKeys {
  /** A copy, which whoever gets it wipes. */
  keyring: Keyring;
  /** See `Unsealed`. */
  newest: SharedUse;
  before: SharedUse | undefined;
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
    const { keyring, newest, before } = this.#unsealed;
    return { keyring: copyKeyring(keyring), newest: newest.told, before: before?.told };
  }

  /** Takes over the keys of the thread that holds them for all, in the place of those before. */
  async follow({ keyring, newest, before }: HandedKeys): Promise<void> {
    const uses = {
      newest: new GenerationUse(newest),
      before: before && new GenerationUse(before),
    };
    if (this.#unsealed === undefined) await this.#open(keyring, uses);
    else await this.#replace(this.#unsealed, keyring, uses);
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
    const newest = new GenerationUse(keyring);
    newest.begin();
    await this.#open(keyring, { newest, before: undefined });
    return true;
  }

  async #open(keyring: Keyring, uses: Uses): Promise<void> {
    this.#unsealed = { keyring, dataKeys: new Map(), hashKeys: new Map(), ...uses };
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
   * Encrypts a value for the column of a row, with the newest generation of the purpose's key that all threads have.
   *
   * @throws Failure `unavailable` when sealed
   */
  encrypt(purpose: Purpose, place: EnvelopeContext, plaintext: Uint8Array): Uint8Array {
    const unsealed = this.#require();
    const use = inUse(unsealed);
    const { term } = use;
    const key = dataKeyOf(unsealed, purpose, term);
    if (key === undefined) throw new Error(`the keyring has no generation ${term}`);
    use.count();
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
   * The generation of data keys that values are sealed with.
   *
   * @returns its number, when it was made (Unix seconds), and how many values this node has sealed with it by now
   * @throws Failure `unavailable` when sealed
   */
  generation(): { term: number; created_at: number; encryptions: number } {
    const unsealed = this.#require();
    const { term, sealed } = inUse(unsealed);
    const created_at = unsealed.keyring.generations.get(term)?.created_at ?? 0;
    return { term, created_at, encryptions: sealed };
  }

  /**
   * Makes the next generation of data keys, as a row to be stored. It is in use once
   * {@link reload} was given it back and resolves, that is, after it is durable.
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
   * Takes the stored keys again, after this node or another one has added some. Nothing is sealed with them until the
   * listeners are done: a thread that has not got them yet could not open it. Whoever finds them taken waits for that as well.
   */
  async reload(rows: readonly KeyringRow[]): Promise<void> {
    const unsealed = this.#unsealed;
    if (unsealed === undefined) return;
    const old = unsealed.keyring;
    const isNew = rows.some((row) => row.use === 'data' && !old.generations.has(row.term));
    if (!isNew) return this.#reloading;
    const keyring = openKeyring(Uint8Array.from(old.root_key), rows);
    const newest = new GenerationUse(keyring);
    const replacing = this.#replace(unsealed, keyring, { newest, before: inUse(unsealed) });
    const reloading = replacing.finally(() => newest.begin());
    this.#reloading = reloading.catch(() => {});
    return reloading;
  }

  #replace(unsealed: Unsealed, keyring: Keyring, uses: Uses): Promise<void> {
    forgetDerived(unsealed);
    wipeKeyring(unsealed.keyring);
    this.#unsealed = { keyring, dataKeys: new Map(), hashKeys: new Map(), ...uses };
    return tellAll(this.#onReload);
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

function placeText(place: EnvelopeContext): string {
  return `${place.table}.${place.column} of row ${place.row}`;
}

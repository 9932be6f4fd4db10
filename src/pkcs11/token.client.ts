import { CKA, CKK, CKM, CKO, TOKEN_FLAGS } from './constants.ts';
import type { Cryptoki } from './cryptoki.client.ts';
import { gcmOf, mechanismOf } from './mechanisms.ts';
import {
  type GcmParameters,
  type KeyPairKind,
  type KeyRef,
  type Order,
  type PublicAttributes,
  RefusedOrder,
  type Result,
  type TokenRef,
} from './orders.ts';
import { namesOf, number, pairTemplates, secretTemplate } from './templates.ts';

/** Who is logged in to a token. A process is logged in once for all of its sessions. */
interface OpenToken {
  session: bigint;
  pin: string;
  may_write: boolean;
  /** Handles of keys that were found, by what they were looked for with. */
  found: Map<string, bigint>;
}

/** Handles that are kept of one token. */
const MOST_HANDLES = 1_000;
/** Ids of keys of one name that are told. */
const MOST_TOLD = 4;

/** What is asked of a module; its functions one by one are `Cryptoki`'s affair. */
export type Module = Pick<
  Cryptoki,
  | 'listTokens'
  | 'readTokenFlags'
  | 'openSession'
  | 'closeSessions'
  | 'login'
  | 'logout'
  | 'findObjects'
  | 'readAttribute'
  | 'generateKeyPair'
  | 'generateKey'
  | 'process'
>;

/** Carries orders out with one module: finds the token, logs in, finds the key. */
export class Tokens {
  readonly #module: Module;
  readonly #open = new Map<bigint, OpenToken>();

  constructor(module: Module) {
    this.#module = module;
  }

  /** @throws RefusedOrder */
  carryOut(order: Order): DistributedOmit<Result, 'id'> {
    const makes = order.kind === 'make pair' || order.kind === 'make secret';
    const token = this.#openToken(order.token, makes || order.token.force_rw_session === true);
    const { session } = token;
    switch (order.kind) {
      case 'find pair':
        return { type: 'pair', pair: this.#findPair(token, order.key) };
      case 'make pair':
        return { type: 'pair', pair: this.#findOrMakePair(token, order) };
      case 'find secret':
        return {
          type: 'secret',
          found: this.#find(token, CKO.SECRET_KEY, order.key) !== undefined,
        };
      case 'make secret':
        return { type: 'secret', found: this.#findOrMakeSecret(token, order.key) };
      case 'sign':
        return this.#sign(token, order);
      case 'encrypt': {
        const key = this.#find(token, CKO.SECRET_KEY, order.key);
        if (key === undefined) throw noKey();
        const use = { session, mechanism: gcmOf(order.gcm), key };
        return { type: 'bytes', bytes: this.#module.process('Encrypt', use, order.data) };
      }
      case 'decrypt':
        return { type: 'bytes', bytes: this.#decrypt(token, order) };
    }
  }

  /** A session in which the PIN of the order has been right, and not only somebody else's. */
  #openToken({ slot: wanted, token_label, pin }: TokenRef, may_write: boolean): OpenToken {
    const slot = this.#findSlot(wanted, token_label);
    const known = this.#open.get(slot);
    if (known && known.pin === pin && (known.may_write || !may_write)) return known;
    if (known) {
      this.#open.delete(slot);
      this.#module.logout(known.session);
      this.#module.closeSessions(slot);
    }
    this.#refuseLastTry(slot);
    const session = this.#module.openSession(slot, may_write);
    try {
      this.#module.login(session, pin);
    } catch (error) {
      this.#module.closeSessions(slot);
      throw error;
    }
    const token: OpenToken = { session, pin, may_write, found: new Map() };
    this.#open.set(slot, token);
    return token;
  }

  /**
   * A wrong PIN is remembered only as long as the server runs, and one that is started again and again would
   * try it each time: the last try that a token has is left to people.
   */
  #refuseLastTry(slot: bigint): void {
    const flags = this.#module.readTokenFlags(slot);
    if (flags & TOKEN_FLAGS.USER_PIN_LOCKED) {
      throw new RefusedOrder('token', 'the PIN of the token is locked');
    }
    if (flags & TOKEN_FLAGS.USER_PIN_FINAL_TRY) {
      throw new RefusedOrder(
        'token',
        'one more wrong PIN locks the token, so that none is tried: log in to it by another program once',
      );
    }
  }

  #findSlot(wanted: string | undefined, token_label: string | undefined): bigint {
    // A label is looked for each time: slots are numbered anew when a token comes or goes.
    if (wanted !== undefined && token_label === undefined) return BigInt(wanted);
    const fitting = this.#module.listTokens().filter(({ slot, label }) => {
      return label === token_label && (wanted === undefined || slot === BigInt(wanted));
    });
    const [only, second] = fitting;
    if (only && !second) return only.slot;
    // A module sees tokens that were put in later only once it is loaded anew.
    if (!only) throw new RefusedOrder('lost', 'there is no token of that label');
    throw new RefusedOrder('token', 'there are several tokens of that label: name the slot');
  }

  #findPair(token: OpenToken, ref: KeyRef): PublicAttributes | undefined {
    const { session } = token;
    const secret = this.#find(token, CKO.PRIVATE_KEY, ref);
    if (secret === undefined) return undefined;
    // Not all modules tell the public half of a private key, and not all keep a public key beside it.
    const open = this.#findPublic(token, secret, ref) ?? secret;
    const read = (type: number): Uint8Array => {
      const value = [open, secret]
        .map((object) => this.#module.readAttribute(session, object, type))
        .find((bytes) => bytes !== undefined && bytes.length > 0);
      if (value) return Uint8Array.from(value);
      throw new RefusedOrder('key', 'the token does not tell the public half of the key');
    };
    const key_type = Number(Buffer.from(read(CKA.KEY_TYPE)).readBigUInt64LE());
    if (key_type === CKK.RSA) {
      return { key_type: 'rsa', modulus: read(CKA.MODULUS), exponent: read(CKA.PUBLIC_EXPONENT) };
    }
    if (key_type !== CKK.EC && key_type !== CKK.EC_EDWARDS) {
      throw new RefusedOrder('key', 'the key is neither RSA, EC nor Ed25519');
    }
    return {
      key_type: key_type === CKK.EC ? 'ec' : 'ed25519',
      ecParams: read(CKA.EC_PARAMS),
      ecPoint: read(CKA.EC_POINT),
    };
  }

  /** The public key of a private one; what is left of others under its label has another id. */
  #findPublic(token: OpenToken, secret: bigint, ref: KeyRef): bigint | undefined {
    const id = this.#module.readAttribute(token.session, secret, CKA.ID);
    const own = id?.length ? this.#find(token, CKO.PUBLIC_KEY, { ...ref, id }) : undefined;
    return own ?? this.#find(token, CKO.PUBLIC_KEY, ref);
  }

  /** Another installation, which holds no lease of this one, may have made it since it was looked for. */
  #findOrMakePair(
    token: OpenToken,
    { key, wanted }: { key: KeyRef; wanted: KeyPairKind },
  ): PublicAttributes | undefined {
    const there = this.#findPair(token, key);
    if (there) return there;
    const { mechanism, ...templates } = pairTemplates(key, wanted);
    this.#module.generateKeyPair(token.session, mechanism, templates);
    return this.#findPair(token, key);
  }

  /** As {@link #findOrMakePair}: looked for once more afterwards, before it encrypts anything. */
  #findOrMakeSecret(token: OpenToken, key: KeyRef): boolean {
    if (this.#find(token, CKO.SECRET_KEY, key) !== undefined) return true;
    this.#module.generateKey(token.session, CKM.AES_KEY_GEN, secretTemplate(key));
    return this.#find(token, CKO.SECRET_KEY, key) !== undefined;
  }

  #list({ session }: OpenToken, object_class: number, ref: KeyRef): bigint[] {
    return this.#module.findObjects(session, [number(CKA.CLASS, object_class), ...namesOf(ref)]);
  }

  /** @throws RefusedOrder where there are several: none of them has been used, for all that is known */
  #find(token: OpenToken, object_class: number, ref: KeyRef): bigint | undefined {
    const found = this.#list(token, object_class, ref);
    if (found.length <= 1) return found[0];
    const ids = found.slice(0, MOST_TOLD).map((object) => {
      const id = this.#module.readAttribute(token.session, object, CKA.ID);
      return id?.length ? `0x${id.toString('hex')}` : 'none';
    });
    throw new RefusedOrder(
      'key',
      `there are several keys of that label or id (CKA_ID: ${ids.join(', ')}): give a managed key the key_id of the one that it means, or delete the others in the token`,
    );
  }

  #sign(token: OpenToken, order: Order & { kind: 'sign' }): DistributedOmit<Result, 'id'> {
    const mechanism = mechanismOf(order.mechanism);
    const { key, isOnly, more } = this.#chooseSigner(token, order);
    try {
      const use = { session: token.session, mechanism, key };
      return { type: 'bytes', bytes: this.#module.process('Sign', use, order.data), more };
    } catch (error) {
      if (isOnly || !(error instanceof RefusedOrder) || error.refusal !== 'mechanism') throw error;
      // Another key of the name, of another kind: it has no signature that could be the right one.
      return { type: 'bytes', bytes: new Uint8Array(), more };
    }
  }

  /**
   * What was taken for the key before, or one of those that bear its name: whoever asks knows by the signature whether
   * it is the right one. So a second key of its label does not keep one that is in use from signing.
   */
  #chooseSigner(
    token: OpenToken,
    { key: ref, anew }: { key: KeyRef; anew?: number | undefined },
  ): { key: bigint; isOnly: boolean; more: boolean } {
    const named = JSON.stringify([ref.label, ref.id && [...ref.id]]);
    const known = token.found.get(named);
    if (known !== undefined && anew === undefined) return { key: known, isOnly: false, more: true };
    if (anew !== undefined) token.found.clear();
    const all = this.#list(token, CKO.PRIVATE_KEY, ref);
    const key = all[anew ?? 0];
    if (key === undefined) throw noKey();
    if (token.found.size >= MOST_HANDLES) token.found.clear();
    token.found.set(named, key);
    return { key, isOnly: all.length === 1, more: (anew ?? 0) + 1 < all.length };
  }

  /** Of several keys of one name it is the one that opens the data: GCM tells. */
  #decrypt(token: OpenToken, order: { key: KeyRef; gcm: GcmParameters; data: Uint8Array }) {
    const { session } = token;
    const mechanism = gcmOf(order.gcm);
    const [key, ...others] = this.#list(token, CKO.SECRET_KEY, order.key);
    if (key === undefined) throw noKey();
    const open = (one: bigint): Uint8Array =>
      this.#module.process('Decrypt', { session, mechanism, key: one }, order.data);
    for (const one of others) {
      try {
        return open(one);
      } catch (error) {
        if (!(error instanceof RefusedOrder)) throw error;
      }
    }
    return open(key);
  }
}

/** It may be there once the token is looked at anew. */
const noKey = (): RefusedOrder => new RefusedOrder('lost', 'there is no key of that label or id');

type DistributedOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

import { CKA, CKK, CKM, CKO, TOKEN_FLAGS } from './constants.ts';
import type { Attribute, Cryptoki } from './cryptoki.client.ts';
import { gcmOf, mechanismOf } from './mechanisms.ts';
import {
  type KeyPairKind,
  type KeyRef,
  type Order,
  type PublicAttributes,
  RefusedOrder,
  type Result,
  type TokenRef,
} from './orders.ts';
import { ulong } from './structures.ts';

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
        if (this.#find(token, CKO.SECRET_KEY, order.key) === undefined) {
          this.#module.generateKey(session, CKM.AES_KEY_GEN, secretTemplate(order.key));
        }
        return { type: 'secret', found: true };
      case 'sign': {
        const mechanism = mechanismOf(order.mechanism);
        if (order.anew) token.found.clear();
        const key = this.#require(token, CKO.PRIVATE_KEY, order.key);
        const use = { session, mechanism, key };
        return { type: 'bytes', bytes: this.#module.process('Sign', use, order.data) };
      }
      default: {
        const key = this.#require(token, CKO.SECRET_KEY, order.key);
        const use = { session, mechanism: gcmOf(order.gcm), key };
        const what = order.kind === 'encrypt' ? 'Encrypt' : 'Decrypt';
        return { type: 'bytes', bytes: this.#module.process(what, use, order.data) };
      }
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
    const open = this.#find(token, CKO.PUBLIC_KEY, ref) ?? secret;
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

  /** Another installation, which holds no lease of this one, may have made it since it was looked for. */
  #findOrMakePair(
    token: OpenToken,
    { key, wanted }: { key: KeyRef; wanted: KeyPairKind },
  ): PublicAttributes | undefined {
    const there = this.#findPair(token, key);
    if (there) return there;
    this.#makePair(token.session, key, wanted);
    return this.#findPair(token, key);
  }

  #makePair(session: bigint, ref: KeyRef, wanted: KeyPairKind): void {
    const { mechanism, key_type, of_kind } = pairOf(wanted);
    const both = [number(CKA.KEY_TYPE, key_type), flag(CKA.TOKEN, true), ...namesOf(ref)];
    this.#module.generateKeyPair(session, mechanism, {
      public_key: [...both, flag(CKA.VERIFY, true), ...of_kind],
      private_key: [
        ...both,
        flag(CKA.PRIVATE, true),
        flag(CKA.SENSITIVE, true),
        flag(CKA.EXTRACTABLE, false),
        flag(CKA.SIGN, true),
      ],
    });
  }

  #find(token: OpenToken, object_class: number, ref: KeyRef): bigint | undefined {
    const found = this.#module.findObjects(token.session, [
      number(CKA.CLASS, object_class),
      ...namesOf(ref),
    ]);
    if (found.length > 1) {
      throw new RefusedOrder('key', 'there are several keys of that label or id');
    }
    return found[0];
  }

  #require(token: OpenToken, object_class: number, ref: KeyRef): bigint {
    const named = JSON.stringify([object_class, ref.label, ref.id && [...ref.id]]);
    const known = token.found.get(named);
    if (known !== undefined) return known;
    const found = this.#find(token, object_class, ref);
    // It may be there once the token is looked at anew.
    if (found === undefined) throw new RefusedOrder('lost', 'there is no key of that label or id');
    if (token.found.size >= MOST_HANDLES) token.found.clear();
    token.found.set(named, found);
    return found;
  }
}

type DistributedOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const number = (type: number, value: number): Attribute => ({ type, value: ulong(BigInt(value)) });
const flag = (type: number, value: boolean): Attribute => ({
  type,
  value: Buffer.alloc(1, value ? 1 : 0),
});

function namesOf({ label, id }: KeyRef): Attribute[] {
  const named = [
    ...(label === undefined ? [] : [{ type: CKA.LABEL, value: Buffer.from(label, 'utf8') }]),
    ...(id === undefined ? [] : [{ type: CKA.ID, value: Buffer.from(id) }]),
  ];
  // Without a name the first key of the token would be found.
  if (named.some(({ value }) => value.length === 0) || named.length === 0) {
    throw new RefusedOrder('key', 'a key is named by its label or its id');
  }
  return named;
}

/** The OID 1.3.101.112 as modules of PKCS #11 v3.0 take it, and the name that older drafts have for it. */
const ED25519_PARAMS = Uint8Array.of(0x13, 0x0c, ...Buffer.from('edwards25519'));

function pairOf(wanted: KeyPairKind): {
  mechanism: number;
  key_type: number;
  of_kind: Attribute[];
} {
  switch (wanted.key_type) {
    case 'rsa': {
      const exponent = { type: CKA.PUBLIC_EXPONENT, value: Buffer.from([1, 0, 1]) };
      return {
        mechanism: CKM.RSA_PKCS_KEY_PAIR_GEN,
        key_type: CKK.RSA,
        of_kind: [number(CKA.MODULUS_BITS, wanted.key_bits), exponent],
      };
    }
    case 'ec':
      return {
        mechanism: CKM.EC_KEY_PAIR_GEN,
        key_type: CKK.EC,
        of_kind: [{ type: CKA.EC_PARAMS, value: Buffer.from(wanted.ecParams) }],
      };
    case 'ed25519':
      return {
        mechanism: CKM.EC_EDWARDS_KEY_PAIR_GEN,
        key_type: CKK.EC_EDWARDS,
        of_kind: [{ type: CKA.EC_PARAMS, value: Buffer.from(ED25519_PARAMS) }],
      };
  }
}

const AES_KEY_BYTES = 32;

const secretTemplate = (ref: KeyRef): Attribute[] => [
  number(CKA.CLASS, CKO.SECRET_KEY),
  number(CKA.KEY_TYPE, CKK.AES),
  number(CKA.VALUE_LEN, AES_KEY_BYTES),
  flag(CKA.TOKEN, true),
  flag(CKA.PRIVATE, true),
  flag(CKA.SENSITIVE, true),
  flag(CKA.EXTRACTABLE, false),
  flag(CKA.ENCRYPT, true),
  flag(CKA.DECRYPT, true),
  ...namesOf(ref),
];

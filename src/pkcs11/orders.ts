/** What the process that has a module loaded is asked, and what it answers. */

/** A token, and what opens it. */
export interface TokenRef {
  /** Decimal; a token's slot may change when the module is loaded anew. */
  slot?: string | undefined;
  token_label?: string | undefined;
  pin: string;
  /** Open sessions that may write, also where nothing is written. */
  force_rw_session?: boolean | undefined;
}

/** A key of a token; one of the two is given. */
export interface KeyRef {
  label?: string | undefined;
  id?: Uint8Array | undefined;
}

export type KeyPairKind =
  | { key_type: 'rsa'; key_bits: number }
  /** ecParams: the OID of the curve, DER. */
  | { key_type: 'ec'; ecParams: Uint8Array }
  | { key_type: 'ed25519' };

export type PssHash = 'sha256' | 'sha384' | 'sha512';

/** How the token signs what it is given: a DigestInfo, a digest, or the whole. */
export type SignMechanism =
  | { name: 'RSA_PKCS' }
  | { name: 'RSA_PKCS_PSS' | 'HASH_RSA_PKCS_PSS'; hash: PssHash; salt: number }
  | { name: 'ECDSA' }
  | { name: 'EDDSA' };

/** A public key as a token tells it. */
export type PublicAttributes =
  | { key_type: 'rsa'; modulus: Uint8Array; exponent: Uint8Array }
  /** ecPoint: an OCTET STRING around the point, or with some modules the point itself. */
  | { key_type: 'ec' | 'ed25519'; ecParams: Uint8Array; ecPoint: Uint8Array };

/** Of AES-GCM; the tag of 16 bytes follows the text. */
export interface GcmParameters {
  iv: Uint8Array;
  aad: Uint8Array;
}

export type Order = { token: TokenRef } & (
  | { kind: 'find pair'; key: KeyRef }
  | { kind: 'make pair'; key: KeyRef; wanted: KeyPairKind }
  /** anew: look the key up again, wherever it was found before, and of those that bear its name take that one. */
  | {
      kind: 'sign';
      key: KeyRef;
      mechanism: SignMechanism;
      data: Uint8Array;
      anew?: number | undefined;
    }
  | { kind: 'find secret'; key: KeyRef }
  | { kind: 'make secret'; key: KeyRef }
  | { kind: 'encrypt' | 'decrypt'; key: KeyRef; gcm: GcmParameters; data: Uint8Array }
);

/** Why an order was not carried out. */
export type Refusal =
  | 'pin' // the token does not take the PIN
  | 'token' // there is no such token, or there are several
  | 'key' // there is no such key, or there are several
  | 'mechanism' // the token cannot do this, or not with this key
  | 'module' // the module cannot be loaded
  | 'lost'; // the module, its token or its session is gone: worth another try with a module loaded anew

export type Answer = { id: number } & (
  | { type: 'pair'; pair: PublicAttributes | undefined }
  | { type: 'secret'; found: boolean }
  /** more: whether more keys than those that were tried bear the name; one of them that cannot sign has no bytes. */
  | { type: 'bytes'; bytes: Uint8Array; more?: boolean }
  | { type: 'refused'; refusal: Refusal; message: string }
);

/** An answer that has come to its order, without the number. */
export type Result = Exclude<Answer, { type: 'refused' }>;

/** Thrown where a module has been asked; the message names the function and its answer, and no secret. */
export class RefusedOrder extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, message: string) {
    super(message);
    this.name = 'RefusedOrder';
    this.refusal = refusal;
  }
}

import { randomBytes } from 'node:crypto';
import { CKA, CKK, CKM, CKO } from './constants.ts';
import type { Attribute } from './cryptoki.client.ts';
import { type KeyPairKind, type KeyRef, RefusedOrder } from './orders.ts';
import { ulong } from './structures.ts';

// What keys are looked for with, and made with.

export const number = (type: number, value: number): Attribute => ({
  type,
  value: ulong(BigInt(value)),
});
const flag = (type: number, value: boolean): Attribute => ({
  type,
  value: Buffer.alloc(1, value ? 1 : 0),
});

/** @throws RefusedOrder for a key without a name */
export function namesOf({ label, id }: KeyRef): Attribute[] {
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

/** Of the id that a key is given which is to have none in particular. */
const ID_BYTES = 16;

/** Names of a key that is made: by an id of its own it can be told from any other of its label. */
const newNamesOf = (ref: KeyRef): Attribute[] => [
  ...namesOf(ref),
  ...(ref.id === undefined ? [{ type: CKA.ID, value: randomBytes(ID_BYTES) }] : []),
];

/** The OID 1.3.101.112 as modules of PKCS #11 v3.0 take it, and the name that older drafts have for it. */
const ED25519_PARAMS = Uint8Array.of(0x13, 0x0c, ...Buffer.from('edwards25519'));

/** Of both halves of a pair that is made in a token, never to leave it. */
export function pairTemplates(
  ref: KeyRef,
  wanted: KeyPairKind,
): { mechanism: number; public_key: Attribute[]; private_key: Attribute[] } {
  const { mechanism, key_type, of_kind } = pairOf(wanted);
  const both = [number(CKA.KEY_TYPE, key_type), flag(CKA.TOKEN, true), ...newNamesOf(ref)];
  return {
    mechanism,
    public_key: [...both, flag(CKA.VERIFY, true), ...of_kind],
    private_key: [
      ...both,
      flag(CKA.PRIVATE, true),
      flag(CKA.SENSITIVE, true),
      flag(CKA.EXTRACTABLE, false),
      flag(CKA.SIGN, true),
    ],
  };
}

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

export const secretTemplate = (ref: KeyRef): Attribute[] => [
  number(CKA.CLASS, CKO.SECRET_KEY),
  number(CKA.KEY_TYPE, CKK.AES),
  number(CKA.VALUE_LEN, AES_KEY_BYTES),
  flag(CKA.TOKEN, true),
  flag(CKA.PRIVATE, true),
  flag(CKA.SENSITIVE, true),
  flag(CKA.EXTRACTABLE, false),
  flag(CKA.ENCRYPT, true),
  flag(CKA.DECRYPT, true),
  ...newNamesOf(ref),
];

import { comparedBy, eachText } from '../../core/comparison.ts';
import type { FieldKind } from '../../core/field.ts';
import { integer, optional, shortList, text } from '../../core/fields.ts';
import type { KeyType } from '../../x509/keys.ts';
import { USUAL_BITS } from '../../x509/post-quantum.ts';

export const KEY_TYPES = [
  'rsa',
  'ec',
  'ed25519',
  'mldsa',
  'slhdsa-sha2-s',
  'slhdsa-sha2-f',
  'slhdsa-shake-s',
  'slhdsa-shake-f',
] as const satisfies readonly KeyType[];

/** Which issuer or key is meant; none is the default one, which has its word in any case. */
const reference = (ref: string): string =>
  ref === '' || ref.toLowerCase() === 'default' ? 'default' : ref;

export const referenceText: FieldKind<string> = comparedBy(text, { form: eachText(reference) });
export const referenceList: FieldKind<string[]> = comparedBy(shortList, {
  form: eachText(reference),
});

/** A name or an id in whose letters upper case counts as lower case. */
const lowerText: FieldKind<string> = comparedBy(text, {
  form: eachText((name) => name.toLowerCase()),
});

/** A name that an issuer or key is given; blanks around it do not count. */
export const newNameText: FieldKind<string> = comparedBy(text, {
  form: eachText((name) => name.trim()),
});

/**
 * A size that may be left open with 0. A denial of the usual size denies 0, too, and the other way
 * around: which size is the usual one is for another field to say.
 */
function openSize(usual: readonly number[]): FieldKind<number> {
  const sizes = usual.map(String);
  return comparedBy(integer, {
    also: (size) => (size === '0' ? sizes : sizes.includes(size) ? ['0'] : []),
  });
}

/** What names the key of a device; with "kms" exactly one of them. */
export const managedKeyFields = {
  managed_key_name: optional(lowerText()).describe('With "kms": name of the managed key.'),
  managed_key_id: optional(lowerText()).describe('With "kms": id (`uuid`) of the managed key.'),
};

/** 0: 2048 of an RSA key, 256 of an EC key, 65 of one of ML-DSA, 128 of one of SLH-DSA. */
export const keySize = openSize([2048, 256, USUAL_BITS.mldsa, USUAL_BITS.slhdsa]);
/** 0: SHA-256. */
export const signatureSize = openSize([256]);
